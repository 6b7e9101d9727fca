package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fakevault "github.com/seedbed-sim/seedbed/fakes/vault"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
)

// refusal is a way to start a plugin that it refuses.
type refusal struct {
	name string
	args string // DIR is a directory, KEY a key file, SOCKET a socket that is free
	want string
	code int
}

const good = "--key-file KEY --socket SOCKET --listen= "

var refusals = []refusal{
	{"an argument", "now", `unexpected argument "now": see --help`, 2},
	{"an unknown flag", good + "--sockets x", "unknown flag: --sockets", 2},
	{"no socket", "--key-file KEY --socket=", "--socket is missing: set it to where API servers look", 2},
	{"a socket of the network", "--key-file KEY --socket tcp://127.0.0.1:1", `--socket: "tcp://127.0.0.1:1" is no socket of an absolute path`, 2},
	{"a relative path", "--key-file KEY --socket unix://kms.sock", "is no socket of an absolute path", 2},
	{"an abstract socket", "--key-file KEY --socket unix://@kms", "is an abstract socket, which everybody on the machine may connect to", 2},
	{"a long path", "--key-file KEY --socket unix:///" + strings.Repeat("x", 120), "has 121 bytes, and 103 are allowed", 2},
	{"a file in place of the socket", "--key-file KEY --socket unix://DIR/file --listen=", "DIR/file is there and is no socket: remove it", 1},
	{"a directory that is open", "--key-file KEY --socket unix://DIR/open/kms.sock --listen=", "the directory DIR/open of the socket has the mode 0777, so others could replace the socket: chmod it to 0700", 1},
	{"an address for all", "--key-file KEY --socket SOCKET --listen :8091", `--listen: ":8091" can be reached from elsewhere: use 127.0.0.1`, 2},
	{"an address that is none", "--key-file KEY --socket SOCKET --listen nowhere", `--listen: "nowhere" is no host and port`, 2},
	{"an address that is occupied", "--key-file KEY --socket SOCKET --listen BUSY", "--listen: listen tcp BUSY: bind: address already in use", 2},
	{"no pause", good + "--probe-interval 0s", "--probe-interval is 0s: set it to more than nothing", 2},
	{"another provider", good + "--provider aws", `--provider is "aws": set it to local or vault or pkcs11`, 2},
	{"another format", good + "--log-format xml", `--log-format is "xml": set it to text or json`, 2},
	{"no key file", "--socket SOCKET", "--key-file is missing: set it to a file that seedbed-kms init has made", 2},
	{"a key file that is not there", "--socket SOCKET --key-file DIR/none --listen=", "open DIR/none: no such file or directory", 1},
	{"a key file that others read", "--socket SOCKET --key-file DIR/wide --listen=", "DIR/wide: others may read or change it: it has the mode 0640: chmod it to 0600", 1},
	{"a key file that is a directory", "--socket SOCKET --key-file DIR --listen=", "DIR: it is no regular file", 1},
	{"a key file that is empty", "--socket SOCKET --key-file DIR/empty --listen=", "DIR/empty: it is empty or too large: it has 0 bytes", 1},
	{"a key file that is no JSON", "--socket SOCKET --key-file DIR/file --listen=", "DIR/file: it is no key file, as seedbed-kms init makes one: it is no JSON at byte 1", 1},
	{"a key that is too short", "--socket SOCKET --key-file DIR/short --listen=", "the key of version 1 has 16 bytes instead of 32", 1},
	{"no config", "--config DIR/none", "--config: open DIR/none: no such file or directory", 2},
	{"a config with an unknown field", "--config DIR/unknown.yaml", `DIR/unknown.yaml:1: unknown field "sockets": did you mean "socket"?`, 2},
	{"a config with another type", "--config DIR/type.yaml", `DIR/type.yaml:1: field "take-over": expected a value of type bool: see --help`, 2},
	{"a config that is none", "--config DIR/file", "DIR/file: line 1: expected fields and their values", 2},
	{"no Vault", "--socket SOCKET --provider vault", "--vault-address or --vault-key is missing", 2},
	{"a Vault without a token", "--socket SOCKET --provider vault --vault-address https://127.0.0.1:1 --vault-key transit/etcd", "--provider vault: there has to be either a file with a token", 2},
	{"a Vault in clear", "--socket SOCKET --provider vault --vault-address http://vault.example.com --vault-key transit/etcd --vault-token-file DIR/token", "would send seeds and tokens in clear", 2},
	{"a Vault that cannot be reached", "--socket SOCKET --provider vault --vault-address https://127.0.0.1:1 --vault-key transit/etcd --vault-token-file DIR/token", "the key cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused", 1},
	{"a Vault that nobody vouches for", "--socket SOCKET --provider vault --vault-address VAULT --vault-key transit/etcd --vault-token-file DIR/token", "the key cannot be reached: tls: failed to verify certificate", 1},
	{"a Vault that forbids", "--socket SOCKET --provider vault --vault-address VAULT --vault-ca-file DIR/ca.pem --vault-key transit/etcd --vault-token-file DIR/token", "look up the token of DIR/token: vault answers 403: permission denied", 1},
	{"a Vault that forbids to decrypt", "--socket SOCKET --provider vault --vault-address VAULT --vault-ca-file DIR/ca.pem --vault-key transit/etcd --vault-token-file DIR/encrypt-only", "try to open with vault:/transit/etcd:v1:", 1},
	{"a token without a module", "--socket SOCKET --provider pkcs11", `the module "" is no absolute path of a library`, 2},
	{"a module that is not there", "--socket SOCKET --listen= --provider pkcs11 --pkcs11-module DIR/none.so --pkcs11-token t --pkcs11-key etcd --pkcs11-pin-file DIR/token", "DIR/none.so cannot be loaded: it is not there, or no library", 1},
	{"init over a file", "init --key-file KEY", "--key-file: KEY: it is there already; a new one in its place would make everything unreadable", 2},
	{"rotate nothing", "rotate --key-file DIR/none", "--key-file: stat DIR/none: no such file or directory", 2},
	{"rotate what is open", "rotate --key-file DIR/wide", "--key-file: DIR/wide: others may read or change it", 2},
	{"activate nothing", "activate --key-file KEY", "--key-file: KEY: the newest version is the primary already: stage one first", 2},
	{"show nothing", "show", "--key-file is missing", 2},
}

