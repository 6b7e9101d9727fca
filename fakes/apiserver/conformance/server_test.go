package conformance_test

import (
	"crypto/tls"
	"flag"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/fidelity"
)

var (
	serverURL   = flag.String("url", "", "run the cases against the API server at this URL")
	serverToken = flag.String("token", "", "bearer token of a member of system:masters named admin, for -url")
	serverFull  = flag.Bool("full", false, "the server at -url has the controllers of kube-controller-manager")
	insecure    = flag.Bool("insecure", false, "do not verify the certificate of the server at -url")
)

// TestServer runs the cases against a server that somebody else has started.
// Cases that compact etcd or restart the server are left out; for all of them see
// make test-real.
//
//	go test ./fakes/apiserver/conformance -run TestServer -url https://127.0.0.1:6443 -token … -insecure
func TestServer(t *testing.T) {
	if *serverURL == "" {
		t.Skip("no -url: make test-real starts a server of its own and runs the cases against it")
	}
	webhooks := fidelity.ServeWebhooks()
	defer webhooks.Close()
	target := conformance.Target{
		URL:        *serverURL,
		Transport:  &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: *insecure}},
		Token:      *serverToken,
		WebhookURL: webhooks.URL,
		WebhookCA:  webhooks.CA,
		Lasting:    true,
		Unique:     strconv.FormatInt(time.Now().UnixMilli(), 36),
	}
	for _, dir := range []string{"testdata/cases", "testdata/told", "testdata/workloads"} {
		conformance.Run(t, dir, nil, func(_ *testing.T, c *conformance.Case) (conformance.Target, string) {
			switch {
			case c.Full() != *serverFull:
				return target, "the case is for another profile"
			case target.Able(c) != nil:
				return target, target.Able(c).Error()
			}
			return target, ""
		}, nil)
	}
}
