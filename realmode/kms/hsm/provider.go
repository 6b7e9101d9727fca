//go:build cgo

package hsm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/miekg/pkcs11"

	"github.com/seedbed-sim/seedbed/realmode/kms"
)

// Sizes in bytes.
const (
	keySize   = 32
	nonceSize = 12
	tagSize   = 16
	blockSize = 16
	checkSize = 8 // of a check value
)

// provider is kms.Provider by a key in a token.
type provider struct {
	cfg Config

	mu       sync.Mutex
	token    *token // nil before the first call, and after one that failed
	versions map[string]found
	newest   string
}

// New returns a provider that has not opened its token yet.
func New(cfg Config) (kms.Provider, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &provider{cfg: cfg, versions: map[string]found{}}, nil
}

// Rotate makes a version of the key, the first one if there is none, and returns its id.
func Rotate(_ context.Context, cfg Config) (id string, err error) {
	if err := cfg.validate(); err != nil {
		return "", err
	}
	t, err := open(&cfg)
	if err != nil {
		return "", err
	}
	defer t.close()
	versions, err := t.keys(cfg.Key)
	if err != nil {
		return "", err
	}
	next := 1
	if n := len(versions); n > 0 {
		next = versions[n-1].number + 1
	}
	if err := t.make(cfg.Key, next); err != nil {
		return "", err
	}
	if versions, err = t.keys(cfg.Key); err != nil {
		return "", err
	}
	if n := len(versions); n == 0 || versions[n-1].number != next {
		return "", fmt.Errorf("version %d of the key %q was made and is not there", next, cfg.Key)
	}
	return name(t, &cfg, versions[len(versions)-1])
}

// name is the id of a version.
func name(t *token, cfg *Config, v found) (string, error) {
	// One block that means nothing; what becomes of it tells keys apart.
	block := []byte("seedbed-kms/name")[:blockSize]
	check, err := t.encrypt(pkcs11.NewMechanism(pkcs11.CKM_AES_ECB, nil), v.handle, block)
	if err != nil {
		return "", fmt.Errorf("name version %d of the key %q: %w", v.number, cfg.Key, err)
	}
	if len(check) < checkSize || bytes.Equal(check, block) {
		return "", fmt.Errorf("name version %d of the key %q: %w: the token does not encrypt", v.number, cfg.Key, kms.ErrUnavailable)
	}
	return fmt.Sprintf("pkcs11:%s:v%d-%s", cfg.Key, v.number, hex.EncodeToString(check[:checkSize])), nil
}

// Look implements kms.Provider. After a failure the token is opened anew.
func (p *provider) Look(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token == nil {
		t, err := open(&p.cfg)
		if err != nil {
			return "", err
		}
		p.token = t
	}
	if err := p.list(); err != nil {
		p.lose()
		return "", err
	}
	return p.newest, nil
}

// list finds all versions and their names. Handles may be others in each session.
func (p *provider) list() error {
	all, err := p.token.keys(p.cfg.Key)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%w: the token %q has no key with the label %q: make one with seedbed-kms pkcs11-rotate", kms.ErrUnknownKey, p.cfg.Token, p.cfg.Key)
	}
	versions, newest := make(map[string]found, len(all)), ""
	for _, v := range all {
		if newest, err = name(p.token, &p.cfg, v); err != nil {
			return err
		}
		versions[newest] = v
	}
	p.versions, p.newest = versions, newest
	return nil
}

// lose closes the token, so that it is opened anew.
func (p *provider) lose() {
	p.token.close()
	p.token = nil
}

// use calls f with a version, while nobody else uses the token.
func (p *provider) use(keyID string, f func(t *token, v found) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token == nil {
		return fmt.Errorf("%w: the token is not open", kms.ErrUnavailable)
	}
	v, ok := p.versions[keyID]
	if !ok {
		return fmt.Errorf("%w: %q is not in the token", kms.ErrUnknownKey, keyID)
	}
	err := f(p.token, v)
	if !errors.Is(err, kms.ErrUnavailable) {
		return err
	}
	// It may be the session that has failed, or what was asked: tokens have few words.
	if p.list() != nil {
		p.lose()
		return err
	}
	return fmt.Errorf("%w: %w", errAsked, err)
}

// errAsked says that a token refuses something and works otherwise.
var errAsked = errors.New("the token refuses it")

// bound ties a ciphertext to the version that made it, and to this use of the key.
func bound(keyID string) []byte { return []byte("seedbed-kms " + keyID) }

// Seal implements kms.Provider.
func (p *provider) Seal(_ context.Context, keyID string, text []byte) (sealed []byte, err error) {
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce) // does not fail
	err = p.use(keyID, func(t *token, v found) error {
		params := pkcs11.NewGCMParams(nonce, bound(keyID), tagSize*8)
		defer params.Free()
		sealed, err = t.encrypt(pkcs11.NewMechanism(pkcs11.CKM_AES_GCM, params), v.handle, text)
		if used := params.IV(); err == nil && !bytes.Equal(used, nonce) {
			nonce = used // of a token that takes its own
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(nonce, sealed), nil
}

// Open implements kms.Provider.
func (p *provider) Open(_ context.Context, keyID string, ciphertext []byte) (text []byte, err error) {
	if len(ciphertext) < nonceSize+tagSize {
		return nil, kms.ErrBroken
	}
	err = p.use(keyID, func(t *token, v found) error {
		params := pkcs11.NewGCMParams(ciphertext[:nonceSize], bound(keyID), tagSize*8)
		defer params.Free()
		text, err = t.decrypt(pkcs11.NewMechanism(pkcs11.CKM_AES_GCM, params), v.handle, ciphertext[nonceSize:])
		return err
	})
	if errors.Is(err, errAsked) {
		return nil, kms.ErrBroken
	}
	return text, err
}
