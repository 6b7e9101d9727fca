package grant_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/core/secret"
	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

const url = "https://controller.example.com"

// inTime runs body in a process in virtual time.
func inTime(t *testing.T, body func(ctx context.Context, clk clock.Clock)) {
	t.Helper()
	c := cluster.New(cluster.Config{Nodes: 1, Engine: engine.Config{Source: engine.NewSeed(1), Horizon: 12 * time.Hour, Idle: engine.IdleAllowed}})
	ended := false
	c.Node("node-1").Process(cluster.ProcessSpec{Name: "fiberd", Main: func(ctx context.Context, env *cluster.Env) {
		if !ended {
			body(ctx, env.Clock)
			ended = true
		}
		_ = env.Clock.Sleep(ctx, 24*time.Hour)
	}})
	if res := c.Run(); res.Err != nil {
		t.Error(res.Err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Error("the body did not run to its end")
	}
}

func compact(payload string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

func TestPeek(t *testing.T) {
	for _, c := range []struct {
		name, token string
		want        grant.Peeked
		err         string
	}{
		{"all of it", compact(`{"jti":"u","exp":1900000000,"iat":1800000000.5}`), grant.Peeked{
			UID: "u", Expires: time.Unix(1900000000, 0).UTC(), IssuedAt: time.Unix(1800000000, 5e8).UTC(),
		}, ""},
		{"a new line at the end", compact(`{"jti":"u"}`) + "\n", grant.Peeked{UID: "u"}, ""},
		{"it never expires", compact(`{"jti":"u"}`), grant.Peeked{UID: "u"}, ""},
		{"two parts", "a.b", grant.Peeked{}, "three parts"},
		{"no base64", "a.!.c", grant.Peeked{}, "not base64url"},
		{"no JSON", compact("x"), grant.Peeked{}, "no JSON object"},
		{"a list", compact("[]"), grant.Peeked{}, "no JSON object"},
		{"a time that is none", compact(`{"exp":1e300}`), grant.Peeked{}, "exp is no time"},
		{"a time before all", compact(`{"exp":-1}`), grant.Peeked{}, "exp is no time"},
		{"too large", compact(`{"jti":"` + strings.Repeat("u", 9000) + `"}`), grant.Peeked{}, "larger than 8192"},
		{"nothing", "", grant.Peeked{}, "three parts"},
	} {
		got, err := grant.Peek([]byte(c.token))
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%s: %+v, %v", c.name, got, err)
		case c.err != "" && (!errors.Is(err, grant.ErrMalformed) || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
	}
}

func FuzzPeek(f *testing.F) {
	f.Add([]byte(compact(`{"jti":"u","exp":1900000000}`)))
	f.Add([]byte("a.b.c"))
	f.Fuzz(func(t *testing.T, token []byte) {
		if _, err := grant.Peek(token); err != nil && !errors.Is(err, grant.ErrMalformed) {
			t.Errorf("an error of another kind: %v", err)
		}
	})
}

// TestVerify: what the issuer signs for this home is genuine, and nothing else is.
func TestVerify(t *testing.T) {
	pod := issuer.Pod{Name: "grant-0", UID: "00000000-0000-4000-8000-000000000001"}
	inTime(t, func(ctx context.Context, clk clock.Clock) {
		i := issuer.New(issuer.Config{URL: url, Clock: clk, Lease: 10 * time.Minute})
		keys := grant.NewCache(grant.CacheConfig{Issuer: url + "/", Web: i, Clock: clk})
		v := &grant.Verifier{Issuer: url, Audience: pod.Name, Keys: keys}
		token, err := i.Issue(pod)
		if err != nil {
			t.Fatal(err)
		}
		g, err := v.Verify(ctx, secret.New([]byte(token+"\n")))
		if err != nil || g.UID != pod.UID || g.Fibers.Max != 4 || g.WBudgetBytes != 1<<30 || g.LeaseExpiry == nil {
			t.Errorf("the issuer's own: %+v, %v", g, err)
		}
		if g.Lapsed(clk.Now()) || !g.Lapsed(clk.Now().Add(11*time.Minute)) {
			t.Error("the lease is another")
		}
		mallory := ed25519.NewKeyFromSeed(make([]byte, 32))
		good := claims(g, clk.Now())
		with := func(edit func(c map[string]any)) map[string]any {
			var c map[string]any
			if err := json.Unmarshal([]byte(encode(good)), &c); err != nil {
				t.Fatal(err)
			}
			edit(c)
			return c
		}
		for _, c := range []struct {
			name, token string
			want        error
			say         string
		}{
			{"signed by another", sign(t, mallory, "key-1", "JWT", good), grant.ErrForged, "signature"},
			{"by a key that nobody knows", sign(t, mallory, "key-9", "JWT", good), grant.ErrForged, "no such key"},
			{"by a key without a name", sign(t, mallory, "", "JWT", good), grant.ErrMalformed, "name its key"},
			{"of another type", sign(t, mallory, "key-1", "at+jwt", good), grant.ErrMalformed, "type"},
			{"nothing", "", grant.ErrMalformed, "compact"},
			{"not signed", "eyJhbGciOiJub25lIn0.e30.", grant.ErrMalformed, "signed with one of"},
			{"too large", strings.Repeat("a", 9000), grant.ErrMalformed, "larger"},
			{"for another home", mustIssue(t, i, issuer.Pod{Name: "grant-1", UID: pod.UID}), grant.ErrForged, "another home"},
			{"with an id that is none", mustIssue(t, i, issuer.Pod{Name: pod.Name, UID: "Not_A_Label"}), grant.ErrMalformed, "DNS label"},
			{"for two", sign(t, mallory, "key-1", "JWT", with(func(c map[string]any) { c["aud"] = []string{"a", "b"} })), grant.ErrForged, ""},
		} {
			_, err := v.Verify(ctx, secret.New([]byte(c.token)))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%s: %v, want %v with %q", c.name, err, c.want, c.say)
			}
			if len(c.token) > 20 && err != nil && strings.Contains(err.Error(), c.token[:20]) {
				t.Errorf("%s: the error shows the token", c.name)
			}
		}
	})
}

// TestAlgorithms: an issuer may sign with Ed25519 or ECDSA on P-256, and a token says
// itself with what; a key is good for its own algorithm only.
func TestAlgorithms(t *testing.T) {
	edKey := ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	inTime(t, func(ctx context.Context, clk clock.Clock) {
		web := &site{key: edKey, more: []jose.JSONWebKey{
			{Key: ecKey.Public(), KeyID: "ec"}, {Key: wide.Public(), KeyID: "wide"}, {Key: rsaKey.Public(), KeyID: "rsa"},
			{Key: ecKey, KeyID: "private"}, {Key: []byte("shared"), KeyID: "shared"},
		}}
		v := &grant.Verifier{Issuer: url + "/", Audience: "grant-0", Keys: grant.NewCache(grant.CacheConfig{Issuer: url, Web: web, Clock: clk})}
		good := claims(grant.Grant{UID: "uid-1", Issuer: url, Audience: "grant-0"}, clk.Now())
		for _, c := range []struct {
			name      string
			algorithm jose.SignatureAlgorithm
			key       any
			kid       string
			want      error
		}{
			{"Ed25519", jose.EdDSA, edKey, "key-1", nil},
			{"ECDSA on P-256", jose.ES256, ecKey, "ec", nil},
			{"ECDSA by the name of the other key", jose.ES256, ecKey, "key-1", grant.ErrForged},
			{"Ed25519 by the name of the other key", jose.EdDSA, edKey, "ec", grant.ErrForged},
			{"ECDSA on P-384", jose.ES384, wide, "wide", grant.ErrMalformed},
			{"RSA", jose.RS256, rsaKey, "rsa", grant.ErrMalformed},
			{"a key that everybody has", jose.HS256, []byte(edKey.Public().(ed25519.PublicKey)), "key-1", grant.ErrMalformed},
			{"a key that should not be in the set", jose.ES256, ecKey, "private", grant.ErrForged},
			{"a shared key", jose.HS256, []byte("shared0123456789shared0123456789"), "shared", grant.ErrMalformed},
		} {
			token := signWith(t, c.algorithm, c.key, c.kid, "JWT", good)
			if _, err := v.Verify(ctx, secret.New([]byte(token))); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
	})
}

// TestClaimsMustAgree: whoever signs, a token whose claims contradict its grant is none.
func TestClaimsMustAgree(t *testing.T) {
	key := ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	inTime(t, func(ctx context.Context, clk clock.Clock) {
		web := &site{key: key}
		v := &grant.Verifier{Issuer: url, Audience: "grant-0", Keys: grant.NewCache(grant.CacheConfig{Issuer: url, Web: web, Clock: clk})}
		expires := clk.Now().Add(time.Hour).Truncate(time.Second)
		g := grant.Grant{UID: "uid-1", Issuer: url, Audience: "grant-0", LeaseExpiry: &expires}
		for _, c := range []struct {
			name string
			edit func(c map[string]any)
			say  string // "": it is a grant
		}{
			{"they do", func(map[string]any) {}, ""},
			{"one audience as a text", func(c map[string]any) { c["aud"] = "grant-0" }, ""},
			{"more exact than a second", func(c map[string]any) { c["exp"] = float64(expires.Unix()) + 0.25 }, ""},
			{"another id", func(c map[string]any) { c["jti"] = "uid-2" }, "jti"},
			{"another issuer", func(c map[string]any) { c["iss"] = "https://other" }, "iss"},
			{"another audience", func(c map[string]any) { c["aud"] = "grant-1" }, "aud"},
			{"two audiences", func(c map[string]any) { c["aud"] = []string{"grant-0", "grant-1"} }, "2 audiences"},
			{"another lease", func(c map[string]any) { c["exp"] = expires.Unix() + 1 }, "exp"},
			{"no lease but in the grant", func(c map[string]any) { delete(c, "exp") }, "exp"},
			{"no grant", func(c map[string]any) { delete(c, "grant") }, "no claim named grant"},
			{"a grant of another shape", func(c map[string]any) { c["grant"] = "x" }, "no JSON object of claims"},
		} {
			all := claims(g, clk.Now())
			c.edit(all)
			_, err := v.Verify(ctx, secret.New([]byte(sign(t, key, "key-1", "JWT", all))))
			switch {
			case c.say == "" && err != nil:
				t.Errorf("%s: %v", c.name, err)
			case c.say != "" && (!errors.Is(err, grant.ErrMalformed) || !strings.Contains(err.Error(), c.say)):
				t.Errorf("%s: %v, want it to say %q", c.name, err, c.say)
			}
		}
	})
}

// site serves one key.
type site struct {
	key   ed25519.PrivateKey
	edit  func(path string, body []byte) []byte
	roots []string // that came with requests
	more  []jose.JSONWebKey
}

func (s *site) Get(_ context.Context, req grant.Request) (grant.Response, error) {
	body := []byte(fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, url, url+"/keys"))
	s.roots = append(s.roots, string(req.Roots))
	path := strings.TrimPrefix(req.URL, url)
	if path == "/keys" {
		keys := append([]jose.JSONWebKey{{Key: s.key.Public(), KeyID: "key-1"}}, s.more...)
		body = []byte(encode(jose.JSONWebKeySet{Keys: keys}))
	}
	if s.edit != nil {
		body = s.edit(path, body)
	}
	return grant.Response{Status: 200, Body: body}, nil
}

func claims(g grant.Grant, now time.Time) map[string]any {
	c := map[string]any{"iss": g.Issuer, "aud": []string{g.Audience}, "jti": g.UID, "iat": now.Unix(), "grant": g}
	if g.LeaseExpiry != nil {
		c["exp"] = g.LeaseExpiry.Unix()
	}
	return c
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func sign(t *testing.T, key ed25519.PrivateKey, kid string, typ jose.ContentType, payload any) string {
	t.Helper()
	return signWith(t, jose.EdDSA, key, kid, typ, payload)
}

func signWith(t *testing.T, algorithm jose.SignatureAlgorithm, key any, kid string, typ jose.ContentType, payload any) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, (&jose.SignerOptions{}).WithType(typ))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign([]byte(encode(payload)))
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func mustIssue(t *testing.T, i *issuer.Issuer, pod issuer.Pod) string {
	t.Helper()
	token, err := i.Issue(pod)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestRefreshRefusesWhatIsWrong(t *testing.T) {
	replace := func(path, from, to string) func(string, []byte) []byte {
		return func(p string, body []byte) []byte {
			if p != path {
				return body
			}
			return []byte(strings.ReplaceAll(string(body), from, to))
		}
	}
	const discovery = "/.well-known/openid-configuration"
	for _, c := range []struct {
		name string
		edit func(string, []byte) []byte
		want string
	}{
		{"nothing", nil, ""},
		{"the issuer with a slash", replace(discovery, `"issuer":"`+url, `"issuer":"`+url+`/`), ""},
		{"another issuer", replace(discovery, `"issuer":"https`, `"issuer":"https://x`), "another issuer"},
		{"keys by plain http", replace(discovery, `"jwks_uri":"https`, `"jwks_uri":"http`), "no https URL"},
		{"no JSON", replace(discovery, "{", "<"), "not the JSON"},
		{"no keys", replace("/keys", `"keys":`, `"others":`), "there is none"},
		{"a key that nobody understands", replace("/keys", `"kty":"OKP"`, `"kty":"PQ"`), "there is none"},
		{"a key without a name", replace("/keys", `"kid":"key-1"`, `"kid":""`), "there is none"},
		{"more than anybody reads", func(string, []byte) []byte { return make([]byte, 1<<20+1) }, "larger than"},
	} {
		inTime(t, func(ctx context.Context, clk clock.Clock) {
			web := &site{key: ed25519.NewKeyFromSeed(make([]byte, 32)), edit: c.edit}
			err := grant.NewCache(grant.CacheConfig{Issuer: url, Web: web, Clock: clk}).Refresh(ctx)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		})
	}
}

// TestRootsAreReadForEachRequest, because they may be replaced as the token is.
func TestRootsAreReadForEachRequest(t *testing.T) {
	errGone := errors.New("the file is gone")
	inTime(t, func(ctx context.Context, clk clock.Clock) {
		n := 0
		web := &site{key: ed25519.NewKeyFromSeed(make([]byte, 32))}
		keys := grant.NewCache(grant.CacheConfig{Issuer: url, Web: web, Clock: clk, Roots: func(context.Context) ([]byte, error) {
			if n++; n > 4 {
				return nil, errGone
			}
			return fmt.Append(nil, n), nil
		}})
		for range 2 {
			if err := keys.Refresh(ctx); err != nil {
				t.Error(err)
			}
		}
		if err := keys.Refresh(ctx); !errors.Is(err, errGone) {
			t.Errorf("without roots: %v", err)
		}
		if d := cmp.Diff([]string{"1", "2", "3", "4"}, web.roots); d != "" {
			t.Errorf("roots (-want +got):\n%s", d)
		}
	})
}

// TestKeysThatAreOld: a key that is not known is asked for, once a minute at most. Keys
// that nobody could read for too long tell nothing.
func TestKeysThatAreOld(t *testing.T) {
	pod := issuer.Pod{Name: "grant-0", UID: "uid-1"}
	inTime(t, func(ctx context.Context, clk clock.Clock) {
		i := issuer.New(issuer.Config{URL: url, Clock: clk})
		keys := grant.NewCache(grant.CacheConfig{Issuer: url, Web: i, Clock: clk, MaxStale: 10 * time.Minute})
		v := &grant.Verifier{Issuer: url, Audience: pod.Name, Keys: keys}
		verify := func(when string, want error) {
			t.Helper()
			if _, err := v.Verify(ctx, secret.New([]byte(mustIssue(t, i, pod)))); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", when, err, want)
			}
		}
		wait := func(d time.Duration) {
			if err := clk.Sleep(ctx, d); err != nil {
				t.Error(err)
			}
		}
		down := issuer.Behaviour{Path: "/.well-known/openid-configuration", Status: 503, Times: issuer.Always}
		i.Behave(down)
		verify("before there are keys", grant.ErrUnverifiable)
		i.BehaveWell()
		verify("a moment later", grant.ErrUnverifiable) // it has asked just now
		wait(time.Minute)
		verify("a minute later", nil)
		i.RotateKey()
		verify("with a new key", grant.ErrForged)
		wait(time.Minute)
		verify("with a new key, a minute later", nil)
		i.Behave(down)
		wait(10*time.Minute - time.Second)
		verify("with keys that are old", nil)
		wait(2 * time.Second)
		verify("with keys that are too old", grant.ErrUnverifiable)
		i.BehaveWell()
		if err := keys.Refresh(ctx); err != nil {
			t.Error(err)
		}
		verify("with keys read again", nil)
	})
}
