package testenv_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/realmode/testenv"
)

// TestCases runs every case of the fake's conformance tests against a real
// server: what was recorded once must be what it says today, and what nobody
// recorded must be true.
func TestCases(t *testing.T) {
	needReal(t)
	webhooks := httptest.NewTLSServer(conformance.Webhooks())
	t.Cleanup(webhooks.Close)
	targets := map[string]conformance.Target{} // by profile
	open := func(_ *testing.T, c *conformance.Case) (conformance.Target, string) {
		target, started := targets[c.Profile]
		if !started {
			target = realTarget(start(t, testenv.Options{Controllers: c.Profile == "full"}), webhooks)
			targets[c.Profile] = target
		}
		return target, ""
	}
	for _, set := range []string{"cases", "told"} {
		t.Run(set, func(t *testing.T) {
			conformance.Run(t, "../../fakes/apiserver/conformance/testdata/"+set, nil, open, nil)
		})
	}
}

func realTarget(server *testenv.Server, webhooks *httptest.Server) conformance.Target {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.CA())
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhooks.Certificate().Raw})
	return conformance.Target{
		URL:       server.URL().String(),
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		Token:     server.Token(),
		Compact:   server.Compact,
		Restart: func(ctx context.Context) error {
			if err := server.Compact(ctx); err != nil {
				return err
			}
			return server.Restart(ctx)
		},
		WebhookURL: webhooks.URL,
		WebhookCA:  base64.StdEncoding.EncodeToString(ca),
		Lasting:    true,
	}
}
