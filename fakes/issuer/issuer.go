package issuer

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/seedbed-sim/seedbed/core/home/grant"
)

// Clock is what the issuer needs of time; clock.Clock of core has it.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Config is what an Issuer is made of. All fields but Lease are required.
type Config struct {
	// URL is the issuer's, without a slash at the end.
	URL   string
	Clock Clock

	// Lease is how long grants are good for; zero means for ever.
	Lease time.Duration
}

// Pod is who a bearer token belongs to.
type Pod struct {
	Name, UID string

	// Expires is when the token does; zero means never.
	Expires time.Time
}

// Request is a request that came.
type Request struct {
	URL    string
	Bearer string
	At     time.Time
}

// Issuer is the controller. Its methods may be called from several goroutines.
type Issuer struct {
	cfg Config

	mu         sync.Mutex
	pods       map[string]Pod // by token
	behaviours []*Behaviour
	keys       int // how many there have been
	made       []ed25519.PrivateKey
	requests   []Request
	issued     int
}

var _ grant.Web = (*Issuer)(nil)

// New returns an issuer that trusts nobody.
func New(cfg Config) *Issuer {
	return &Issuer{cfg: cfg, pods: map[string]Pod{}, keys: 1}
}

// Trust makes the issuer know whose a bearer token is.
func (i *Issuer) Trust(bearer string, pod Pod) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pods[bearer] = pod
}

// Distrust makes the issuer refuse a bearer token, as when its Pod is gone.
func (i *Issuer) Distrust(bearer string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.pods, bearer)
}

// RotateKey signs with a new key from now on. The one before is still in the key set,
// those before that are not.
func (i *Issuer) RotateKey() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys++
}

// Requests returns the requests that came, in order.
func (i *Issuer) Requests() []Request {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]Request(nil), i.requests...)
}

// ErrUnreachable is the error for requests to other URLs than the issuer's.
var ErrUnreachable = errors.New("no such host")

const (
	grantPath     = "/v1/grant"
	discoveryPath = "/.well-known/openid-configuration"
	keysPath      = "/openid/v1/jwks"
)

// Get implements grant.Web.
func (i *Issuer) Get(ctx context.Context, req grant.Request) (grant.Response, error) {
	bearer := string(req.Bearer.Reveal())
	i.mu.Lock()
	i.requests = append(i.requests, Request{URL: req.URL, Bearer: bearer, At: i.cfg.Clock.Now()})
	i.mu.Unlock()
	resp, err := i.answer(ctx, req.URL, bearer)
	if err != nil {
		return grant.Response{}, err
	}
	resp.Body = resp.Body[:min(len(resp.Body), req.Limit)]
	return resp, nil
}

func (i *Issuer) answer(ctx context.Context, url, bearer string) (grant.Response, error) {
	path, ok := pathOf(i.cfg.URL, url)
	if !ok {
		return grant.Response{}, ErrUnreachable
	}
	b := i.behaviour(path)
	if err := b.delay(ctx, i.cfg.Clock); err != nil {
		return grant.Response{}, err
	}
	switch {
	case b.Err != nil:
		return grant.Response{}, b.Err
	case b.Status != 0:
		return grant.Response{Status: b.Status, RetryAfter: b.RetryAfter, Body: []byte("{}")}, nil
	}
	switch path {
	case discoveryPath:
		return document(map[string]any{"issuer": i.cfg.URL, "jwks_uri": i.cfg.URL + keysPath})
	case keysPath:
		return document(i.keySet())
	case grantPath:
		return i.grant(bearer, b)
	default:
		return grant.Response{Status: 404, Body: []byte("404 page not found")}, nil
	}
}

func pathOf(base, url string) (string, bool) {
	if len(url) < len(base) || url[:len(base)] != base {
		return "", false
	}
	return url[len(base):], true
}

func document(v any) (grant.Response, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return grant.Response{}, fmt.Errorf("encode a document of the issuer: %w", err)
	}
	return grant.Response{Status: 200, Body: body}, nil
}

func (i *Issuer) grant(bearer string, b Behaviour) (grant.Response, error) {
	now := i.cfg.Clock.Now()
	i.mu.Lock()
	pod, ok := i.pods[bearer]
	i.mu.Unlock()
	if !ok || !pod.Expires.IsZero() && !pod.Expires.After(now) {
		return grant.Response{Status: 401, Body: []byte(`{"error":"the token is not valid"}`)}, nil
	}
	token, err := i.mint(pod, now, b)
	if err != nil {
		return grant.Response{}, err
	}
	return grant.Response{Status: 200, Body: b.spoil(token)}, nil
}

// Issue returns a grant for a Pod as a request of it would get now.
func (i *Issuer) Issue(pod Pod) (string, error) {
	token, err := i.mint(pod, i.cfg.Clock.Now(), Behaviour{})
	return string(token), err
}

// mint signs a grant.
func (i *Issuer) mint(pod Pod, now time.Time, b Behaviour) ([]byte, error) {
	i.mu.Lock()
	i.issued++
	n, key := i.issued, i.keys
	i.mu.Unlock()
	uid := pod.UID
	if b.WrongUID {
		uid = "another-pod"
	}
	g := grant.Grant{
		UID: uid, Issuer: i.cfg.URL, Audience: pod.Name,
		TemplateDigest: "sha256:0123456789abcdef", Fibers: grant.Fibers{Max: 4, Warm: 1}, WBudgetBytes: 1 << 30,
	}
	claims := map[string]any{
		"iss": g.Issuer, "aud": []string{g.Audience}, "jti": g.UID, "iat": now.Unix(), "nonce": n, "grant": &g,
	}
	if lease := b.lease(i.cfg.Lease); lease != 0 {
		expires := now.Add(lease).Truncate(time.Second).UTC()
		g.LeaseExpiry = &expires
		claims["exp"] = expires.Unix()
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return nil, fmt.Errorf("encode the claims of a grant: %w", err)
	}
	kid := keyID(key)
	if b.WrongKey {
		kid = "another-key"
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: i.private(key), KeyID: kid}},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("make a signer of grants: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return nil, fmt.Errorf("sign a grant: %w", err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		return nil, fmt.Errorf("encode a grant: %w", err)
	}
	return []byte(token), nil
}

// keySet returns the public keys: the one that signs and the one before.
func (i *Issuer) keySet() jose.JSONWebKeySet {
	i.mu.Lock()
	newest := i.keys
	i.mu.Unlock()
	var set jose.JSONWebKeySet
	for n := max(newest-1, 1); n <= newest; n++ {
		set.Keys = append(set.Keys, jose.JSONWebKey{
			Key: i.private(n).Public(), KeyID: keyID(n), Algorithm: string(jose.EdDSA), Use: "sig",
		})
	}
	return set
}

func keyID(n int) string { return fmt.Sprintf("key-%d", n) }

// private returns the n-th key of the issuer, which depends on its URL and nothing else.
func (i *Issuer) private(n int) ed25519.PrivateKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.made) < n {
		seed := sha256.Sum256(fmt.Appendf(nil, "%s key %d", i.cfg.URL, len(i.made)+1))
		i.made = append(i.made, ed25519.NewKeyFromSeed(seed[:]))
	}
	return i.made[n-1]
}
