package envelope

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	kmstypes "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2"
)

// Sizes in bytes: of a seed, of what a key is derived with, of a key and of a nonce.
const (
	seedSize  = 32
	infoSize  = 32
	keySize   = 32
	nonceSize = 12
)

// seed is what objects are sealed and opened with: a seed from which a key for each
// object is derived, or, in what old servers have stored, the key itself.
type seed struct {
	secret      []byte
	derives     bool
	fingerprint Fingerprint
}

// Fingerprint tells secrets from each other without giving them away.
type Fingerprint [sha256.Size]byte

func newSeed(secret []byte, derives bool) (*seed, error) {
	switch {
	case derives && len(secret) < seedSize:
		return nil, fmt.Errorf("invalid seed length %d used for key generation", len(secret))
	case !derives:
		if _, err := aes.NewCipher(secret); err != nil {
			return nil, err
		}
	}
	kind := "kms key"
	if derives {
		kind = "kms seed"
	}
	return &seed{secret: secret, derives: derives, fingerprint: sha256.Sum256(append([]byte(kind), secret...))}, nil
}

var errShort = errors.New("the stored data was shorter than the required size")

// open opens what was sealed as the value at path.
func (s *seed) open(path string, data []byte) ([]byte, error) {
	key := s.secret
	if s.derives {
		if len(data) < infoSize {
			return nil, errShort
		}
		derived, err := hkdf.Expand(sha256.New, s.secret, string(data[:infoSize]), keySize)
		if err != nil {
			return nil, fmt.Errorf("failed to derive read key from KDF: %w", err)
		}
		key, data = derived, data[infoSize:]
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	if len(data) < nonceSize {
		return nil, errShort
	}
	return aead.Open(nil, data[:nonceSize], data[nonceSize:], []byte(path))
}

// seal seals text as the value at path.
func (s *seed) seal(random io.Reader, path string, text []byte) ([]byte, error) {
	head := make([]byte, infoSize+nonceSize, infoSize+nonceSize+len(text)+16)
	if _, err := io.ReadFull(random, head); err != nil {
		return nil, fmt.Errorf("failed to generate info for KDF: %w", err)
	}
	key, err := hkdf.Expand(sha256.New, s.secret, string(head[:infoSize]), keySize)
	if err != nil {
		return nil, fmt.Errorf("failed to derive write key from KDF: %w", err)
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return aead.Seal(head, head[infoSize:], text, []byte(path)), nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// sourceKey is what a decrypted seed is remembered by: everything that was sent to
// have it decrypted.
func sourceKey(o *kmstypes.EncryptedObject) [sha256.Size]byte {
	h := sha256.New()
	part := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	part([]byte{byte(o.EncryptedDEKSourceType)})
	part(o.EncryptedDEKSource)
	part([]byte(o.KeyID))
	for _, k := range sortedKeys(o.Annotations) {
		part([]byte(k))
		part(o.Annotations[k])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
