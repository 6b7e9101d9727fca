package conformance_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/utils/clock"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

var reportFile = flag.String("report", "", "write every difference, excused or not, to this file")

// TestFake runs every recorded case against a fresh fake server, in virtual
// time. A case that is not in scope runs as well, so that the score counts it.
func TestFake(t *testing.T) {
	report := conformance.Run(t, "testdata/cases", conformance.OutOfScope, open, synctest.Test)
	if filter := flag.Lookup("test.run").Value.String(); !strings.Contains(filter, "/") { // all cases have run
		for _, e := range report.Needless() {
			t.Errorf("scope.go excuses what is right: %+v", e)
		}
	}
	if *reportFile == "" {
		return
	}
	file, err := os.Create(*reportFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	report.Write(file, true)
}

// TestFakeAsTold does the same with the cases that nobody recorded.
func TestFakeAsTold(t *testing.T) {
	conformance.Run(t, "testdata/told", nil, open, synctest.Test)
}

func open(_ *testing.T, c *conformance.Case) (conformance.Target, string) {
	return fakeTarget(c), ""
}

const adminToken = "admin-token"

// fakeTarget is a new server that nothing else uses.
func fakeTarget(c *conformance.Case) conformance.Target {
	st := apiserver.NewStore(apiserver.Options{
		Clock: clock.RealClock{}, // virtual, in the bubble
		Guard: true,
		RBAC:  c.Subject == "rbac",
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
