package home_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/core/secret"
	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/home"
)

const bearer = "the-pods-bound-token"

// controller serves grants over TLS, and elsewhere is where its redirects lead.
type controller struct {
	*issuer.Issuer
	url, elsewhere string
	roots          []byte
	strayed        atomic.Int32 // requests that came elsewhere
}

func newController(t *testing.T) *controller {
	t.Helper()
	c := &controller{}
	away := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { c.strayed.Add(1) }))
	t.Cleanup(away.Close)
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	c.url, c.elsewhere = server.URL, away.URL
	c.Issuer = issuer.New(issuer.Config{URL: server.URL, Clock: clock.New(), Lease: 10 * time.Minute})
	c.Trust(bearer, issuer.Pod{Name: "grant-0", UID: "uid-1"})
	mux.Handle("/", c.Handler(c.elsewhere+"/v1/grant"))
	c.roots = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return c
}

func TestWebFetches(t *testing.T) {
	c := newController(t)
	web := home.NewWeb()
	req := grant.Request{URL: c.url + "/v1/grant", Bearer: secret.New([]byte(bearer)), Roots: c.roots, Limit: grant.TokenMax + 1}
	for range 2 {
		resp, err := web.Get(t.Context(), req)
		if err != nil || resp.Status != 200 {
			t.Fatalf("status %d, error %v", resp.Status, err)
		}
		if p, err := grant.Peek(resp.Body); err != nil || p.UID != "uid-1" {
			t.Errorf("grant of %q, error %v", p.UID, err)
		}
	}
	if r := c.Requests(); len(r) != 2 || r[0].Bearer != bearer {
		t.Errorf("requests %v", r)
	}
}

// TestWebKeepsTheTokenToItself: it is sent to where it was meant to go, under TLS, and
// nowhere else.
func TestWebKeepsTheTokenToItself(t *testing.T) {
	c := newController(t)
	web := home.NewWeb()
	get := func(edit func(*grant.Request)) (grant.Response, error) {
		req := grant.Request{URL: c.url + "/v1/grant", Bearer: secret.New([]byte(bearer)), Roots: c.roots, Limit: 9000}
		if edit != nil {
			edit(&req)
		}
		return web.Get(t.Context(), req)
	}
	c.Behave(issuer.Behaviour{Status: 307})
	if resp, err := get(nil); err != nil || resp.Status != 307 || c.strayed.Load() != 0 {
		t.Errorf("a redirect: status %d, error %v, %d requests elsewhere", resp.Status, err, c.strayed.Load())
	}
	asked := len(c.Requests())
	for name, edit := range map[string]func(*grant.Request){
		"a server that nobody vouches for": func(r *grant.Request) { r.Roots = nil },
		"plain HTTP":                       func(r *grant.Request) { r.URL = strings.Replace(r.URL, "https", "http", 1) },
		"roots that are none":              func(r *grant.Request) { r.Roots = []byte("x") },
		"no URL":                           func(r *grant.Request) { r.URL = "https://[" },
	} {
		if _, err := get(edit); err == nil || strings.Contains(err.Error(), bearer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(c.Requests()); n != asked {
		t.Errorf("%d requests came", n-asked)
	}
}

func TestWebReadsNoMoreThanItIsTold(t *testing.T) {
	c := newController(t)
	c.Behave(issuer.Behaviour{TooLarge: true})
	resp, err := home.NewWeb().Get(t.Context(), grant.Request{
		URL: c.url + "/v1/grant", Bearer: secret.New([]byte(bearer)), Roots: c.roots, Limit: 100,
	})
	if err != nil || len(resp.Body) != 100 {
		t.Errorf("%d bytes, error %v", len(resp.Body), err)
	}
	c.Behave(issuer.Behaviour{Status: 429, RetryAfter: "7"})
	resp, err = home.NewWeb().Get(t.Context(), grant.Request{URL: c.url + "/v1/grant", Roots: c.roots, Limit: 100})
	if err != nil || resp.Status != 429 || resp.RetryAfter != "7" {
		t.Errorf("%+v, error %v", resp, err)
	}
}

func TestWebEndsWithItsContext(t *testing.T) {
	c := newController(t)
	c.Behave(issuer.Behaviour{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := home.NewWeb().Get(ctx, grant.Request{URL: c.url + "/v1/grant", Roots: c.roots, Limit: 100})
		done <- err
	}()
	cancel()
	if err := <-done; err == nil {
		t.Error("an answer came")
	}
}
