package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/encryption/sidecar"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
)

// TestPlugin is its life: it starts, seals, is told of a new version, and ends.
func TestPlugin(t *testing.T) {
	p := newPlace(t)
	d := p.start()
	first := p.status()
	if first.Version != "v2" || first.Healthz != "ok" || !keyID.MatchString(first.KeyID) {
		t.Errorf("status %+v", first)
	}
	old := p.encrypt()
	p.opens(old)
	for name, want := range map[string]string{
		p.socket: "Srw-------", filepath.Dir(p.socket): "drwx------", p.socket + ".lock": "-rw-------", p.keyFile: "-rw-------",
	} {
		if got := p.mode(name); got != want {
			t.Errorf("%s has the mode %s, want %s", name, got, want)
		}
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ok\n"} {
		if status, body := d.Get(path); status != 200 || body != want {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	id := p.key("rotate")
	d.Signal(syscall.SIGHUP)
	daemontest.Eventually(t, "the new version is in use", func() bool { return p.status().KeyID == id })
	if r := p.encrypt(); r.KeyID != id {
		t.Errorf("sealed with %s, want %s", r.KeyID, id)
	}
	p.opens(old)
	for name, want := range map[string]float64{
		"seedbed_kms_healthy": 1, "seedbed_kms_key_id_changes_total": 1, "seedbed_kms_requests_in_flight": 0, `seedbed_kms_key_probes_total{result="ok"}`: 2,
		`seedbed_kms_requests_total{code="OK",method="Encrypt"}`: 2, `seedbed_kms_requests_total{code="OK",method="Decrypt"}`: 2,
		`seedbed_kms_request_duration_seconds_count{method="Encrypt"}`: 2,
	} {
		if got := d.Metric(name); got != want {
			t.Errorf("the metric %s is %v, want %v", name, got, want)
		}
	}
	_, metrics := d.Get("/metrics")
	for _, s := range p.secrets() {
		if strings.Contains(metrics, s) {
			t.Error("the metrics show a secret")
		}
	}
	d.Stop()
	if _, err := os.Lstat(p.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// TestPolling: a plugin notices without being told.
func TestPolling(t *testing.T) {
	p := newPlace(t)
	p.start("--probe-interval", "50ms")
	for range 3 {
		id := p.key("rotate")
		daemontest.Eventually(t, "the new version is in use", func() bool { return p.status().KeyID == id })
	}
}

// TestStaging: all can open by a version before any seals with it.
func TestStaging(t *testing.T) {
	p := newPlace(t)
	d := p.start("--probe-interval", "50ms")
	first := p.status().KeyID
	staged := p.key("rotate", "--stage")
	probes := d.Metric(`seedbed_kms_key_probes_total{result="ok"}`)
	daemontest.Eventually(t, "it has looked twice", func() bool { return d.Metric(`seedbed_kms_key_probes_total{result="ok"}`) > probes+1 })
	if id := p.status().KeyID; id != first {
		t.Errorf("it seals with %s, want %s", id, first)
	}
	if id := p.key("activate"); id != staged {
		t.Errorf("activated %s, want %s", id, staged)
	}
	daemontest.Eventually(t, "the staged version is in use", func() bool { return p.status().KeyID == staged })
	if shown := strings.Split(p.key("show"), "\n"); len(shown) != 2 || !strings.HasPrefix(shown[0], first+" 20") || !strings.HasPrefix(shown[1], staged+" 20") || !strings.HasSuffix(shown[1], " primary") || strings.HasSuffix(shown[0], "primary") {
		t.Errorf("shown: %q", shown)
	}
}

// TestKilled: what a plugin leaves behind when it is killed is no hindrance, and all that
// it has sealed can be opened.
func TestKilled(t *testing.T) {
	p := newPlace(t)
	var sealed []*service.EncryptResponse
	for range 3 {
		d := p.start()
		sealed = append(sealed, p.encrypt())
		for _, r := range sealed {
			p.opens(r)
		}
		d.Kill()
		if mode := p.mode(p.socket); mode != "Srw-------" {
			t.Errorf("the dead plugin has left %s", mode)
		}
		p.key("rotate")
	}
}

// TestTakingOver: one plugin takes the place of another while clients call, and none of
// them notices.
func TestTakingOver(t *testing.T) {
	p := newPlace(t)
	d := p.start()
	var calls atomic.Int64
	var clients sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := p.client.Encrypt(t.Context(), "uid", []byte(seed))
				if err != nil {
					t.Errorf("encrypt: %v", err)
					return
				}
				p.opens(r)
				calls.Add(1)
			}
		})
	}
	port := "127.0.0.1:0"
	for range 3 {
		before := calls.Load()
		next := p.start("--take-over", "--listen", port)
		if code := d.Wait(); code != 0 || !d.Says("Another process has taken the socket over") {
			t.Errorf("the plugin that was taken over ended with %d", code)
		}
		daemontest.Eventually(t, "calls go on", func() bool { return calls.Load() > before+100 })
		if status, body := next.Get("/readyz"); status != 200 {
			t.Errorf("/readyz of the next: %d %s", status, body)
		}
		d = next
		_, rest, _ := strings.Cut(d.Output(), "address=")
		port, _, _ = strings.Cut(rest, "\n") // the next waits for it
	}
	close(stop)
	clients.Wait()
	t.Logf("%d calls", calls.Load())
	d.Stop()
}

