package fidelity

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"k8s.io/utils/clock"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

const adminToken = "admin-token"

// NewFake is a new fake server that nothing else uses, set up as the
// server was from which the cases were recorded. It lives in real time, or in
// that of a testing/synctest bubble.
func NewFake() conformance.Target {
	st := apiserver.NewStore(apiserver.Options{
		Clock: clock.RealClock{},
		Guard: true,
		RBAC:  true,
	})
	server := apiserver.NewServer(st, "conformance")
	handler := rest.New(server, rest.WithTokens(map[string]*apiserver.User{adminToken: nil}))
	return conformance.Target{
		Transport: &configuringTransport{handler: handler, store: st},
		Token:     adminToken,
		Compact: func(context.Context) error {
			st.Compact(0)
			return nil
		},
		Restart: func(context.Context) error {
			st.ForgetHistory()
			server.Restart()
			return nil
		},
		WebhookURL: "https://webhooks.invalid",
		WebhookCA:  "bm8gY2VydGlmaWNhdGU=",
	}
}

// configuringTransport makes admission hooks of the webhook configurations that
// a case creates, and kinds of its CustomResourceDefinitions, as the real server
// does within a second.
type configuringTransport struct {
	handler http.RoundTripper
	store   *apiserver.Store
}

// RoundTrip implements http.RoundTripper.
func (tr *configuringTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && r.URL.Path == definitionsPath {
		return define(tr.store, r)
	}
	resp, err := tr.handler.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost || resp.StatusCode != http.StatusCreated ||
		!strings.Contains(r.URL.Path, "webhookconfigurations") {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	hooks, err := hooksOf(body)
	if err != nil {
		return nil, err
	}
	for _, hook := range hooks {
		tr.store.Hook(hook)
	}
	return resp, nil
}
