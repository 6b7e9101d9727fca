package fidelity

import (
	"encoding/base64"
	"encoding/pem"
	"net/http/httptest"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// A WebhookServer serves the webhooks of cases on a loopback port, for a real
// API server to call.
type WebhookServer struct {
	// URL is where it is, CA its certificate (base64 of PEM) as a webhook
	// configuration takes it.
	URL, CA string

	server *httptest.Server
}

// ServeWebhooks starts one; the caller closes it.
func ServeWebhooks() *WebhookServer {
	server := httptest.NewTLSServer(conformance.Webhooks())
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &WebhookServer{URL: server.URL, CA: base64.StdEncoding.EncodeToString(ca), server: server}
}

// Close stops it.
func (s *WebhookServer) Close() { s.server.Close() }
