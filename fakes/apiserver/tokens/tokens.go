package tokens

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// URL is who issues tokens, and the audience of those that are meant for the
	// API server.
	URL = "https://kubernetes.default.svc"

	// leeway is how far clocks may be apart.
	leeway = time.Minute

	halfLength = 32 // of a signature, in bytes
)

// Claims are what a token says.
type Claims struct {
	Audiences []string   `json:"aud"`
	Expiry    int64      `json:"exp"` // seconds since 1970, as all times here
	IssuedAt  int64      `json:"iat"`
	Issuer    string     `json:"iss"`
	ID        string     `json:"jti"`
	Private   Kubernetes `json:"kubernetes.io"`
	NotBefore int64      `json:"nbf"`
	Subject   string     `json:"sub"`
}

// Kubernetes are the claims about objects.
type Kubernetes struct {
	Namespace string `json:"namespace"`
	Node      *Ref   `json:"node,omitempty"`
	Pod       *Ref   `json:"pod,omitempty"`
	Secret    *Ref   `json:"secret,omitempty"`
	Account   Ref    `json:"serviceaccount"`

	// WarnAfter is when a token should have been renewed that is accepted for
	// longer, or zero.
	WarnAfter int64 `json:"warnafter,omitempty"`
}

// Ref names an object.
type Ref struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Issuer issues tokens and checks them. It is safe for concurrent use.
type Issuer struct {
	clock  clock.PassiveClock
	random func([]byte)
	key    func() *ecdsa.PrivateKey
}

// NewIssuer returns an issuer that fills its key, made when it is first needed,
// and nothing else from random.
func NewIssuer(c clock.PassiveClock, random func([]byte)) *Issuer {
	return &Issuer{clock: c, random: random, key: sync.OnceValue(func() *ecdsa.PrivateKey { return newKey(random) })}
}

func newKey(random func([]byte)) *ecdsa.PrivateKey {
	seed := make([]byte, halfLength)
	random(seed)
	for {
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed)
		if err == nil {
			return key
		}
		next := sha256.Sum256(seed) // zero, or beyond the order of the curve
		seed = next[:]
	}
}

// Issue completes the claims (issuer, times) and returns a token that is good for
// the given time.
func (i *Issuer) Issue(c Claims, lifetime time.Duration) (string, error) {
	now := i.clock.Now()
	c.Issuer, c.IssuedAt, c.NotBefore, c.Expiry = URL, now.Unix(), now.Unix(), now.Add(lifetime).Unix()
	key := i.key()
	id, err := keyID(&key.PublicKey)
	if err != nil {
		return "", err
	}
	header, err := json.Marshal(map[string]string{"alg": "ES256", "kid": id})
	if err != nil {
		return "", fmt.Errorf("encode the header of a token: %w", err)
	}
	payload, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode the claims of a token: %w", err)
	}
	signed := encode(header) + "." + encode(payload)
	signature, err := sign(key, signed)
	if err != nil {
		return "", err
	}
	return signed + "." + encode(signature), nil
}

// sign makes an ES256 signature.
func sign(key *ecdsa.PrivateKey, text string) ([]byte, error) {
	sum := sha256.Sum256([]byte(text))
	der, err := key.Sign(nil, sum[:], crypto.SHA256) // without randomness it is deterministic
	if err != nil {
		return nil, fmt.Errorf("sign a token: %w", err)
	}
	var halves struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &halves); err != nil {
		return nil, fmt.Errorf("sign a token: %w", err)
	}
	out := make([]byte, 2*halfLength)
	halves.R.FillBytes(out[:halfLength])
	halves.S.FillBytes(out[halfLength:])
	return out, nil
}

func keyID(key *ecdsa.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("encode the key of tokens: %w", err)
	}
	sum := sha256.Sum256(der)
	return encode(sum[:]), nil
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// Errors of Check. They never contain a token or a part of one.
var (
	// ErrForeign: it is no token of this issuer.
	ErrForeign = errors.New("invalid bearer token")

	ErrExpired     = errors.New("service account token has expired")
	ErrNotYetValid = errors.New("service account token is not valid yet")
)

// Check returns what a token says and for which of the given audiences it is good.
func (i *Issuer) Check(token string, audiences []string) (*Claims, []string, error) {
	signed, signature, _ := cutLast(token)
	header, payload, ok := strings.Cut(signed, ".")
	if !ok || header == "" {
		return nil, nil, ErrForeign
	}
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || len(sig) != 2*halfLength {
		return nil, nil, ErrForeign
	}
	sum := sha256.Sum256([]byte(signed))
	r, s := new(big.Int).SetBytes(sig[:halfLength]), new(big.Int).SetBytes(sig[halfLength:])
	if !ecdsa.Verify(&i.key().PublicKey, sum[:], r, s) {
		return nil, nil, ErrForeign
	}
	data, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil, nil, ErrForeign
	}
	c := &Claims{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, nil, ErrForeign
	}
	good := slices.DeleteFunc(slices.Clone(audiences), func(a string) bool { return !slices.Contains(c.Audiences, a) })
	if len(good) == 0 {
		return nil, nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", c.Audiences, audiences)
	}
	now := i.clock.Now()
	switch {
	case now.Add(-leeway).After(time.Unix(c.Expiry, 0)):
		return nil, nil, ErrExpired
	case now.Add(leeway).Before(time.Unix(c.NotBefore, 0)):
		return nil, nil, ErrNotYetValid
	}
	return c, good, nil
}

// cutLast cuts around the last dot.
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