// TestRefusals: each is one line that says what is wrong, and an exit code.
func TestRefusals(t *testing.T) {
	p := newPlace(t)
	dir := filepath.Dir(p.keyFile)
	write := func(name, content string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	const junk = "junk-that-nobody-should-repeat"
	write("file", junk, 0o600)
	write("empty", "", 0o600)
	write("wide", "{}", 0o640)
	write("short", `{"kind": "seedbed-kms-key/v1", "primary": 1, "keys": [{"version": 1, "key": "`+base64.StdEncoding.EncodeToString([]byte(junk)[:16])+`"}]}`, 0o600)
	write("unknown.yaml", "sockets: "+junk+"\n", 0o600)
	write("type.yaml", "take-over: "+junk+"\n", 0o600)
	write("token", "hvs."+junk, 0o600)
	if err := os.Mkdir(filepath.Join(dir, "open"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := busy.Close(); err != nil {
			t.Error(err)
		}
	})
	vault := fakevault.New(fakevault.Config{Clock: clock.New(), Entropy: rand.Reader})
	vault.CreateKey("etcd", false)
	server := httptest.NewTLSServer(vault)
	defer server.Close()
	write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})), 0o600)
	write("encrypt-only", vault.NewToken(time.Hour, "transit/keys/etcd", "transit/encrypt/etcd"), 0o600)
	names := strings.NewReplacer("SOCKET", "unix://"+p.socket, "KEY", p.keyFile, "DIR", dir, "VAULT", server.URL, "BUSY", busy.Addr().String())
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			code, out := daemontest.Run(t, strings.Fields(names.Replace(r.args))...)
			if code != r.code || !strings.Contains(out, names.Replace(r.want)) {
				t.Errorf("exit code %d, want %d; said %q, want it to say %q", code, r.code, out, names.Replace(r.want))
			}
			lines := 0
			for line := range strings.Lines(out) {
				if !strings.HasPrefix(line, "time=") && !strings.HasSuffix(line, "--help tells of all flags.\n") {
					lines++
				}
			}
			if lines != 1 || strings.Contains(out, junk) {
				t.Errorf("said in %d lines, or with what is in a file:\n%s", lines, out)
			}
		})
	}
}

// TestPluginOfAVault seals, is told of a new version, and is ill while the Vault is.
func TestPluginOfAVault(t *testing.T) {
	p := newPlace(t)
	dir := filepath.Dir(p.keyFile)
	v := fakevault.New(fakevault.Config{Clock: clock.New(), Entropy: rand.Reader})
	v.CreateKey("etcd", false)
	role := fakevault.Role{RoleID: "the-role-id", SecretID: "the-secret-id-of-the-role", TTL: time.Hour}
	v.PutRole(role)
	server := httptest.NewTLSServer(v)
	defer server.Close()
	for name, content := range map[string]string{
		"role-id": role.RoleID, "secret-id": role.SecretID, "ca.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// As the package sidecar starts it.
	d := daemontest.Start(t, "KMS_PLUGIN_SOCKET=unix://"+p.socket, "KMS_PLUGIN_METRICS_PORT=0", "KMS_PLUGIN_ENDPOINT="+server.URL, "KMS_PLUGIN_KEY_PATH=transit/etcd",
		"--provider", "vault", "--vault-ca-file", filepath.Join(dir, "ca.pem"), "--vault-role-id-file", filepath.Join(dir, "role-id"),
		"--vault-secret-id-file", filepath.Join(dir, "secret-id"), "--probe-interval", "50ms")
	old := p.encrypt()
	p.opens(old)
	v.Rotate("etcd")
	daemontest.Eventually(t, "the new version is in use", func() bool { return strings.HasPrefix(p.status().KeyID, "vault:/transit/etcd:v2:") })
	p.opens(old)
	p.opens(p.encrypt())
	v.Seal()
	daemontest.Eventually(t, "it is ill", func() bool { return strings.Contains(p.status().Healthz, "vault answers 503: Vault is sealed") })
	if _, err := p.client.Encrypt(t.Context(), "uid", []byte(seed)); err == nil || !strings.Contains(err.Error(), "code = Unavailable") {
		t.Errorf("encrypt: %v", err)
	}
	v.Unseal()
	v.RevokeAll() // as a restart of a development server does
	daemontest.Eventually(t, "it is well", func() bool { return p.status().Healthz == "ok" })
	p.opens(old)
	if n := d.Metric(`seedbed_kms_vault_requests_total{operation="login",status="200"}`); n != 2 {
		t.Errorf("%v logins", n)
	}
	_, metrics := d.Get("/metrics")
	for _, s := range []string{role.RoleID, role.SecretID, "hvs.", seed, base64.StdEncoding.EncodeToString([]byte(seed)), fmt.Sprintf("%x", seed)} {
		if d.Says(s) || strings.Contains(metrics, s) {
			t.Errorf("the log or the metrics show %q", s)
		}
	}
	d.Stop()
}
