package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
	"github.com/seedbed-sim/seedbed/realmode/deploy"
)

// TestTrouble: what is wrong is said in one line, which says what to do, and the exit code
// tells whether flags help.
func TestTrouble(t *testing.T) {
	p := newPlace(t)
	file := func(name, text string) string {
		path := filepath.Join(p.dir, name)
		p.must(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	certs := t.TempDir()
	p.certificate(certs)
	away := newPlace(t)
	awayConfig := away.kubeconfig("admin")
	away.server.Close()
	replace := strings.NewReplacer(
		"TYPO", file("typo.yaml", "encryption: true\n\nencryption-namespce: x\n"), "TWICE", file("twice.yaml", "encryption: true\nencryption: false\n"),
		"NOBOOL", file("nobool.yaml", "log-level: info\nencryption: 7up\n"), "LIST", file("list.yaml", "- encryption\n"), "NESTED", file("nested.yaml", "encryption:\n  namespace: x\n"),
		"CONTROLLER", p.kubeconfig(deploy.Controller.Name), "WEBHOOK", p.kubeconfig(deploy.Webhook.Name), "CERTS", certs, "TAKEN", p.server.Listener.Addr().String(), "NOBODY", p.kubeconfig("nobody"), "STRANGER", p.kubeconfig("stranger"), "AWAY", awayConfig,
		"NOCONFIG", file("noconfig", "what is this\n"), "DIR", p.dir,
	)
	for _, c := range []struct {
		name, args string
		code       int
		want       string
	}{
		{"no part", "", 2, "nothing is switched on: set --encryption, --gossip-keys, --cloak-shadows or --cloak-webhook"},
		{"an argument", "now", 2, `unexpected argument "now"`},
		{"an unknown flag", "--encrypt", 2, "unknown flag: --encrypt"},
		{"a configuration that is not there", "--config /nowhere.yaml", 2, "--config: open /nowhere.yaml: no such file"},
		{"a field that is unknown", "--config TYPO", 2, `typo.yaml:3: unknown field "encryption-namespce": did you mean "encryption-namespace"?`},
		{"a field that is there twice", "--config TWICE", 2, `twice.yaml:2: field "encryption" is there twice`},
		{"a field with another value", "--config NOBOOL", 2, `nobool.yaml:2: field "encryption": expected a value of type bool`},
		{"no fields", "--config LIST", 2, "list.yaml: line 1: expected fields and their values, such as"},
		{"fields in fields", "--config NESTED", 2, `nested.yaml:1: field "encryption": expected a text, a number or a list`},
		{"another format", "--gossip-keys --log-format xml", 2, `--log-format is "xml": set it to text or json`},
		{"another level", "--gossip-keys --log-level loud", 2, `--log-level is "loud": set it to error, info or debug`},
		{"periods out of order", "--gossip-keys --lease-duration 10s", 2, "expected --retry-period < --renew-deadline < --lease-duration, and they are 26s, 1m47s and 10s"},
		{"a period that is none", "--gossip-keys --retry-period 0s", 2, "--retry-period is 0s: set it to a time above zero"},
		{"a selector that is none", "--encryption --apiserver-selector a==b==c", 2, "--apiserver-selector: "},
		{"a selector of all", "--encryption --apiserver-selector=", 2, "--apiserver-selector is empty: all Pods of kube-system would be API servers"},
		{"nothing to encrypt", "--encryption --encryption-resources=", 2, "--encryption-resources is empty: name what is to be encrypted"},
		{"no cluster", "--gossip-keys", 2, "this is no Pod, so set --kubeconfig"},
		{"a kubeconfig that is not there", "--gossip-keys --kubeconfig /nowhere", 2, "--kubeconfig /nowhere: "},
		{"a kubeconfig that is none", "--gossip-keys --kubeconfig NOCONFIG", 2, "--kubeconfig DIR/noconfig: "},
		{"an address that is none", "--gossip-keys --kubeconfig CONTROLLER --listen nowhere", 2, "--listen: listen tcp: address nowhere: missing port"},
		{"no certificate", "--cloak-webhook --kubeconfig WEBHOOK --webhook-cert-dir /nowhere --listen=", 2, "--webhook-cert-dir /nowhere: expected the files tls.crt and tls.key of a certificate: "},
		{"an address that is taken", "--cloak-webhook --kubeconfig WEBHOOK --webhook-cert-dir CERTS --webhook-listen TAKEN --listen=", 2, "--webhook-listen: listen tcp TAKEN: bind: address already in use"},
		{"a server that is not there", "--gossip-keys --kubeconfig AWAY --listen=", 1, "reach the API server https://127.0.0.1:"},
		{"no custom kinds", "--encryption --kubeconfig CONTROLLER --listen=", 1, "the cluster has no kind EncryptionPolicy of encryption.seedbed.dev/v1alpha1: install its CustomResourceDefinition with kubectl apply -k realmode/deploy/crds"},
		{"no permissions", "--gossip-keys --kubeconfig NOBODY --listen=", 1, `this account may not get secrets "antrea-memberlist-keys" in kube-system, nor list secrets "antrea-memberlist-keys" in kube-system, nor watch secrets "antrea-memberlist-keys" in kube-system and `},
		{"a stranger", "--gossip-keys --kubeconfig STRANGER --listen=", 1, "Unauthorized"},
		{"opposites", "gossip rotate --abort --resume", 2, "--abort and --resume are opposites: set one of them"},
		{"nothing to rotate", "gossip rotate --kubeconfig CONTROLLER", 1, `"antrea-memberlist-keys" not found`},
		{"half a command", "gossip", 2, "say what to do: gossip rotate or gossip status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, log daemontest.Buffer
			code := realMain(strings.Fields(replace.Replace(c.args)), &out, &log)
			if code != c.code || !strings.Contains(log.String(), replace.Replace(c.want)) {
				t.Errorf("exit code %d, want %d; said\n%s\nwant it to say\n%s", code, c.code, log.String(), replace.Replace(c.want))
			}
			lines := 1
			if c.code == 2 {
				lines = 2 // and where to read of all flags
			}
			if got := strings.Count(log.String(), "\n"); got != lines {
				t.Errorf("said %d lines, want %d:\n%s", got, lines, log.String())
			}
		})
	}
}

func TestVersion(t *testing.T) {
	var out, log daemontest.Buffer
	code := realMain([]string{"--version"}, &out, &log)
	if code != 0 || !strings.HasPrefix(out.String(), "seedbed-controller ") || !strings.Contains(out.String(), "\ngo1.") {
		t.Errorf("exit code %d, said %q", code, out.String())
	}
}
