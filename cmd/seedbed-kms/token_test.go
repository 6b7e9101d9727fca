//go:build cgo

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
)

// TestPluginOfAToken is the life of a plugin whose key is in SoftHSM.
func TestPluginOfAToken(t *testing.T) {
	const module = "/usr/lib/softhsm/libsofthsm2.so"
	if _, err := os.Stat(module); err != nil {
		t.Skipf("needs SoftHSM: %v: install the package softhsm2", err)
	}
	p := newPlace(t)
	dir := t.TempDir()
	const pin = "the-pin-of-the-user"
	conf, pinFile, wrong := filepath.Join(dir, "softhsm2.conf"), filepath.Join(dir, "pin"), filepath.Join(dir, "wrong")
	for name, content := range map[string]string{conf: "directories.tokendir = " + dir + "\nlog.level = ERROR\n", pinFile: pin + "\n", wrong: "another-pin"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SOFTHSM2_CONF", conf)
	if out, err := exec.Command("softhsm2-util", "--init-token", "--free", "--label", "seedbed", "--so-pin", "so-"+pin, "--pin", pin).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	key := []string{"--pkcs11-module", module, "--pkcs11-token", "seedbed", "--pkcs11-key", "etcd", "--pkcs11-pin-file"}
	rotate := func(pinFile string) (int, string) {
		code, out := daemontest.Run(t, append(append([]string{"pkcs11-rotate"}, key...), pinFile)...)
		return code, strings.TrimSpace(out)
	}
	if code, out := rotate(wrong); code != 2 || !strings.Contains(out, `log in to the token "seedbed": permission denied: pkcs11: 0xA0: CKR_PIN_INCORRECT`) || strings.Contains(out, "another-pin") {
		t.Errorf("with another PIN: exit code %d, said %q", code, out)
	}
	if code, out := rotate(pinFile); code != 0 || !strings.HasPrefix(out, "pkcs11:etcd:v1-") {
		t.Fatalf("exit code %d, said %q", code, out)
	}
	d := daemontest.Start(t, append([]string{"--provider", "pkcs11", "--socket", "unix://" + p.socket, "--listen", "127.0.0.1:0"}, append(key, pinFile)...)...)
	old := p.encrypt()
	code, id := rotate(pinFile)
	if code != 0 || !strings.HasPrefix(id, "pkcs11:etcd:v2-") {
		t.Fatalf("exit code %d, said %q", code, id)
	}
	d.Signal(syscall.SIGHUP)
	daemontest.Eventually(t, "the new version is in use", func() bool { return p.status().KeyID == id })
	p.opens(old)
	p.opens(p.encrypt())
	_, metrics := d.Get("/metrics")
	d.Stop()
	if d.Says(pin) || strings.Contains(metrics, pin) {
		t.Error("the log or the metrics show the PIN")
	}
}
