package kms

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// Vault keeps keys, each in several versions, of which the newest seals. Its methods
// may be called from several tasks.
type Vault struct {
	mu      sync.Mutex
	current string
	keys    map[string]cipher.AEAD
	seals   uint64
	forgot  map[string]bool
}

// NewVault returns a vault with one version of a key, of that id.
func NewVault(keyID string) *Vault {
	v := &Vault{keys: map[string]cipher.AEAD{}, forgot: map[string]bool{}}
	v.Rotate(keyID)
	return v
}

// Rotate makes the version with that id the one that seals. It is made if there is
// none of that id; so a vault can go back to a version it had.
func (v *Vault) Rotate(keyID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys[keyID] == nil {
		key := sha256.Sum256([]byte("key of " + keyID))
		block, err := aes.NewCipher(key[:])
		if err != nil {
			panic(err) // the key has a legal size
		}
		if v.keys[keyID], err = cipher.NewGCM(block); err != nil {
			panic(err)
		}
	}
	v.current = keyID
}

// Forget takes a version away: what it has sealed cannot be opened any more.
func (v *Vault) Forget(keyID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forgot[keyID] = true
}

// Opens reports whether what was sealed with the version of that id can still be opened.
func (v *Vault) Opens(keyID string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err := v.key(keyID)
	return err == nil
}

// Remember brings a forgotten version back, as from a backup.
func (v *Vault) Remember(keyID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.forgot, keyID)
}

// Current is the id of the version that seals.
func (v *Vault) Current() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.current
}

var (
	errNoSuchKey = errors.New("no such key")
	errMalformed = errors.New("the ciphertext is malformed")
)

// seal seals text with the version of that id.
func (v *Vault) seal(keyID string, text []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key, err := v.key(keyID)
	if err != nil {
		return nil, err
	}
	v.seals++
	nonce := make([]byte, key.NonceSize())
	binary.BigEndian.PutUint64(nonce, v.seals)
	return key.Seal(nonce, nonce, text, nil), nil
}

// open opens what seal has sealed.
func (v *Vault) open(keyID string, sealed []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key, err := v.key(keyID)
	if err != nil {
		return nil, err
	}
	if len(sealed) < key.NonceSize() {
		return nil, errMalformed
	}
	text, err := key.Open(nil, sealed[:key.NonceSize()], sealed[key.NonceSize():], nil)
	if err != nil {
		return nil, fmt.Errorf("open with key %s: %w", keyID, err)
	}
	return text, nil
}

func (v *Vault) key(keyID string) (cipher.AEAD, error) {
	if v.keys[keyID] == nil || v.forgot[keyID] {
		return nil, fmt.Errorf("%w: %s", errNoSuchKey, keyID)
	}
	return v.keys[keyID], nil
}
