package localkey

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/realmode/kms/protected"
)

// Bounds of a file.
const (
	fileMax = 1 << 20
	keySize = 32 // AES-256

	kind = "seedbed-kms-key/v1"
)

// file is the content of a key file.
type file struct {
	Kind    string `json:"kind"`
	Primary int    `json:"primary"` // the number of the version that seals
	Keys    []key  `json:"keys"`    // in the order of their numbers
}

type key struct {
	Version int       `json:"version"` // from 1
	Created time.Time `json:"created"`
	Key     []byte    `json:"key"`
}

// ErrMalformed says that a file is no key file.
var ErrMalformed = errors.New("it is no key file, as seedbed-kms init makes one")

// read reads a key file. Errors tell nothing of what is in it.
func read(name string) (*file, error) {
	data, err := protected.Read(name, fileMax)
	if err != nil {
		return nil, err
	}
	defer clear(data)
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrMalformed, err)
	}
	return f, nil
}

func parse(data []byte) (*file, error) {
	f := &file{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return nil, redacted(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows at its end")
	}
	return f, f.validate()
}

// redacted is an error without the content that errors of encoding/json quote.
func redacted(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is no JSON at byte %d", syntax.Offset)
	}
	return errors.New("a field is unknown or of another type")
}

func (f *file) validate() error {
	if f.Kind != kind {
		return fmt.Errorf("its kind is not %q", kind)
	}
	if len(f.Keys) == 0 {
		return errors.New("there is no key in it")
	}
	for i, k := range f.Keys {
		switch {
		case k.Version != i+1:
			return fmt.Errorf("version %d is where version %d should be", k.Version, i+1)
		case len(k.Key) != keySize:
			return fmt.Errorf("the key of version %d has %d bytes instead of %d", k.Version, len(k.Key), keySize)
		case bytes.Count(k.Key, k.Key[:1]) == keySize:
			return fmt.Errorf("the key of version %d is one byte over and over", k.Version)
		case slices.ContainsFunc(f.Keys[:i], k.same):
			return fmt.Errorf("the key of version %d was that of an earlier version", k.Version)
		}
	}
	if f.Primary < 1 || f.Primary > len(f.Keys) {
		return fmt.Errorf("its primary version %d is not in it", f.Primary)
	}
	return nil
}

// same reports whether another version has the same key.
func (k *key) same(other key) bool { return bytes.Equal(k.Key, other.Key) }

// wipe forgets the keys.
func (f *file) wipe() {
	for i := range f.Keys {
		clear(f.Keys[i].Key)
	}
}

// id is what a version is called. It tells nothing of the key.
func (k *key) id() (string, error) {
	print, err := hkdf.Key(sha256.New, k.Key, nil, "seedbed-kms: the name of a key", 8)
	if err != nil {
		return "", fmt.Errorf("name version %d: %w", k.Version, err)
	}
	return fmt.Sprintf("local-v%d-%s", k.Version, hex.EncodeToString(print)), nil
}
