package encryption

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/seedbed-sim/seedbed/fakes/kms/envelope"
)

// Value is what is stored of one version of an object instead of the object in clear.
// It does not change. Where a Value is expected, nil is an object in clear.
//
// A Value remembers what it was sealed with, by a fingerprint, so that whoever has the
// same key need not open it really to know that he can. All others try.
type Value struct {
	data   []byte
	by     SealedBy
	path   string
	key    fingerprint
	digest [sha256.Size]byte // of the text

	stored    *envelope.Stored // of a KMS provider
	storedErr error
}

// fingerprint tells keys from each other without giving them away. Zero is none.
type fingerprint = [sha256.Size]byte

// SealedBy says by what a value can be opened.
type SealedBy struct {
	// Provider is aescbc, aesgcm, secretbox or kms; empty for what is in clear.
	Provider string

	// Key is the name of the key, or of the KMS provider.
	Key string

	// KEK is the id of the KMS plugin's key.
	KEK string
}

// Clear reports whether the value is stored in clear.
func (s SealedBy) Clear() bool { return s.Provider == "" }

// String returns what is stored in front of the sealed bytes, with the KEK.
func (s SealedBy) String() string {
	switch {
	case s.Clear():
		return "clear"
	case s.KEK != "":
		return s.Provider + ":" + s.Key + ":" + s.KEK
	default:
		return s.Provider + ":" + s.Key
	}
}

// Bytes returns what is stored. Nobody may change it.
func (v *Value) Bytes() []byte { return v.data }

// SealedBy says by what the value can be opened. It is read from the bytes, without
// any key.
func (v *Value) SealedBy() SealedBy {
	if v == nil {
		return SealedBy{}
	}
	return v.by
}

// Parse returns stored bytes as a value; nil if they are in clear.
func Parse(data []byte) *Value {
	rest, ok := bytes.CutPrefix(data, []byte(sealedPrefix))
	if !ok {
		return nil
	}
	v := &Value{data: data}
	provider, rest, _ := bytes.Cut(rest, []byte(":"))
	_, rest, _ = bytes.Cut(rest, []byte(":")) // the version of the format
	key, rest, _ := bytes.Cut(rest, []byte(":"))
	v.by = SealedBy{Provider: string(provider), Key: string(key)}
	if v.by.Provider == providerKMS {
		if v.stored, v.storedErr = envelope.Decode(rest); v.storedErr == nil {
			v.by.KEK = v.stored.KeyID()
		}
	}
	return v
}

const sealedPrefix = "k8s:enc:"

// Names of providers, as they stand in prefixes.
const (
	providerCBC       = "aescbc"
	providerGCM       = "aesgcm"
	providerSecretbox = "secretbox"
	providerKMS       = "kms"
)

// prefixOf is how values of a provider begin.
func prefixOf(provider string) string { return sealedPrefix + provider + ":v1:" }

func (v *Value) hasPrefix(prefix string) bool {
	return len(v.data) >= len(prefix) && strings.HasPrefix(string(v.data[:len(prefix)]), prefix)
}
