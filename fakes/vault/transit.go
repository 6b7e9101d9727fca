package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// key is one of the transit engine.
type key struct {
	versions   []version // of number 1 and on
	minDecrypt int
	derived    bool
}

type version struct {
	aead    cipher.AEAD
	created time.Time
}

// CreateKey makes a key of type aes256-gcm96, or one that is derived from a context.
func (v *Vault) CreateKey(name string, derived bool) {
	v.set(func() {
		v.keys[name] = &key{minDecrypt: 1, derived: derived}
		v.rotate(name)
	})
}

// Rotate adds a version to a key.
func (v *Vault) Rotate(name string) { v.set(func() { v.rotate(name) }) }

// DeleteKey deletes a key with all that it has sealed.
func (v *Vault) DeleteKey(name string) { v.set(func() { delete(v.keys, name) }) }

// SetMinDecryptionVersion lets a key open nothing older.
func (v *Vault) SetMinDecryptionVersion(name string, n int) {
	v.set(func() { v.keys[name].minDecrypt = n })
}

// Forget takes the newest version of a key away, as a restored backup does.
func (v *Vault) Forget(name string) {
	v.set(func() { v.keys[name].versions = v.keys[name].versions[:len(v.keys[name].versions)-1] })
}

func (v *Vault) rotate(name string) {
	material := make([]byte, 32)
	if _, err := io.ReadFull(v.cfg.Entropy, material); err != nil {
		panic(err) // tests hand in what does not end
	}
	block, err := aes.NewCipher(material)
	if err != nil {
		panic(err) // the key has a legal size
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	k := v.keys[name]
	k.versions = append(k.versions, version{aead, v.cfg.Clock.Now()})
}

// transit handles requests to the engine.
func (v *Vault) transit(method, path string, body map[string]any) (any, error) {
	rest, ok := strings.CutPrefix(path, v.cfg.Mount+"/")
	operation, name, _ := strings.Cut(rest, "/")
	k := v.keys[name]
	switch {
	case !ok || operation != "keys" && operation != "encrypt" && operation != "decrypt":
		return nil, fail(http.StatusNotFound, "no handler for route \""+path+"\". route entry not found.")
	case (method == http.MethodGet) != (operation == "keys"):
		return nil, fail(http.StatusMethodNotAllowed, "1 error occurred:\n\t* unsupported operation\n\n")
	case k == nil && operation == "keys":
		return nil, fail(http.StatusNotFound)
	case k == nil:
		return nil, fail(http.StatusBadRequest, "encryption key not found")
	case operation == "keys":
		return k.describe(name), nil
	case k.derived:
		return nil, fail(http.StatusBadRequest, "missing 'context' for key derivation; the key was created using a derived key, which means additional, per-request information must be included in order to perform operations with the key")
	case operation == "encrypt":
		return k.encrypt(body, v.cfg.Entropy)
	default:
		return k.decrypt(body)
	}
}

func (k *key) describe(name string) any {
	created := map[string]int64{}
	for i, v := range k.versions {
		if i+1 >= k.minDecrypt {
			created[strconv.Itoa(i+1)] = v.created.Unix()
		}
	}
	return map[string]any{"data": map[string]any{
		"name": name, "type": "aes256-gcm96", "latest_version": len(k.versions), "min_decryption_version": k.minDecrypt, "min_encryption_version": 0,
		"derived": k.derived, "exportable": false, "deletion_allowed": false, "keys": created,
		"supports_encryption": true, "supports_decryption": true, "supports_signing": false, "supports_derivation": true,
	}}
}

func (k *key) encrypt(body map[string]any, entropy io.Reader) (any, error) {
	encoded, ok := body["plaintext"].(string)
	text, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil {
		return nil, fail(http.StatusBadRequest, "failed to base64-decode plaintext")
	}
	n := len(k.versions)
	if asked, ok := body["key_version"].(float64); ok && asked != 0 {
		n = int(asked)
	}
	if n < 1 || n > len(k.versions) {
		return nil, fail(http.StatusBadRequest, "requested version for encryption is higher than the latest key version")
	}
	nonce := make([]byte, 12)
	if _, err := io.ReadFull(entropy, nonce); err != nil {
		return nil, fail(http.StatusInternalServerError, "1 error occurred:\n\t* internal error\n\n")
	}
	sealed := k.versions[n-1].aead.Seal(slices.Clone(nonce), nonce, text, nil)
	return map[string]any{"data": map[string]any{"ciphertext": fmt.Sprintf("vault:v%d:%s", n, base64.StdEncoding.EncodeToString(sealed)), "key_version": n}}, nil
}

func (k *key) decrypt(body map[string]any) (any, error) {
	ciphertext, _ := body["ciphertext"].(string)
	rest, ok := strings.CutPrefix(ciphertext, "vault:v")
	if !ok {
		return nil, fail(http.StatusBadRequest, "invalid ciphertext: no prefix")
	}
	number, encoded, ok := strings.Cut(rest, ":")
	n, err := strconv.Atoi(number)
	switch {
	case !ok:
		return nil, fail(http.StatusBadRequest, "invalid ciphertext: wrong number of fields")
	case err != nil:
		return nil, fail(http.StatusBadRequest, "invalid ciphertext: version number could not be decoded")
	case n < 1 || n > len(k.versions):
		return nil, fail(http.StatusBadRequest, "invalid ciphertext: version is too new")
	case n < k.minDecrypt:
		return nil, fail(http.StatusBadRequest, "ciphertext or signature version is disallowed by policy (too old)")
	}
	sealed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "invalid ciphertext: could not decode base64")
	}
	if len(sealed) < 12 {
		return nil, fail(http.StatusBadRequest, "invalid ciphertext length")
	}
	text, err := k.versions[n-1].aead.Open(nil, sealed[:12], sealed[12:], nil)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "cipher: message authentication failed")
	}
	return map[string]any{"data": map[string]any{"plaintext": base64.StdEncoding.EncodeToString(text)}}, nil
}
