package gossipkeys

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// Mode says which part of a key list a ring is given.
type Mode string

const (
	// WholeList installs every key of the list: the first encrypts, the others
	// decrypt. It is the default and the only mode in which keys can be
	// rotated without splitting the cluster.
	WholeList Mode = "whole-list"

	// HardSwap installs the first key only, as upstream's agent does today.
	// Nodes that have swapped and nodes that have not cannot understand each
	// other: the cluster splits until the last one has. It is here because
	// that failure is worth simulating.
	HardSwap Mode = "hard-swap"
)

// Ring returns the keys a ring holds once want is applied in this mode: no key
// twice, the primary first.
func (m Mode) Ring(want Keys) Keys {
	ring := want.Unique()
	if m == HardSwap && len(ring) > 1 {
		ring = ring[:1]
	}
	return ring
}

// ErrNoKeys is returned by ApplyKeys for an empty list: a ring without keys
// would speak in clear.
var ErrNoKeys = errors.New("a ring needs at least one key")

// ApplyKeys makes a live ring hold the keys of want, with want[0] as primary,
// while the instance goes on reading the ring. Repeated keys count once. It
// changes nothing when the ring holds exactly the list already. Otherwise it
//
//  1. adds want[0] and makes it the primary: the node writes with the new
//     primary from here on, and can still read whatever it could read before;
//  2. removes what is not wanted, only ever the last key of the ring;
//  3. adds what is missing, at the tail.
//
// Removing from the tail is not a matter of taste. RemoveKey of memberlist
// moves the keys behind the removed one inside the very array that readers are
// going through, so removing any other key is a data race: a reader may miss a
// key that never left the ring. To get at an unwanted key that is not the last
// one, each wanted key behind it is moved to the front, where it is the primary
// for an instant; that is harmless, because it was on the ring before the call,
// so the peers know it.
//
// Secondary keys may end up in another order than in want, which only changes
// the order in which they are tried.
//
// There must be one caller at a time for one ring. After an error the ring has
// a primary and at least one of the keys, and another call carries on.
func ApplyKeys(ring Keyring, want Keys) error {
	if len(want) == 0 {
		return ErrNoKeys
	}
	if slices.ContainsFunc(want, Key.IsZero) {
		return fmt.Errorf("apply keys: %w", errKeySize)
	}
	raw := want.Unique().Bytes()
	if sameKeys(ring.GetKeys(), raw) {
		return nil
	}
	if err := ring.AddKey(raw[0]); err != nil {
		return fmt.Errorf("add primary key %s: %w", Fingerprint(raw[0]), err)
	}
	if err := ring.UseKey(raw[0]); err != nil {
		return fmt.Errorf("use primary key %s: %w", Fingerprint(raw[0]), err)
	}
	if err := removeUnwanted(ring, raw); err != nil {
		return err
	}
	for _, key := range raw[1:] {
		if err := ring.AddKey(key); err != nil {
			return fmt.Errorf("add key %s: %w", Fingerprint(key), err)
		}
	}
	return nil
}

// removeUnwanted removes from the tail every key that is not in want, whose
// first key is the primary of the ring.
func removeUnwanted(ring Keyring, want [][]byte) error {
	unwanted := func(key []byte) bool { return !holds(want, key) }

	// Each removal needs fewer moves to the front than the ring has keys.
	n := len(ring.GetKeys())
	for range n * n {
		keys := ring.GetKeys()
		if !slices.ContainsFunc(keys, unwanted) {
			return nil
		}
		last := keys[len(keys)-1]
		if unwanted(last) {
			if err := ring.RemoveKey(last); err != nil {
				return fmt.Errorf("remove key %s: %w", Fingerprint(last), err)
			}
			continue
		}
		for _, key := range [][]byte{last, want[0]} {
			if err := ring.UseKey(key); err != nil {
				return fmt.Errorf("move key %s: %w", Fingerprint(key), err)
			}
		}
	}
	return errors.New("ring keeps a key that was removed")
}

// RingFingerprints names the keys a ring holds, the primary first.
func RingFingerprints(ring Keyring) []string {
	keys := ring.GetKeys()
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = Fingerprint(key)
	}
	return names
}

func holds(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
}

func sameKeys(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }
