package kms_test

import (
	"crypto/rand"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/kms/conformance"
	fakevault "github.com/seedbed-sim/seedbed/fakes/vault"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/vault"
)

// TestConformanceOfVaultKeys runs the suite with a Vault behind TLS.
func TestConformanceOfVaultKeys(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Machine {
		v := fakevault.New(fakevault.Config{Clock: clock.New(), Entropy: rand.Reader, Namespace: "team", Mount: "kv/transit"})
		v.CreateKey("etcd", false)
		cfg := serve(t, v)
		cfg.Namespace, cfg.Key = "team", "kv/transit/etcd"
		return newMachine(t, func() kms.Provider {
			p, err := vault.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}, func() { v.Rotate("etcd") })
	})
}

// serve serves a Vault over TLS, and returns how a plugin reaches it.
func serve(t *testing.T, v *fakevault.Vault) vault.Config {
	t.Helper()
	server := httptest.NewTLSServer(v)
	t.Cleanup(server.Close)
	cfg := vault.Config{Address: server.URL, CAFile: filepath.Join(t.TempDir(), "ca.pem"), TokenFile: filepath.Join(t.TempDir(), "token"), Clock: clock.New()}
	for file, content := range map[string][]byte{
		cfg.CAFile:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		cfg.TokenFile: []byte(v.NewToken(0)),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}
