package vault

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/seedbed-sim/seedbed/realmode/kms"
)

const (
	answerMax = 1 << 20
	quoteMax  = 200 // of what a Vault says of an error
	caFileMax = 4 << 20
)

// client makes requests. It follows no redirect: that would carry the token away.
type client struct {
	base      *url.URL
	namespace string
	http      *http.Client
	count     func(operation, status string)
}

func newClient(cfg *Config) (*client, error) {
	base, err := url.Parse(cfg.Address)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.RawQuery != "" || base.User != nil {
		return nil, fmt.Errorf("the address %q is no URL such as https://vault.example.com:8200", cfg.Address)
	}
	if ip := net.ParseIP(base.Hostname()); base.Scheme == "http" && base.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("the address %q would send seeds and tokens in clear: use https, or an agent on 127.0.0.1", cfg.Address)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cfg.ServerName}
	if cfg.CAFile != "" {
		if config.RootCAs, err = roots(cfg.CAFile); err != nil {
			return nil, err
		}
	}
	count := cfg.Count
	if count == nil {
		count = func(string, string) {}
	}
	return &client{
		base: base, namespace: cfg.Namespace, count: count,
		http: &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func roots(file string) (*x509.CertPool, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, caFileMax))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s: there is no certificate in it", file)
	}
	return pool, nil
}

// request is one to a Vault.
type request struct {
	operation string // what it is counted as
	path      string // below /v1/
	token     string
	body      any // nil for GET
	secrets   []string
}

// refusal is an answer that is no success.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("vault answers %d: %s", r.status, r.text) }

// Unwrap is what it means for the caller.
func (r *refusal) Unwrap() error {
	switch {
	case r.status == http.StatusForbidden || r.status == http.StatusUnauthorized:
		return kms.ErrForbidden
	case r.status == http.StatusNotFound:
		return kms.ErrUnknownKey
	case r.status >= 500 || r.status == http.StatusTooManyRequests || r.status == http.StatusPreconditionFailed || r.status >= 300 && r.status < 400:
		return kms.ErrUnavailable
	default:
		return errRefused
	}
}

var errRefused = errors.New("vault refuses the request")

// do makes a request and decodes the answer. Errors repeat nothing of what was sent.
func (c *client) do(ctx context.Context, req request, answer any) error {
	method, body := http.MethodGet, []byte(nil)
	if req.body != nil {
		method = http.MethodPost
		var err error
		if body, err = json.Marshal(req.body); err != nil {
			return fmt.Errorf("encode a request: %w", err)
		}
		defer clear(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath("v1", req.path).String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	r.Header.Set("X-Vault-Request", "true")
	r.Header.Set("Content-Type", "application/json")
	if req.token != "" {
		r.Header.Set("X-Vault-Token", req.token)
	}
	if c.namespace != "" {
		r.Header.Set("X-Vault-Namespace", c.namespace)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		c.count(req.operation, "unanswered")
		return unanswered(ctx, err)
	}
	defer resp.Body.Close()
	c.count(req.operation, strconv.Itoa(resp.StatusCode))
	data, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil {
		return unanswered(ctx, err)
	}
	defer clear(data)
	if resp.StatusCode >= 300 {
		return &refusal{resp.StatusCode, said(resp, data, append(req.secrets, req.token))}
	}
	if answer != nil && json.Unmarshal(data, answer) != nil {
		return fmt.Errorf("%w: the answer is no JSON of the right form", kms.ErrUnavailable)
	}
	return nil
}

// unanswered is the error of a request without an answer.
func unanswered(ctx context.Context, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL tells nothing new
	}
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%w: no answer in time: %w", kms.ErrUnavailable, ended)
	}
	return fmt.Errorf("%w: %w", kms.ErrUnavailable, err)
}

// said is what a Vault says of an error, in one line and without secrets.
func said(resp *http.Response, data []byte, secrets []string) string {
	if resp.StatusCode < 400 {
		return "it points to another server: set the address to that of the active one, or of a load balancer"
	}
	var body struct {
		Errors []string `json:"errors"`
	}
	if err := json.Unmarshal(data, &body); err != nil || len(body.Errors) == 0 {
		return strings.ToLower(http.StatusText(resp.StatusCode))
	}
	text := strings.Join(strings.FieldsFunc(strings.Join(body.Errors, "; "), unicode.IsSpace), " ")
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[secret]")
		}
	}
	if len(text) > quoteMax {
		text = text[:quoteMax] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
