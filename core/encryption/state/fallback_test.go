package state_test

import (
	"testing"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
)

// TestFallBack: what a given-up key writes is written with the next older one, which all
// read with, and never with a newer one; as it is, if there is none.
func TestFallBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		write state.Key
		read  []state.Key
		want  uint64 // zero for none
		falls bool
	}{
		{"it is not given up", key(2), []state.Key{given(key(3)), key(2), key(1)}, 2, false},
		{"there is an older one", given(key(2)), []state.Key{key(3), given(key(2)), key(1), key(0)}, 1, true},
		{"that is given up too", given(key(3)), []state.Key{given(key(3)), given(key(2)), key(1)}, 1, true},
		{"there is none", given(key(2)), []state.Key{key(3), given(key(2))}, 0, true},
	} {
		s := state.State{{GroupResource: secrets, Write: &c.write, Read: c.read}}
		back, falls := s.FallBack()
		got := uint64(0)
		if back[0].HasWriteKey() {
			got = back[0].Write.ID
		}
		if got != c.want || falls != c.falls || ids(back[0].Read) != ids(c.read) || s[0].Write.ID != c.write.ID {
			t.Errorf("%s: key %d writes, %t, read are %s; want key %d, %t", c.name, got, falls, ids(back[0].Read), c.want, c.falls)
		}
	}
}

// TestWhatANewerKeyHadIsMigratedNoLonger where an older one writes: the newer was given up,
// and may be taken back.
func TestWhatANewerKeyHadIsMigratedNoLonger(t *testing.T) {
	writes := key(1, secrets)
	current := state.State{{GroupResource: secrets, Write: &writes, Read: []state.Key{key(2, secrets), writes}}}
	for id, want := range map[uint64]int{1: 0, 2: 1} {
		if migrated, _ := state.Outdated(key(id, secrets), current, current.Resources()); len(migrated) != want {
			t.Errorf("key %d forgets %v, want %d", id, migrated, want)
		}
	}
}
