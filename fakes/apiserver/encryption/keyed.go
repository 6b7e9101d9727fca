package encryption

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/apis/apiserver"
)

// keyed is a provider that has keys of its own: aescbc, aesgcm or secretbox.
type keyed struct {
	name   string
	keys   []namedKey
	random io.Reader
}

// namedKey is a key with the name that stands in front of what it seals.
type namedKey struct {
	prefix      string
	cipher      sealer
	fingerprint fingerprint
}

func (k *namedKey) name() string { return strings.TrimSuffix(k.prefix, ":") }

// sealer is a way to seal with one key. If it binds a value to its path, what is moved
// elsewhere cannot be opened there.
type sealer interface {
	seal(random io.Reader, path string, text []byte) ([]byte, error)
	open(path string, data []byte) ([]byte, error)
	binds() bool
}

// newKeyed makes a provider of keys that have been validated.
func newKeyed(name string, keys []apiserver.Key, random io.Reader, cipherOf func(key []byte) (sealer, error)) (*keyed, error) {
	k := &keyed{name: name, random: random}
	for _, key := range keys {
		secret, err := base64.StdEncoding.DecodeString(key.Secret)
		if err != nil {
			return nil, fmt.Errorf("could not obtain secret for named key %s: %w", key.Name, err)
		}
		c, err := cipherOf(secret)
		if err != nil {
			return nil, fmt.Errorf("error while creating cipher for named key %s: %w", key.Name, err)
		}
		k.keys = append(k.keys, namedKey{
			prefix: key.Name + ":", cipher: c, fingerprint: sha256.Sum256(append([]byte(name+":"), secret...)),
		})
	}
	return k, nil
}

func (k *keyed) prefix() string { return prefixOf(k.name) }

// each tries the keys whose name fits what comes after the prefix.
func (k *keyed) each(rest []byte, try func(*namedKey, []byte) error) (stale bool, err error) {
	var errs []error
	for i := range k.keys {
		key := &k.keys[i]
		if !bytes.HasPrefix(rest, []byte(key.prefix)) {
			continue
		}
		if err := try(key, rest[len(key.prefix):]); err != nil {
			errs = append(errs, err)
			continue
		}
		return i != 0, nil
	}
	if len(errs) > 0 {
		return false, utilerrors.Reduce(utilerrors.NewAggregate(errs))
	}
	if k.name == providerSecretbox {
		return false, errors.New("no matching key was found for the provided Secretbox transformer")
	}
	return false, errors.New("no matching key was found for the provided AES transformer")
}

// errGarbage says that a key opened what it has not sealed, and that what came out is no
// object. Who has no authentication of what is stored has that once in a while.
var errGarbage = errors.New("what was decrypted is no object")

// IsGarbage reports whether a value could be opened, but not be understood.
func IsGarbage(err error) bool { return errors.Is(err, errGarbage) }

func (k *keyed) read(path string, v *Value) (stale bool, took time.Duration, err error) {
	stale, err = k.each(v.data[len(k.prefix()):], func(key *namedKey, data []byte) error {
		if key.fingerprint == v.key && (v.path == path || !key.cipher.binds()) {
			return nil
		}
		text, err := key.cipher.open(path, data)
		if err == nil && v.digest != (fingerprint{}) && sha256.Sum256(text) != v.digest {
			err = errGarbage
		}
		return err
	})
	return stale, 0, err
}

func (k *keyed) open(path string, rest []byte) (text []byte, stale bool, took time.Duration, err error) {
	stale, err = k.each(rest, func(key *namedKey, data []byte) error {
		var err error
		text, err = key.cipher.open(path, data)
		return err
	})
	return text, stale, 0, err
}

func (k *keyed) seal(path string, text []byte) (*Value, error) {
	key := &k.keys[0]
	sealed, err := key.cipher.seal(k.random, path, text)
	if err != nil {
		return nil, err
	}
	return &Value{
		data: concat(k.prefix()+key.prefix, sealed), path: path, key: key.fingerprint, digest: sha256.Sum256(text),
		by: SealedBy{Provider: k.name, Key: key.name()},
	}, nil
}

func concat(prefix string, data []byte) []byte {
	out := make([]byte, 0, len(prefix)+len(data))
	return append(append(out, prefix...), data...)
}

var (
	errShort   = errors.New("the stored data was shorter than the required size")
	errBlocks  = errors.New("the stored data is not a multiple of the block size")
	errPKCS7   = errors.New("invalid PKCS7 data (empty or not padded)")
	errPadding = errors.New("invalid padding on input")
)

// gcm is AES-GCM with a random nonce in front.
type gcm struct{ aead cipher.AEAD }

func newGCM(key []byte) (sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return gcm{aead}, err
}

func (gcm) binds() bool { return true }

func (g gcm) seal(random io.Reader, path string, text []byte) ([]byte, error) {
	nonce := make([]byte, g.aead.NonceSize(), g.aead.NonceSize()+len(text)+g.aead.Overhead())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, fmt.Errorf("failed to write nonce for AES-GCM: %w", err)
	}
	return g.aead.Seal(nonce, nonce, text, []byte(path)), nil
}

func (g gcm) open(path string, data []byte) ([]byte, error) {
	n := g.aead.NonceSize()
	if len(data) < n {
		return nil, errShort
	}
	return g.aead.Open(nil, data[:n], data[n:], []byte(path))
}

// cbc is AES-CBC with PKCS #7 padding and a random vector in front. Nothing tells it a
// wrong key, but that the padding is seldom right then.
type cbc struct{ block cipher.Block }

func newCBC(key []byte) (sealer, error) {
	block, err := aes.NewCipher(key)
	return cbc{block}, err
}

func (cbc) binds() bool { return false }

func (c cbc) seal(random io.Reader, _ string, text []byte) ([]byte, error) {
	padding := aes.BlockSize - len(text)%aes.BlockSize
	out := make([]byte, aes.BlockSize+len(text)+padding)
	if _, err := io.ReadFull(random, out[:aes.BlockSize]); err != nil {
		return nil, errors.New("unable to read sufficient random bytes")
	}
	body := out[aes.BlockSize:]
	copy(body, text)
	for i := len(text); i < len(body); i++ {
		body[i] = byte(padding)
	}
	cipher.NewCBCEncrypter(c.block, out[:aes.BlockSize]).CryptBlocks(body, body)
	return out, nil
}

func (c cbc) open(_ string, data []byte) ([]byte, error) {
	if len(data) < aes.BlockSize {
		return nil, errShort
	}
	vector, data := data[:aes.BlockSize], data[aes.BlockSize:]
	switch {
	case len(data)%aes.BlockSize != 0:
		return nil, errBlocks
	case len(data) == 0:
		return nil, errPKCS7 // a real server panics here, and so ends
	}
	text := make([]byte, len(data))
	cipher.NewCBCDecrypter(c.block, vector).CryptBlocks(text, data)
	padding := int(text[len(text)-1])
	if padding == 0 || padding > len(text) {
		return nil, errPKCS7
	}
	for _, b := range text[len(text)-padding:] {
		if int(b) != padding {
			return nil, errPadding
		}
	}
	return text[:len(text)-padding], nil
}
