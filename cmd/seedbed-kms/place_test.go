package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
)

func TestMain(m *testing.M) {
	os.Exit(daemontest.Main(m, func() int { return realMain(os.Args[1:], os.Stdout, os.Stderr) }))
}

// place is a key file, a socket, and an API server's client of whoever listens there.
type place struct {
	*testing.T
	keyFile, socket string
	client          service.Service
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{T: t, keyFile: filepath.Join(dir, "key.json"), socket: filepath.Join(dir, "run", "kms.sock")}
	p.key("init")
	var err error
	if p.client, err = kmsv2.NewGRPCService(t.Context(), "unix://"+p.socket, "test", 20*time.Second); err != nil {
		t.Fatal(err)
	}
	return p
}

// key runs a command on the key file and returns what it prints.
func (p *place) key(args ...string) string {
	p.Helper()
	code, out := daemontest.Run(p.T, append(args, "--key-file", p.keyFile)...)
	if code != 0 {
		p.Fatalf("%v ended with %d: %s", args, code, out)
	}
	return strings.TrimSpace(out)
}

// args are those of a plugin.
func (p *place) args(more ...string) []string {
	return append([]string{"--key-file", p.keyFile, "--socket", "unix://" + p.socket, "--listen", "127.0.0.1:0", "--probe-interval", "1h"}, more...)
}

func (p *place) start(more ...string) *daemontest.Process {
	p.Helper()
	d := daemontest.Start(p.T, p.args(more...)...)
	daemontest.Eventually(p.T, "the plugin listens", func() bool { return d.Says("msg=Listens") })
	p.Cleanup(func() { p.hides(d) })
	return d
}

// secrets are what must not be seen anywhere.
func (p *place) secrets() []string {
	data, err := os.ReadFile(p.keyFile)
	if err != nil {
		p.Fatal(err)
	}
	var file struct{ Keys []struct{ Key []byte } }
	if err := json.Unmarshal(data, &file); err != nil {
		p.Fatal(err)
	}
	all := []string{seed}
	for _, k := range file.Keys {
		all = append(all, base64.StdEncoding.EncodeToString(k.Key), hex.EncodeToString(k.Key), string(k.Key), fmt.Sprint(k.Key)[1:100])
	}
	return all
}

// hides wants no secret in the log.
func (p *place) hides(d *daemontest.Process) {
	for _, s := range p.secrets() {
		if d.Says(s) {
			p.Errorf("the log shows a secret")
		}
	}
}

// seed is a text that is sealed.
const seed = "a-seed-of-exactly-32-bytes-or-so"

func (p *place) status() *service.StatusResponse {
	p.Helper()
	s, err := p.client.Status(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return s
}

func (p *place) encrypt() *service.EncryptResponse {
	p.Helper()
	r, err := p.client.Encrypt(p.Context(), "uid", []byte(seed))
	if err != nil {
		p.Fatal(err)
	}
	return r
}

func (p *place) opens(r *service.EncryptResponse) {
	p.Helper()
	text, err := p.client.Decrypt(p.Context(), "uid", &service.DecryptRequest{Ciphertext: r.Ciphertext, KeyID: r.KeyID, Annotations: r.Annotations})
	if err != nil || string(text) != seed {
		p.Errorf("what %s has sealed opens as %q, error %v", r.KeyID, text, err)
	}
}

// mode is that of a file, with its type.
func (p *place) mode(name string) string {
	p.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		p.Fatal(err)
	}
	return info.Mode().String()
}

var keyID = regexp.MustCompile(`^local-v\d+-[0-9a-f]{16}$`)
