package fidelity

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"k8s.io/utils/clock"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
)

const adminToken = "admin-token"

// NewFake is a new fake server that nothing else uses, set up as the
// server was from which the cases were recorded. It lives in real time, or in
// that of a testing/synctest bubble.
func NewFake() conformance.Target {
	server := apiserver.New(options())
	return target(server, transport(server))
}

// NewFullFake is [NewFake] with the controllers of kube-controller-manager and the
// admission plug-in ServiceAccount, for cases with profile full.
func NewFullFake() (conformance.Target, error) {
	opts := options()
	opts.ServiceAccounts = true
	server := apiserver.New(opts)
	runner, err := controllermanager.Attach(server)
	if err != nil {
		return conformance.Target{}, err
	}
	return target(server, &controlledTransport{handler: transport(server), runner: runner}), nil
}

func options() apiserver.Options {
	return apiserver.Options{Clock: clock.RealClock{}, Guard: true, RBAC: true, DefaultRoles: true}
}

// transport is HTTP that goes no further than the server.
func transport(server *apiserver.Server) http.RoundTripper {
	handler := rest.New(server, rest.WithTokens(map[string]*apiserver.User{adminToken: nil}))
	return &configuringTransport{handler: handler, store: server.Store()}
}

func target(server *apiserver.Server, through http.RoundTripper) conformance.Target {
	st := server.Store()
	return conformance.Target{
		Transport: through,
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

// controlledTransport lets the controllers do what is due around every request.
type controlledTransport struct {
	handler http.RoundTripper
	runner  *controllermanager.Runner
}

// RoundTrip implements http.RoundTripper.
func (tr *controlledTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := tr.settle(); err != nil {
		return nil, err
	}
	resp, err := tr.handler.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return resp, tr.settle()
}

// settle fails if there is no end to it. Attempts of controllers that fail are no
// business of a client's.
func (tr *controlledTransport) settle() error {
	if err := tr.runner.Settle(); errors.Is(err, controllermanager.ErrUnsettled) {
		return err
	}
	return nil
}

// configuringTransport makes admission hooks of the webhook configurations that
// a case creates, as the real server does within a second.
type configuringTransport struct {
	handler http.RoundTripper
	store   *apiserver.Store
}

// RoundTrip implements http.RoundTripper.
func (tr *configuringTransport) RoundTrip(r *http.Request) (*http.Response, error) {
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
