package vault_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	coreclock "github.com/seedbed-sim/seedbed/core/clock"
	fakevault "github.com/seedbed-sim/seedbed/fakes/vault"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/vault"
)

// paths are what a plugin needs, and no more.
var paths = []string{"transit/keys/etcd", "transit/encrypt/etcd", "transit/decrypt/etcd"}

// timers is a clock that tests set; what waits on it waits in real time.
type timers struct {
	coreclock.Clock
	nanos atomic.Int64
}

func (c *timers) passed() time.Duration    { return time.Duration(c.nanos.Load()) }
func (c *timers) set(passed time.Duration) { c.nanos.Store(int64(passed)) }
func (c *timers) pass(d time.Duration)     { c.nanos.Add(int64(d)) }

func (c *timers) Now() time.Time           { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Add(c.passed()) }
func (c *timers) Monotonic() time.Duration { return time.Hour + c.passed() }

// place is a Vault with a key, and the files of a plugin.
type place struct {
	*testing.T
	vault  *fakevault.Vault
	clock  *timers
	server *httptest.Server
	cfg    vault.Config
	dir    string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, clock: &timers{Clock: clock.New()}, dir: t.TempDir()}
	p.vault = fakevault.New(fakevault.Config{Clock: p.clock, Entropy: rand.Reader})
	p.vault.CreateKey("etcd", false)
	p.server = httptest.NewTLSServer(p.vault)
	t.Cleanup(p.server.Close)
	p.server.Config.ErrorLog = nil
	p.cfg = vault.Config{
		Address: p.server.URL, Key: "transit/etcd", Clock: p.clock, CAFile: p.file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}))),
	}
	return p
}

func (p *place) file(name, content string) string {
	p.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.Fatal(err)
	}
	return path
}

// withToken is a provider with a token in a file.
func (p *place) withToken(ttl time.Duration) (*vault.Provider, string) {
	p.Helper()
	token := p.vault.NewToken(ttl, paths...)
	p.cfg.TokenFile = p.file("token", token+"\n")
	return p.provider(), token
}

// withRole is a provider that logs in.
func (p *place) withRole(r fakevault.Role) *vault.Provider {
	p.Helper()
	r.RoleID, r.SecretID, r.Allowed = "the-role", "the-secret-of-the-role", paths
	p.vault.PutRole(r)
	p.cfg.RoleIDFile, p.cfg.SecretIDFile = p.file("role-id", r.RoleID), p.file("secret-id", r.SecretID+"\n")
	return p.provider()
}

func (p *place) provider() *vault.Provider {
	p.Helper()
	v, err := vault.New(p.cfg)
	if err != nil {
		p.Fatal(err)
	}
	return v
}

// works looks at the key, seals and opens, and returns the id.
func (p *place) works(v *vault.Provider) string {
	p.Helper()
	id, err := v.Look(p.Context())
	if err != nil {
		p.Fatalf("look: %v", err)
	}
	sealed, err := v.Seal(p.Context(), id, []byte("text"))
	if err != nil {
		p.Fatalf("seal: %v", err)
	}
	if text, err := v.Open(p.Context(), id, sealed); err != nil || string(text) != "text" {
		p.Fatalf("open: %q, %v", text, err)
	}
	return id
}

func (p *place) asked(path string, want int) {
	p.Helper()
	if got := p.vault.Requests(path); got != want {
		p.Errorf("%s was asked for %d times, want %d", path, got, want)
	}
}

// TestNames: ids tell the key, the version and when it was made, and not the address.
func TestNames(t *testing.T) {
	p := newPlace(t)
	v, _ := p.withToken(0)
	if id, want := p.works(v), "vault:/transit/etcd:v1:1893456000"; id != want {
		t.Errorf("id %q, want %q", id, want)
	}
	p.clock.set(time.Minute)
	p.vault.Rotate("etcd")
	if id, want := p.works(v), "vault:/transit/etcd:v2:1893456060"; id != want {
		t.Errorf("id %q, want %q", id, want)
	}
	for _, other := range []string{"vault:/transit/other:v1:1893456000", "vault:/transit/etcd:v1", "vault:/transit/etcd:v0:1", "vault:/transit/etcd:v1:1893456000 ", "local-v1-00", ""} {
		if _, err := v.Open(t.Context(), other, []byte("x")); !errors.Is(err, kms.ErrUnknownKey) {
			t.Errorf("%q: error %v, want %v", other, err, kms.ErrUnknownKey)
		}
	}
}

