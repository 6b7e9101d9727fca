package home

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/seedbed-sim/seedbed/core/home/grant"
)

// Web is grant.Web over HTTPS.
type Web struct {
	mu     sync.Mutex
	roots  [sha256.Size]byte // of client
	client *http.Client
}

var _ grant.Web = (*Web)(nil)

// NewWeb returns a client that has made no connection yet.
func NewWeb() *Web { return &Web{} }

var errNoTLS = errors.New("only https is spoken")

// Get implements grant.Web.
func (w *Web) Get(ctx context.Context, req grant.Request) (resp grant.Response, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, req.URL, nil)
	if err != nil {
		return grant.Response{}, fmt.Errorf("make a request: %w", err)
	}
	if r.URL.Scheme != "https" {
		return grant.Response{}, errNoTLS
	}
	r.Header.Set("Accept", "application/jwt, application/json")
	if req.Bearer.Len() > 0 {
		r.Header.Set("Authorization", "Bearer "+string(req.Bearer.Reveal()))
	}
	client, err := w.clientFor(req.Roots)
	if err != nil {
		return grant.Response{}, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return grant.Response{}, err
	}
	defer func() {
		if cerr := answer.Body.Close(); err == nil {
			err = cerr
		}
	}()
	body, err := io.ReadAll(io.LimitReader(answer.Body, int64(req.Limit)))
	if err != nil {
		return grant.Response{}, fmt.Errorf("read the answer: %w", err)
	}
	return grant.Response{Status: answer.StatusCode, RetryAfter: answer.Header.Get("Retry-After"), Body: body}, nil
}

// clientFor returns a client that trusts roots. It is the last one as long as those do
// not change, so connections are used again.
func (w *Web) clientFor(roots []byte) (*http.Client, error) {
	hash := sha256.Sum256(roots)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client != nil && w.roots == hash {
		return w.client, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(roots) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(roots) {
			return nil, grant.CheckRoots(roots)
		}
	}
	if w.client != nil {
		w.client.CloseIdleConnections()
	}
	w.roots = hash
	w.client = &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true},
		// A redirect would carry the token away.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w.client, nil
}
