package testenv_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/fidelity"
	"github.com/seedbed-sim/seedbed/realmode/testenv"
)

// TestCases runs every case of the fake's conformance tests against a real
// server: what was recorded once must be what it says today, and what nobody
// recorded must be true.
func TestCases(t *testing.T) {
	needReal(t)
	webhooks := fidelity.ServeWebhooks()
	t.Cleanup(webhooks.Close)
	targets := map[bool]conformance.Target{} // with controllers and without
	open := func(_ *testing.T, c *conformance.Case) (conformance.Target, string) {
		target, started := targets[c.Full()]
		if !started {
			target = realTarget(start(t, testenv.Options{Controllers: c.Full()}), webhooks)
			targets[c.Full()] = target
		}
		return target, ""
	}
	for _, set := range []string{"cases", "told", "workloads"} {
		t.Run(set, func(t *testing.T) {
			conformance.Run(t, "../../fakes/apiserver/conformance/testdata/"+set, nil, open, nil)
		})
	}
}

func realTarget(server *testenv.Server, webhooks *fidelity.WebhookServer) conformance.Target {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.CA())
	return conformance.Target{
		URL:       server.URL().String(),
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		Token:     server.Token(),
		Compact:   server.Compact,
		Restart: func(ctx context.Context) error {
			return errors.Join(server.Compact(ctx), server.Restart(ctx))
		},
		WebhookURL: webhooks.URL,
		WebhookCA:  webhooks.CA,
		Lasting:    true,
	}
}