// TestItsSocketIsRemoved: nobody could reach it, so it ends, for whoever runs it to start
// it anew.
func TestItsSocketIsRemoved(t *testing.T) {
	p := newPlace(t)
	d := p.start()
	if err := os.Remove(p.socket); err != nil {
		t.Fatal(err)
	}
	if code := d.Wait(); code != 1 || !d.Says("seedbed-kms: "+p.socket+": the socket was removed\n") {
		t.Errorf("it ended with %d", code)
	}
}

// TestTheKeyFileChanges in ways that it should not: what is known stays in use, and
// everybody is told.
func TestTheKeyFileChanges(t *testing.T) {
	p := newPlace(t)
	p.key("rotate")
	good, err := os.ReadFile(p.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(good), `"primary": 2`, `"primary": 1`, 1)
	d := p.start("--probe-interval", "50ms")
	id := p.status().KeyID
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"an older one", func() error { return os.WriteFile(p.keyFile, []byte(old), 0o600) }, "version 1 is the primary after version 2: the key has gone back"},
		{"another", func() error {
			if err := os.Remove(p.keyFile); err != nil {
				return err
			}
			p.key("init")
			return nil
		}, "versions are gone or changed"},
		{"an open one", func() error { return os.Chmod(p.keyFile, 0o644) }, "others may read or change it: it has the mode 0644"},
		{"none", func() error { return os.Remove(p.keyFile) }, "no such file"},
		{"half a one", func() error { return os.WriteFile(p.keyFile, good[:len(good)/2], 0o600) }, "it is no key file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.do(); err != nil {
				t.Fatal(err)
			}
			daemontest.Eventually(t, "the status tells", func() bool { return strings.Contains(p.status().Healthz, c.want) })
			if status, body := d.Get("/readyz"); status != 503 || !strings.Contains(body, c.want) {
				t.Errorf("/readyz: %d %s", status, body)
			}
			if status, _ := d.Get("/healthz"); status != 200 {
				t.Errorf("/healthz: %d", status)
			}
			r := p.encrypt()
			if p.opens(r); r.KeyID != id || p.status().KeyID != id {
				t.Errorf("sealed with %s, want %s", r.KeyID, id)
			}
			if err := os.WriteFile(p.keyFile, good, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(p.keyFile, 0o600); err != nil {
				t.Fatal(err)
			}
			daemontest.Eventually(t, "all is well again", func() bool { return p.status().Healthz == "ok" })
		})
	}
}

// TestConfigFile: flags win over fields, and the environment comes last.
func TestConfigFile(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(t.TempDir(), "kms.yaml")
	content := "key-file: " + p.keyFile + "\nsocket: unix:///nowhere/kms.sock\nlisten: \"127.0.0.1:0\"\nprobe-interval: 50ms\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	d := daemontest.Start(t, "KMS_PLUGIN_SOCKET=unix:///elsewhere/kms.sock", "--config", file, "--socket", "unix://"+p.socket)
	p.opens(p.encrypt())
	d.Stop()
	d = daemontest.Start(t, "KMS_PLUGIN_SOCKET=unix://"+p.socket, "KMS_PLUGIN_METRICS_PORT=0", "--key-file", p.keyFile)
	p.opens(p.encrypt())
	if status, _ := d.Get("/readyz"); status != 200 {
		t.Errorf("/readyz: %d", status)
	}
	d.Stop()
}

// TestEnvironment: the package sidecar speaks of the same variables.
func TestEnvironment(t *testing.T) {
	want := []string{sidecar.EnvSocket, sidecar.EnvEndpoint, sidecar.EnvKeyPath, sidecar.EnvNamespace, sidecar.EnvMetricsPort}
	if d := cmp.Diff(want, []string{envSocket, envEndpoint, envKeyPath, envNamespace, envMetricsPort}); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestAnOccupiedSocket is left alone.
func TestAnOccupiedSocket(t *testing.T) {
	p := newPlace(t)
	if err := os.Mkdir(filepath.Dir(p.socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	before, err := os.Lstat(p.socket)
	if err != nil {
		t.Fatal(err)
	}
	code, out := daemontest.Run(t, p.args()...)
	if code != 1 || !strings.Contains(out, "seedbed-kms: "+p.socket+": another process answers on it: stop that one, or say --take-over\n") {
		t.Errorf("exit code %d, said %q", code, out)
	}
	after, err := os.Lstat(p.socket)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the socket is another: %v", err)
	}
}