// TestAServerThatLags knows of fewer versions than others; the plugin does not go back.
func TestAServerThatLags(t *testing.T) {
	p := newPlace(t)
	v, _ := p.withToken(0)
	p.works(v)
	p.clock.set(time.Minute)
	p.vault.Rotate("etcd")
	newest := p.works(v)
	p.vault.Forget("etcd")
	if id, err := v.Look(t.Context()); err != nil || id != newest {
		t.Errorf("id %q, error %v, want %q still", id, err, newest)
	}
	p.clock.set(time.Hour)
	p.vault.DeleteKey("etcd")
	p.vault.CreateKey("etcd", false)
	if _, err := v.Look(t.Context()); !errors.Is(err, vault.ErrOtherKey) {
		t.Errorf("a key that has the name of one that was deleted: %v, want %v", err, vault.ErrOtherKey)
	}
}

// TestATokenIsRenewed at half of its life, for as long as it can be.
func TestATokenIsRenewed(t *testing.T) {
	p := newPlace(t)
	v, _ := p.withToken(time.Hour)
	for range 10 {
		p.works(v)
		p.clock.pass(20 * time.Minute)
	}
	p.works(v)
	p.asked("auth/token/lookup-self", 1)
	p.asked("auth/token/renew-self", 5)
}

// TestATokenIsReplaced by another that somebody puts into its file, before the old one
// has run out and after it.
func TestATokenIsReplaced(t *testing.T) {
	p := newPlace(t)
	v, old := p.withToken(time.Hour)
	id := p.works(v)
	p.file("token", p.vault.NewToken(time.Hour, paths...))
	p.works(v)
	p.asked("auth/token/lookup-self", 2) // without waiting until the old one is refused
	p.vault.Revoke(old)
	p.works(v)
	p.asked("auth/token/lookup-self", 2)
	p.vault.RevokeAll()
	if _, err := v.Seal(t.Context(), id, []byte("text")); !errors.Is(err, kms.ErrForbidden) {
		t.Errorf("with no token that is good: %v, want %v", err, kms.ErrForbidden)
	}
	p.file("token", p.vault.NewToken(time.Hour, paths...))
	if _, err := v.Seal(t.Context(), id, []byte("text")); err != nil {
		t.Errorf("with another token in the file, at once: %v", err)
	}
}

// TestALogin is made again when its token is gone, or cannot be renewed.
func TestALogin(t *testing.T) {
	for _, c := range []struct {
		name            string
		role            fakevault.Role
		logins, renewed int
	}{
		{"a token for ever", fakevault.Role{}, 2, 0},
		{"a token that is renewed", fakevault.Role{TTL: time.Hour}, 2, 5},
		{"a token that cannot be", fakevault.Role{TTL: time.Hour, Batch: true}, 7, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			v := p.withRole(c.role)
			for range 10 {
				p.works(v)
				p.clock.pass(20 * time.Minute)
			}
			p.works(v)
			p.vault.RevokeAll()
			p.works(v)
			p.asked("auth/approle/login", c.logins)
			p.asked("auth/token/renew-self", c.renewed)
		})
	}
}

// TestWhatMayBeWrong is told in one line, by what it means for the plugin, and without
// what is secret.
func TestWhatMayBeWrong(t *testing.T) {
	answers := func(status int, text string) func(*place) {
		return func(p *place) {
			p.vault.Answer(func(path string) (int, string) {
				if strings.HasPrefix(path, "transit/") {
					return status, text
				}
				return 0, ""
			})
		}
	}
	for _, c := range []struct {
		name string
		do   func(*place)
		is   error
		want string
	}{
		{"sealed", func(p *place) { p.vault.Seal() }, kms.ErrUnavailable, "vault answers 503: Vault is sealed"},
		{"no such key", func(p *place) { p.vault.DeleteKey("etcd") }, kms.ErrUnknownKey, "key transit/etcd: vault answers 404: not found"},
		{"a derived key", func(p *place) { p.vault.CreateKey("etcd", true) }, nil, "key transit/etcd: the key is not fit to seal: it is a derived key"},
		{"a token that is refused", func(p *place) { p.vault.RevokeAll() }, kms.ErrForbidden, "vault answers 403: permission denied"},
		{"too many requests", answers(429, "slow down"), kms.ErrUnavailable, "vault answers 429: slow down"},
		{"a bad gateway", answers(502, "<html>"), kms.ErrUnavailable, "vault answers 502: <html>"},
		{"a standby", answers(307, "https://elsewhere.example.com/"), kms.ErrUnavailable, "it points to another server"},
		{"a token is repeated", answers(500, "TOKEN\nis bad"), kms.ErrUnavailable, "vault answers 500: [secret] is bad"},
		{"a long text", answers(400, strings.Repeat("x", 5000)), nil, strings.Repeat("x", 200) + "..."},
		{"nobody answers", func(p *place) { p.server.Close() }, kms.ErrUnavailable, "the key cannot be reached: dial tcp"},
		{"a token file that others read", func(p *place) { _ = os.Chmod(p.cfg.TokenFile, 0o640) }, nil, "others may read or change it: it has the mode 0640: chmod it"},
		{"no token file", func(p *place) { _ = os.Remove(p.cfg.TokenFile) }, os.ErrNotExist, "token: no such file"},
		{"a token file with more in it", func(p *place) { p.file("token", "two words") }, nil, "it is not one word"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			v, token := p.withToken(0)
			c.do(p)
			if c.name == "a token is repeated" {
				answers(500, token+"\nis bad")(p)
			}
			_, err := v.Look(t.Context())
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %v that says %q", err, c.is, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("error %q shows the token, or has several lines", err)
			}
		})
	}
}

