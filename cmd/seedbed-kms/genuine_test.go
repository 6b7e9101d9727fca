package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/kms/envelope"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
	"github.com/seedbed-sim/seedbed/realmode/testenv"
)

const providerName = "kms-1"

// genuine is a kube-apiserver whose Secrets are under a key of the plugin.
type genuine struct {
	*place
	server *testenv.Server
	admin  client.Client
	ready  func() bool // asking makes it probe its plugin
}

func newGenuine(p *place) *genuine {
	p.Helper()
	file := filepath.Join(p.TempDir(), "encryption.yaml")
	content := fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v2, name: %s, endpoint: "unix://%s", timeout: 3s}
`, providerName, p.socket)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		p.Fatal(err)
	}
	server, err := testenv.Start(p.Context(), testenv.Options{Flags: []string{"--encryption-provider-config=" + file}})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		if err := server.Stop(); err != nil {
			p.Error(err)
		}
	})
	g := &genuine{place: p, server: server}
	if g.admin, err = client.New(server.Config(), client.Options{}); err != nil {
		p.Fatal(err)
	}
	web, err := rest.HTTPClientFor(server.Config())
	if err != nil {
		p.Fatal(err)
	}
	g.ready = func() bool {
		resp, err := web.Get(server.URL().String() + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	return g
}

// write writes a Secret and returns under which version of the key it is in etcd.
func (g *genuine) write(name string) string {
	g.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string][]byte{"password": []byte(hidden + name)}}
	if err := g.admin.Create(g.Context(), s); err != nil {
		g.Fatal(err)
	}
	stored, err := g.server.Stored(g.Context(), "/registry/secrets/default/"+name)
	if err != nil {
		g.Fatal(err)
	}
	data, ok := bytes.CutPrefix(stored, []byte(envelope.Prefix(providerName)))
	if !ok || bytes.Contains(data, []byte(hidden)) {
		g.Fatalf("%s is stored as %.60q", name, stored)
	}
	value, err := envelope.Decode(data)
	if err != nil {
		g.Fatal(err)
	}
	return value.KeyID()
}

func (g *genuine) reads(when string, names ...string) {
	g.Helper()
	for _, name := range names {
		s := &corev1.Secret{}
		if err := g.admin.Get(g.Context(), client.ObjectKey{Namespace: "default", Name: name}, s); err != nil || string(s.Data["password"]) != hidden+name {
			g.Errorf("%s, %s reads as %q, error %v", when, name, s.Data["password"], err)
		}
	}
}

const hidden = "hush-hush-"

// TestUnderARealServer: a kube-apiserver keeps its Secrets under the plugin's key through
// a rotation, the death of the plugin and its own restarts.
func TestUnderARealServer(t *testing.T) {
	if os.Getenv("SEEDBED_TEST_REAL") == "" {
		t.Skip("needs a real kube-apiserver: make test-real runs it")
	}
	p := newPlace(t)
	d := p.start()
	g := newGenuine(p)
	first := p.status().KeyID
	if id := g.write("one"); id != first {
		t.Errorf("written under %s, want %s", id, first)
	}
	g.reads("at once", "one")

	second := p.key("rotate")
	d.Signal(syscall.SIGHUP)
	began, written := time.Now(), 0
	daemontest.Eventually(t, "the server writes under the new version", func() bool {
		written++
		return g.ready() && g.write(fmt.Sprintf("rotated-%d", written)) == second
	})
	t.Logf("a new version was in use after %v, and %d writes", time.Since(began).Round(time.Second), written)
	last := fmt.Sprintf("rotated-%d", written)
	g.reads("after a rotation", "one", last)

	d.Kill()
	g.reads("while the plugin is dead", "one", last)
	if id := g.write("meanwhile"); id != second {
		t.Errorf("while the plugin is dead, written under %s, want %s", id, second)
	}
	p.start()
	if err := g.server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.reads("after a restart of both", "one", last, "meanwhile")
	if id := g.write("after"); id != second {
		t.Errorf("after a restart of both, written under %s, want %s", id, second)
	}
}
