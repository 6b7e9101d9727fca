//go:build cgo

package kms_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/kms/conformance"
	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/hsm"
)

// modules are where distributions put SoftHSM.
var modules = []string{"/usr/lib/softhsm/libsofthsm2.so", "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so", "/usr/lib64/pkcs11/libsofthsm2.so", "/usr/local/lib/softhsm/libsofthsm2.so"}

const pin = "the-pin-of-the-user"

// softToken is the one token of this process: a module finds its configuration when it
// is loaded, and never again.
var softToken = sync.OnceValues(func() (hsm.Config, error) {
	dir := processDir
	cfg := hsm.Config{Token: "seedbed", PINFile: filepath.Join(dir, "pin")}
	for _, m := range modules {
		if _, err := os.Stat(m); err == nil {
			cfg.Module = m
			break
		}
	}
	conf := filepath.Join(dir, "softhsm2.conf")
	if err := errors.Join(
		os.WriteFile(cfg.PINFile, []byte(pin+"\n"), 0o600), os.WriteFile(conf, []byte("directories.tokendir = "+dir+"\nobjectstore.backend = file\nlog.level = ERROR\n"), 0o600),
		os.Setenv("SOFTHSM2_CONF", conf),
	); err != nil {
		return hsm.Config{}, err
	}
	if out, err := exec.Command("softhsm2-util", "--init-token", "--free", "--label", cfg.Token, "--so-pin", "so-"+pin, "--pin", pin).CombinedOutput(); err != nil {
		return hsm.Config{}, fmt.Errorf("%w: %s", err, out)
	}
	return cfg, nil
})

// newToken returns a key in a token that has no version yet.
func newToken(t *testing.T) hsm.Config {
	t.Helper()
	if _, err := exec.LookPath("softhsm2-util"); err != nil {
		t.Skip("needs SoftHSM, which is not on this machine: install the package softhsm2")
	}
	cfg, err := softToken()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Key = strings.NewReplacer("/", "-", ",", "").Replace(t.Name())
	return cfg
}

func newHSM(t *testing.T) *machine {
	t.Helper()
	cfg := newToken(t)
	rotate := func() {
		if _, err := hsm.Rotate(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	rotate()
	return newMachine(t, func() kms.Provider {
		p, err := hsm.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}, rotate)
}

// TestConformanceOfTokenKeys runs the suite with SoftHSM.
func TestConformanceOfTokenKeys(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Machine { return newHSM(t) })
}

// TestTokensThatAreRefused say why in one line, and tell no PIN.
func TestTokensThatAreRefused(t *testing.T) {
	good := newToken(t)
	wrong := filepath.Join(t.TempDir(), "pin")
	if err := os.WriteFile(wrong, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		edit func(*hsm.Config)
		want string
	}{
		{"no key", func(*hsm.Config) {}, "has no key with the label"},
		{"no module", func(c *hsm.Config) { c.Module = "" }, `the module "" is no absolute path`},
		{"no library", func(c *hsm.Config) { c.Module = wrong }, "cannot be loaded: it is not there, or no library"},
		{"no token", func(c *hsm.Config) { c.Token = "other" }, `there are 0 tokens with the label "other"`},
		{"a label of two words", func(c *hsm.Config) { c.Key = "a b" }, `the label "a b" of the key is not one word`},
		{"no PIN", func(c *hsm.Config) { c.PINFile = "/nowhere" }, "open /nowhere: no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := good
			c.edit(&cfg)
			p, err := hsm.New(cfg)
			if err == nil {
				_, err = p.Look(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), pin) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
