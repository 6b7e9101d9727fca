package kms_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/seedbed-sim/seedbed/fakes/kms/envelope"
)

// apiServer is what kube-apiserver runs for its Secrets, with its own probes of the
// plugin.
type apiServer struct {
	*testing.T
	values value.Transformer
	check  healthz.HealthChecker
}

const (
	provider = "kms-1"
	etcdKey  = "/registry/secrets/default/s"
)

// newAPIServer starts one whose configuration has the plugin, and nothing else.
func newAPIServer(m *machine) *apiServer {
	m.Helper()
	file := filepath.Join(m.TempDir(), "encryption.yaml")
	content := fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v2, name: %s, endpoint: "unix://%s", timeout: 3s}
`, provider, m.path)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		m.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(m.Context()))
	m.Cleanup(cancel)
	cfg, err := encryptionconfig.LoadEncryptionConfig(ctx, file, false, "id")
	if err != nil {
		m.Fatal(err)
	}
	return &apiServer{m.T, encryptionconfig.StaticTransformers(cfg.Transformers).TransformerForResource(schema.GroupResource{Resource: "secrets"}), cfg.HealthChecks[0]}
}

// healthy asks /healthz, which probes the plugin unless that was just done.
func (a *apiServer) healthy() error {
	req, err := http.NewRequestWithContext(a.Context(), http.MethodGet, "/healthz/kms-providers", nil)
	if err != nil {
		a.Fatal(err)
	}
	return a.check.Check(req)
}

// write returns what would be stored, and which version of the key it is under.
func (a *apiServer) write(text string) (stored []byte, keyID string) {
	a.Helper()
	stored, err := a.values.TransformToStorage(a.Context(), []byte(text), value.DefaultContext(etcdKey))
	if err != nil {
		a.Fatal(err)
	}
	data, ok := strings.CutPrefix(string(stored), envelope.Prefix(provider))
	s, err := envelope.Decode([]byte(data))
	if !ok || err != nil || strings.Contains(data, text) {
		a.Fatalf("stored as %q, %v", stored, err)
	}
	return stored, s.KeyID()
}

// reads wants the text back, and whether it is to be written anew.
func (a *apiServer) reads(when string, stored []byte, text string, stale bool) {
	a.Helper()
	got, isStale, err := a.values.TransformFromStorage(a.Context(), stored, value.DefaultContext(etcdKey))
	if err != nil || string(got) != text || isStale != stale {
		a.Errorf("%s: read %q, stale %v, error %v; want %q, stale %v", when, got, isStale, err, text, stale)
	}
}

// TestUnderAnAPIServer lets the code of kube-apiserver use the plugin through a rotation,
// a restart and an outage.
func TestUnderAnAPIServer(t *testing.T) {
	m, _ := newLocal(t)
	first, second := newAPIServer(m), newAPIServer(m)
	old, oldID := first.write("text one")
	if oldID != m.server.KeyID() {
		t.Errorf("written under %s, want %s", oldID, m.server.KeyID())
	}
	second.reads("by another server", old, "text one", false)

	m.Rotate()
	var renewed []byte
	m.eventually("a server writes under the new version", func() bool {
		if err := first.healthy(); err != nil {
			t.Fatal(err)
		}
		var id string
		renewed, id = first.write("text two")
		return id == m.server.KeyID()
	})
	first.reads("after a rotation", old, "text one", true)
	first.reads("after a rotation", renewed, "text two", false)
	second.reads("by a server that has not noticed", renewed, "text two", true)

	m.Kill()
	first.reads("while the plugin is down", old, "text one", true)
	if _, id := first.write("text three"); id == oldID {
		t.Errorf("while the plugin is down, written under %s again", id)
	}
	cold := newAPIServer(m)
	if err := cold.healthy(); err == nil {
		t.Error("a server that has never reached its plugin says that it is healthy")
	}
	if _, err := cold.values.TransformToStorage(t.Context(), []byte("x"), value.DefaultContext(etcdKey)); err == nil {
		t.Error("a server writes without its plugin")
	}

	m.Start()
	m.eventually("the cold server has found its plugin", func() bool { return cold.healthy() == nil })
	cold.reads("back again", old, "text one", true)
	cold.reads("back again", renewed, "text two", false)
	if _, id := cold.write("text four"); id != m.server.KeyID() {
		t.Errorf("written under %s, want %s", id, m.server.KeyID())
	}
}
