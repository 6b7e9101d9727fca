package encryption

import (
	"crypto/sha256"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/kms/envelope"
)

// kmsProvider is a KMS v2 provider in a list of providers.
type kmsProvider struct {
	*envelope.Provider
	begin string
}

func newKMS(p *envelope.Provider) kmsProvider { return kmsProvider{p, envelope.Prefix(p.Name())} }

func (k kmsProvider) prefix() string { return k.begin }

func (k kmsProvider) read(path string, v *Value) (stale bool, took time.Duration, err error) {
	if v.storedErr != nil {
		return false, 0, v.storedErr
	}
	key, stale, took, err := k.Key(v.stored)
	if err != nil {
		return false, took, err
	}
	if key == v.key && path == v.path {
		return stale, took, nil
	}
	_, stale, again, err := k.Open(path, v.stored)
	return stale, took + again, err
}

func (k kmsProvider) open(path string, rest []byte) (text []byte, stale bool, took time.Duration, err error) {
	s, err := envelope.Decode(rest)
	if err != nil {
		return nil, false, 0, err
	}
	return k.Open(path, s)
}

func (k kmsProvider) seal(path string, text []byte) (*Value, error) {
	data, stored, err := k.Seal(path, text)
	if err != nil {
		return nil, err
	}
	return &Value{
		data: concat(k.begin, data), path: path, key: k.State().Fingerprint, digest: sha256.Sum256(text), stored: stored,
		by: SealedBy{Provider: providerKMS, Key: k.Name(), KEK: stored.KeyID()},
	}, nil
}
