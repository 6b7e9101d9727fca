package gossipkeys_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// strictRing is the real keyring, which complains about every change that could
// hurt a reader.
type strictRing struct {
	*memberlist.Keyring
	t       *testing.T
	known   gossipkeys.Keys // on the ring when the call under test began
	want    gossipkeys.Keys
	changes int
	fail    func(verb string, key []byte) error
}

func newRing(t testing.TB, letters string) *memberlist.Keyring {
	t.Helper()
	raw := keys(letters).Bytes()
	ring, err := memberlist.NewKeyring(raw, raw[0])
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func ringLetters(ring gossipkeys.Keyring) string {
	var out []byte
	for _, k := range ring.GetKeys() {
		out = append(out, k[0])
	}
	return string(out)
}

func (r *strictRing) change(verb string, key []byte, effect func([]byte) error) error {
	r.t.Helper()
	if r.fail != nil {
		if err := r.fail(verb, key); err != nil {
			return err
		}
	}
	before := ringLetters(r)
	if err := effect(key); err != nil {
		r.t.Errorf("%s %c on %s: %v", verb, key[0], before, err)
		return err
	}
	r.changes++
	held := r.GetKeys()
	if len(held) == 0 {
		r.t.Fatalf("%s %c emptied the ring", verb, key[0])
	}
	for _, k := range r.want {
		if r.known.Contains(k) && !slices.ContainsFunc(held, func(h []byte) bool { return bytes.Equal(h, k.Bytes()) }) {
			r.t.Errorf("%s %c: a key on both lists went missing from the ring: %s", verb, key[0], ringLetters(r))
		}
	}
	// The primary is what the node writes with. It is the new one, or one that
	// every peer of the previous list knows.
	primary := held[0]
	isNew := bytes.Equal(primary, r.want[0].Bytes())
	wasKnown := slices.ContainsFunc(r.known, func(k gossipkeys.Key) bool { return bytes.Equal(k.Bytes(), primary) })
	if !isNew && !wasKnown {
		r.t.Errorf("%s %c made a key primary that is not even the new one: %s", verb, key[0], ringLetters(r))
	}
	return nil
}

func (r *strictRing) AddKey(key []byte) error { return r.change("add", key, r.Keyring.AddKey) }
func (r *strictRing) UseKey(key []byte) error { return r.change("use", key, r.Keyring.UseKey) }

func (r *strictRing) RemoveKey(key []byte) error {
	held := r.GetKeys()
	if !bytes.Equal(held[len(held)-1], key) {
		r.t.Errorf("removes %c, which is not the last of %s", key[0], ringLetters(r))
	}
	return r.change("remove", key, r.Keyring.RemoveKey)
}

// lists returns every ordered choice of at least one of the letters.
func lists(from string) []string {
	var all []string
	var grow func(prefix, rest string)
	grow = func(prefix, rest string) {
		if prefix != "" {
			all = append(all, prefix)
		}
		for i := range rest {
			grow(prefix+rest[i:i+1], rest[:i]+rest[i+1:])
		}
	}
	grow("", from)
	return all
}

// Section 7.1 and invariant 12, for every list to every list over four keys.
func TestApplyKeysFromEveryListToEveryList(t *testing.T) {
	all := lists("ABCD")
	for _, from := range all {
		for _, to := range all {
			ring := &strictRing{Keyring: newRing(t, from), t: t, known: keys(from), want: keys(to)}
			if err := gossipkeys.ApplyKeys(ring, keys(to)); err != nil {
				t.Fatalf("%s to %s: %v", from, to, err)
			}
			got := ringLetters(ring)
			if got[0] != to[0] || sorted(got) != sorted(to) {
				t.Fatalf("%s to %s gave %s", from, to, got)
			}
			if from == to && ring.changes != 0 {
				t.Fatalf("%s to itself made %d changes", from, ring.changes)
			}
			if t.Failed() {
				t.Fatalf("on the way from %s to %s", from, to)
			}
		}
	}
	t.Logf("%d pairs", len(all)*len(all))
}

func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

func TestApplyKeysRepeatedKeysCountOnce(t *testing.T) {
	ring := newRing(t, "A")
	if err := gossipkeys.ApplyKeys(ring, keys("BABBA")); err != nil || ringLetters(ring) != "BA" {
		t.Errorf("got %s, %v", ringLetters(ring), err)
	}
}

func TestApplyKeysOnEmptyRing(t *testing.T) {
	ring, err := memberlist.NewKeyring(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := gossipkeys.ApplyKeys(ring, keys("AB")); err != nil || ringLetters(ring) != "AB" {
		t.Errorf("got %s, %v", ringLetters(ring), err)
	}
}

func TestApplyKeysRefuses(t *testing.T) {
	ring := newRing(t, "A")
	if err := gossipkeys.ApplyKeys(ring, nil); !errors.Is(err, gossipkeys.ErrNoKeys) {
		t.Errorf("no keys: %v", err)
	}
	if err := gossipkeys.ApplyKeys(ring, gossipkeys.Keys{key('B'), {}}); err == nil {
		t.Error("the zero key is none")
	}
	if got := ringLetters(ring); got != "A" {
		t.Errorf("a refusal changed the ring to %s", got)
	}
}

// A call that fails half-way leaves a ring with a primary, and another call
// carries on from there.
func TestApplyKeysFailsAtEveryPoint(t *testing.T) {
	broken := errors.New("broken")
	for failAt := 0; ; failAt++ {
		ring := &strictRing{Keyring: newRing(t, "ABCD"), t: t, known: keys("ABCD"), want: keys("EDF")}
		n := 0
		ring.fail = func(string, []byte) error {
			n++
			if n == failAt+1 {
				return broken
			}
			return nil
		}
		err := gossipkeys.ApplyKeys(ring, keys("EDF"))
		if err == nil {
			t.Logf("%d points", failAt)
			return
		}
		if !errors.Is(err, broken) || leaks(err.Error(), 'E')+leaks(err.Error(), 'A') != "" {
			t.Fatalf("point %d: %v", failAt, err)
		}
		if err := gossipkeys.ApplyKeys(ring, keys("EDF")); err != nil || ringLetters(ring) != "EDF" {
			t.Fatalf("after a failure at point %d: %s, %v", failAt, ringLetters(ring), err)
		}
	}
}

// deafRing says yes to everything and does nothing.
type deafRing struct{ held [][]byte }

func (deafRing) AddKey([]byte) error    { return nil }
func (deafRing) UseKey([]byte) error    { return nil }
func (deafRing) RemoveKey([]byte) error { return nil }
func (d deafRing) GetKeys() [][]byte    { return d.held }
func TestApplyKeysEndsOnADeafRing(t *testing.T) {
	if err := gossipkeys.ApplyKeys(deafRing{keys("AB").Bytes()}, keys("C")); err == nil {
		t.Error("no error")
	}
}

func TestModes(t *testing.T) {
	for mode, want := range map[gossipkeys.Mode]string{"": "BAC", gossipkeys.WholeList: "BAC", gossipkeys.HardSwap: "B"} {
		if got := letters(mode.Ring(keys("BABC"))); got != want {
			t.Errorf("mode %q: ring %s, want %s", mode, got, want)
		}
		if got := mode.Ring(nil); len(got) != 0 {
			t.Errorf("mode %q makes %v of nothing", mode, got)
		}
	}
}

func TestRingFingerprints(t *testing.T) {
	got := gossipkeys.RingFingerprints(newRing(t, "BA"))
	if want := keys("BA").Fingerprints(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Why only the tail: the reader below goes through the slice that GetKeys gave
// it, without a lock, as memberlist does while it decrypts. Under -race this
// fails at once if a middle key is removed; and without it, a key that is on
// every list would go missing for a reader now and then.
func TestReadersGoOnDuringApply(t *testing.T) {
	ring := newRing(t, "ABCD")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			constant := key('A').Bytes()
			for {
				select {
				case <-stop:
					return
				default:
				}
				found := false
				for _, k := range ring.GetKeys() {
					found = found || bytes.Equal(k, constant)
				}
				if !found {
					t.Error("a key that never left the lists is not on the ring")
					return
				}
			}
		})
	}
	ways := []string{"ABCD", "CA", "AD", "DBA", "A", "BCA", "CDA", "DA"}
	for i := range 4000 {
		if err := gossipkeys.ApplyKeys(ring, keys(ways[i%len(ways)])); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	readers.Wait()
}

func ExampleApplyKeys() {
	k1, k2 := key('A'), key('B')
	ring, _ := memberlist.NewKeyring(nil, k1.Bytes())
	for _, list := range []gossipkeys.Keys{{k1, k2}, {k2, k1}, {k2}} {
		if err := gossipkeys.ApplyKeys(ring, list); err != nil {
			fmt.Println(err)
		}
		fmt.Println(gossipkeys.RingFingerprints(ring))
	}
	// Output:
	// [22a48051 425ed4e4]
	// [425ed4e4 22a48051]
	// [425ed4e4]
}
