package testenv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const pollInterval = 100 * time.Millisecond

// awaitReady waits until the server says that it is ready.
func (s *Server) awaitReady(ctx context.Context) error {
	return s.await(ctx, "/readyz", nil)
}

// awaitDefaultAccount waits for the service account that controllers make.
func (s *Server) awaitDefaultAccount(ctx context.Context, m *controllerManager) error {
	return s.await(ctx, "/api/v1/namespaces/default/serviceaccounts/default", m.ended)
}

// await polls a path until it is found, at most for startTimeout; a close of
// ended ends it as well.
func (s *Server) await(ctx context.Context, path string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	for {
		err := s.look(ctx, transport, path)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("the process ended")
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		case <-time.After(pollInterval):
		}
	}
}

// look asks for a path once; any answer but 200 is an error.
func (s *Server) look(ctx context.Context, transport http.RoundTripper, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL().String()+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // the code says enough
		return fmt.Errorf("GET %s: %s: %s", path, resp.Status, body)
	}
	return nil
}
