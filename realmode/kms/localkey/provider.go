package localkey

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"sync"

	"github.com/seedbed-sim/seedbed/realmode/kms"
)

// Provider is kms.Provider by the versions in a file.
type Provider struct {
	name string

	mu    sync.RWMutex
	ids   []string               // in the order of their numbers
	keys  map[string]cipher.AEAD // by id; never fewer than there were
	seals int                    // index of the primary; -1 before the file was read
}

var _ kms.Provider = (*Provider)(nil)

// New returns a provider that has not read its file yet.
func New(name string) *Provider {
	return &Provider{name: name, keys: map[string]cipher.AEAD{}, seals: -1}
}

// ErrOtherFile says that a file does not continue the one that was there before.
var ErrOtherFile = errors.New("versions are gone or changed that were in the key file before; they are kept while this process runs: bring the file back")

// Look implements kms.Provider. It reads the file: a file that does not continue the one
// before is not taken, and what is known stays in use.
func (p *Provider) Look(context.Context) (string, error) {
	f, err := read(p.name)
	if err != nil {
		return "", err
	}
	defer f.wipe()
	ids := make([]string, len(f.Keys))
	for i := range f.Keys {
		if ids[i], err = f.Keys[i].id(); err != nil {
			return "", err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, id := range p.ids {
		if i >= len(ids) || ids[i] != id {
			return "", fmt.Errorf("%s: %w", p.name, ErrOtherFile)
		}
	}
	if f.Primary-1 < p.seals {
		return "", fmt.Errorf("%s: version %d is the primary after version %d: %w", p.name, f.Primary, p.seals+1, kms.ErrWentBack)
	}
	for i := len(p.ids); i < len(ids); i++ {
		block, err := aes.NewCipher(f.Keys[i].Key)
		if err != nil {
			return "", fmt.Errorf("version %d: %w", i+1, err)
		}
		if p.keys[ids[i]], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return "", fmt.Errorf("version %d: %w", i+1, err)
		}
	}
	p.ids, p.seals = ids, f.Primary-1
	return ids[p.seals], nil
}

// bound ties a ciphertext to the version that made it, and to this use of the key.
func bound(keyID string) []byte { return []byte("seedbed-kms " + keyID) }

// Seal implements kms.Provider.
func (p *Provider) Seal(_ context.Context, keyID string, text []byte) ([]byte, error) {
	k, err := p.key(keyID)
	if err != nil {
		return nil, err
	}
	return k.Seal(nil, nil, text, bound(keyID)), nil
}

// Open implements kms.Provider.
func (p *Provider) Open(_ context.Context, keyID string, ciphertext []byte) ([]byte, error) {
	k, err := p.key(keyID)
	if err != nil {
		return nil, err
	}
	text, err := k.Open(nil, nil, ciphertext, bound(keyID))
	if err != nil {
		return nil, kms.ErrBroken // which says more than the error
	}
	return text, nil
}

func (p *Provider) key(id string) (cipher.AEAD, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if k := p.keys[id]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("%w: %q is not in the key file", kms.ErrUnknownKey, id)
}
