package gossipkeys

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/seedbed-sim/seedbed/core/secret"
)

// GeneratedKeySize is the length in bytes of the keys GenerateKey makes; it
// selects AES-256.
const GeneratedKeySize = 32

// Key is one gossip key: 16, 24 or 32 secret bytes. It is immutable, so copies
// may be shared between goroutines.
//
// A Key shows only its fingerprint, whatever way it is printed, logged or
// compared in a test, and Bytes is the only way to its bytes. The zero Key is no
// key: it has no bytes and IsZero reports true.
type Key struct{ bytes secret.Bytes }

var errKeySize = errors.New("a key has 16, 24 or 32 bytes")

// NewKey copies b into a Key. The error says how many bytes b has, never which.
func NewKey(b []byte) (Key, error) {
	switch len(b) {
	case 16, 24, 32:
		return Key{secret.New(b)}, nil
	default:
		return Key{}, fmt.Errorf("%w, not %d", errKeySize, len(b))
	}
}

// GenerateKey reads GeneratedKeySize bytes of entropy. In production that is
// crypto/rand.Reader; the caller passes it because the simulator has its own.
// The returned keys are as different from each other as the entropy is.
func GenerateKey(entropy io.Reader) (Key, error) {
	b := make([]byte, GeneratedKeySize)
	if _, err := io.ReadFull(entropy, b); err != nil {
		return Key{}, fmt.Errorf("read entropy for a gossip key: %w", err)
	}
	return NewKey(b)
}

// Bytes returns a copy of the key's bytes, which the caller must not log.
func (k Key) Bytes() []byte { return k.bytes.Reveal() }

// IsZero reports whether k is the zero Key.
func (k Key) IsZero() bool { return k.bytes.Len() == 0 }

// Equal reports whether both keys have the same bytes.
func (k Key) Equal(other Key) bool { return k.bytes.Equal(other.bytes) }

// Fingerprint names the key for people and reports: see the function of the
// same name. It is "none" for the zero Key.
func (k Key) Fingerprint() string {
	if k.IsZero() {
		return "none"
	}
	return Fingerprint(k.Bytes())
}

// Fingerprint names a key without giving it away: the first 8 hex digits of its
// SHA-256. Two keys of one cluster share it with probability 2^-32, and the
// Rotator refuses to bring in a key that does.
func Fingerprint(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:4])
}

// Format makes every verb of fmt, %#v and %x included, print the fingerprint.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// String returns "key:" and the fingerprint.
func (k Key) String() string { return "key:" + k.Fingerprint() }

// GoString is String.
func (k Key) GoString() string { return k.String() }

// LogValue makes log/slog show the fingerprint.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalLog makes logr show the fingerprint.
func (k Key) MarshalLog() any { return k.String() }

// MarshalText makes encoders of JSON and YAML show the fingerprint. It is not
// an encoding of the key: FormatKeys is.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Keys is a key list in the order of the Secret: the first key is the primary,
// which encrypts; the others only decrypt.
type Keys []Key

// Equal reports whether both lists hold the same keys in the same order.
func (ks Keys) Equal(other Keys) bool { return slices.EqualFunc(ks, other, Key.Equal) }

// Contains reports whether k is in the list.
func (ks Keys) Contains(k Key) bool { return slices.ContainsFunc(ks, k.Equal) }

// Unique returns the list without the repetitions of a key, keeping each key's
// first place. A Secret may repeat a key; a ring holds it once.
func (ks Keys) Unique() Keys {
	unique := make(Keys, 0, len(ks))
	for _, k := range ks {
		if !unique.Contains(k) {
			unique = append(unique, k)
		}
	}
	return unique
}

// Bytes returns copies of the keys' bytes, in order, as memberlist takes them.
func (ks Keys) Bytes() [][]byte {
	raw := make([][]byte, len(ks))
	for i, k := range ks {
		raw[i] = k.Bytes()
	}
	return raw
}

// Fingerprints returns the fingerprints of the keys, in order.
func (ks Keys) Fingerprints() []string {
	names := make([]string, len(ks))
	for i, k := range ks {
		names[i] = k.Fingerprint()
	}
	return names
}