func TestARoleThatIsRefused(t *testing.T) {
	p := newPlace(t)
	v := p.withRole(fakevault.Role{})
	p.file("secret-id", "another-secret")
	_, err := v.Look(t.Context())
	if !errors.Is(err, kms.ErrForbidden) || !strings.Contains(err.Error(), "log in with the role: permission denied: vault answers 400: invalid role or secret ID") || strings.Contains(err.Error(), "another-secret") {
		t.Errorf("error %v", err)
	}
}

// TestOpening tells a ciphertext that is broken from a Vault that is.
func TestOpening(t *testing.T) {
	p := newPlace(t)
	v, _ := p.withToken(0)
	id := p.works(v)
	sealed, err := v.Seal(t.Context(), id, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("vault:")) {
		t.Errorf("the ciphertext %q has its head", sealed)
	}
	if _, err := v.Open(t.Context(), id, sealed[:20]); !errors.Is(err, kms.ErrBroken) {
		t.Errorf("half a ciphertext: %v", err)
	}
	p.vault.Rotate("etcd")
	p.vault.SetMinDecryptionVersion("etcd", 2)
	if _, err := v.Open(t.Context(), id, sealed); err == nil || !strings.Contains(err.Error(), "disallowed by policy (too old)") {
		t.Errorf("a version that may not be opened any more: %v", err)
	}
	p.vault.Seal()
	if _, err := v.Open(t.Context(), id, sealed); !errors.Is(err, kms.ErrUnavailable) {
		t.Errorf("a sealed Vault: %v", err)
	}
}

// TestACallEndsInTime, whatever the Vault does.
func TestACallEndsInTime(t *testing.T) {
	p := newPlace(t)
	arrived, hang := make(chan bool, 1), make(chan bool)
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- true; <-hang }))
	defer server.Close()
	defer close(hang)
	p.cfg.Address = server.URL
	v, _ := p.withToken(0)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := v.Look(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, kms.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	good := vault.Config{Address: "https://vault.example.com:8200", Key: "transit/etcd", TokenFile: "t"}
	var got []string
	for _, edit := range []func(*vault.Config){
		func(*vault.Config) {},
		func(c *vault.Config) { c.Address = "http://127.0.0.1:8200" },
		func(c *vault.Config) { c.Address = "http://vault.example.com:8200" },
		func(c *vault.Config) { c.Address = "vault.example.com:8200" },
		func(c *vault.Config) { c.Key = "etcd" },
		func(c *vault.Config) { c.Key = "transit/../sys/etcd" },
		func(c *vault.Config) { c.TokenFile = "" },
		func(c *vault.Config) { c.RoleIDFile = "r" },
		func(c *vault.Config) { c.TokenFile, c.RoleIDFile = "", "r" },
		func(c *vault.Config) { c.CAFile = "/nowhere.pem" },
		func(c *vault.Config) { c.CAFile = "provider_test.go" },
	} {
		cfg := good
		edit(&cfg)
		_, err := vault.New(cfg)
		got = append(got, fmt.Sprint(err))
	}
	want := []string{
		"<nil>", "<nil>",
		`the address "http://vault.example.com:8200" would send seeds and tokens in clear: use https, or an agent on 127.0.0.1`,
		`the address "vault.example.com:8200" is no URL such as https://vault.example.com:8200`,
		`the key "etcd" is no mount and key, such as transit/etcd`,
		`the key "transit/../sys/etcd" is no mount and key, such as transit/etcd`,
		"there has to be either a file with a token, or two with the ids of a role",
		"there has to be either a file with a token, or two with the ids of a role",
		"a role has two ids, and there is a file with one of them only",
		"open /nowhere.pem: no such file or directory",
		"provider_test.go: there is no certificate in it",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
