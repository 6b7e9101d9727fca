package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Keyring is what a node reads at every message: the primary encrypts, each of
// the keys may decrypt, tried in order. [*Ring] and *memberlist.Keyring both
// satisfy it.
type Keyring interface {
	GetKeys() [][]byte
	GetPrimaryKey() []byte
}

// Ring behaves as memberlist.Keyring of v0.7.0 does, call by call:
//
//	NewRing(nil, nil)    an empty ring: encryption off
//	NewRing(keys, p)     p goes first whether or not it is listed; duplicates
//	                     collapse; keys without p are an error
//	AddKey(k)            appends; nothing if present; the first key of an empty
//	                     ring becomes its primary
//	UseKey(k)            moves k to the front, the others keep their order; an
//	                     error if absent
//	RemoveKey(k)         an error if k is the primary; nothing if absent; panics
//	                     on an empty ring
//	GetKeys()            the ring's own slice, not a copy
//
// It is not safe for concurrent use: the model runs on one goroutine. The real
// ring is, and still has one race: RemoveKey shifts the surviving keys inside
// the slice that GetKeys has handed out, while memberlist reads it. Here that
// shift happens too, and [Ring.Shifts] counts it, so that a test can insist
// that only the last key is ever removed.
type Ring struct {
	keys   [][]byte
	shifts int
}

var (
	errEmptyPrimary  = errors.New("empty primary key not allowed")
	errKeySize       = errors.New("key size must be 16, 24 or 32 bytes")
	errNotInRing     = errors.New("requested key is not in the keyring")
	errRemovePrimary = errors.New("removing the primary key is not allowed")
)

// NewRing makes a ring of primary and keys, in this order.
func NewRing(keys [][]byte, primary []byte) (*Ring, error) {
	r := &Ring{}
	if len(keys) == 0 && len(primary) == 0 {
		return r, nil
	}
	if len(primary) == 0 {
		return nil, errEmptyPrimary
	}
	if err := r.AddKey(primary); err != nil {
		return nil, err
	}
	for _, k := range keys {
		if err := r.AddKey(k); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// ValidateKey refuses keys that are not 16, 24 or 32 bytes long.
func ValidateKey(key []byte) error {
	switch len(key) {
	case 16, 24, 32:
		return nil
	}
	return errKeySize
}

// AddKey installs key as the last one, unless it is there already.
func (r *Ring) AddKey(key []byte) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	if r.index(key) < 0 {
		r.keys = append(slices.Clip(r.keys), key)
	}
	return nil
}

// UseKey makes key the primary.
func (r *Ring) UseKey(key []byte) error {
	i := r.index(key)
	if i < 0 {
		return errNotInRing
	}
	moved := make([][]byte, 0, len(r.keys))
	moved = append(moved, key) // the caller's slice, as in the real ring
	moved = append(moved, r.keys[:i]...)
	r.keys = append(moved, r.keys[i+1:]...)
	return nil
}

// RemoveKey drops key, which must not be the primary. It panics on an empty
// ring, as the real one does.
func (r *Ring) RemoveKey(key []byte) error {
	if bytes.Equal(key, r.keys[0]) {
		return errRemovePrimary
	}
	i := r.index(key)
	if i < 0 {
		return nil
	}
	old := r.keys
	if i < len(old)-1 {
		r.shifts++
	}
	copy(old[i:], old[i+1:]) // seen by whoever still holds old
	r.keys = slices.Clone(old[:len(old)-1])
	return nil
}

// GetKeys returns the keys, the primary first. The slice is the ring's own.
func (r *Ring) GetKeys() [][]byte { return r.keys }

// GetPrimaryKey returns the first key, or nil if there is none.
func (r *Ring) GetPrimaryKey() []byte {
	if len(r.keys) == 0 {
		return nil
	}
	return r.keys[0]
}

// Shifts counts the removals so far that moved other keys under a reader: each
// would have been a data race on the real ring.
func (r *Ring) Shifts() int { return r.shifts }

// Format makes every verb of fmt print fingerprints instead of keys.
func (r *Ring) Format(f fmt.State, _ rune) {
	names := make([]string, len(r.keys))
	for i, k := range r.keys {
		names[i] = Fingerprint(k)
	}
	_, _ = io.WriteString(f, "ring["+strings.Join(names, " ")+"]")
}

func (r *Ring) index(key []byte) int {
	return slices.IndexFunc(r.keys, func(k []byte) bool { return bytes.Equal(k, key) })
}
