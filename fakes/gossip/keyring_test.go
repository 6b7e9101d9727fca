package gossip

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// letters renders a ring of test keys: "12" is key 1 as primary, then key 2.
func letters(keys [][]byte) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprint(&b, k[0])
	}
	return b.String()
}

// TestRingCalls has one row per sentence of the table of keyring facts.
func TestRingCalls(t *testing.T) {
	k := testKey
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name string
		do   func(r *Ring) error
		ring []byte
		want string
		err  string
	}{
		{"add appends", func(r *Ring) error { return r.AddKey(k(3)) }, []byte{1, 2}, "123", ""},
		{"add of a present key does nothing", func(r *Ring) error { return r.AddKey(k(2)) }, []byte{1, 2, 3}, "123", ""},
		{"the first key becomes the primary", func(r *Ring) error { return r.AddKey(k(7)) }, nil, "7", ""},
		{"add validates the length", func(r *Ring) error { return r.AddKey(make([]byte, 31)) }, []byte{1}, "1", "key size must be 16, 24 or 32 bytes"},
		{"use moves to the front", func(r *Ring) error { return r.UseKey(k(3)) }, []byte{1, 2, 3}, "312", ""},
		{"use of the primary changes nothing", func(r *Ring) error { return r.UseKey(k(1)) }, []byte{1, 2}, "12", ""},
		{"use of an absent key is an error", func(r *Ring) error { return r.UseKey(k(9)) }, []byte{1, 2}, "12", "requested key is not in the keyring"},
		{"remove drops", func(r *Ring) error { return r.RemoveKey(k(2)) }, []byte{1, 2, 3}, "13", ""},
		{"remove of the primary is an error", func(r *Ring) error { return r.RemoveKey(k(1)) }, []byte{1, 2}, "12", "removing the primary key is not allowed"},
		{"remove of an absent key is fine", func(r *Ring) error { return r.RemoveKey(k(9)) }, []byte{1, 2}, "12", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := ringOf(tc.ring...)
			err := tc.do(r)
			if tc.err == "" {
				must(t, err)
			} else if err == nil || err.Error() != tc.err {
				t.Errorf("error %v, want %s", err, tc.err)
			}
			if got := letters(r.GetKeys()); got != tc.want {
				t.Errorf("ring is %s, want %s", got, tc.want)
			}
		})
	}
}

func TestRingConstruction(t *testing.T) {
	k := testKey
	for _, tc := range []struct {
		name    string
		keys    [][]byte
		primary []byte
		want    string
		err     string
	}{
		{"nothing is encryption off", nil, nil, "", ""},
		{"keys without a primary", [][]byte{k(1)}, nil, "", "empty primary key not allowed"},
		{"only a primary", nil, k(1), "1", ""},
		{"the primary goes first though listed last", [][]byte{k(1), k(2)}, k(2), "21", ""},
		{"the primary goes first though not listed", [][]byte{k(1)}, k(2), "21", ""},
		{"duplicates collapse", [][]byte{k(1), k(2), k(1)}, k(1), "12", ""},
		{"lengths may be mixed", [][]byte{k(1), make([]byte, 16), make([]byte, 24)}, k(1), "100", ""},
		{"a bad length", [][]byte{make([]byte, 5)}, k(1), "", "key size must be 16, 24 or 32 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := NewRing(tc.keys, tc.primary)
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := letters(r.GetKeys()); got != tc.want {
				t.Errorf("ring is %s, want %s", got, tc.want)
			}
			if got := r.GetPrimaryKey(); (got == nil) != (tc.want == "") {
				t.Errorf("primary is %v", got)
			}
		})
	}
}

func TestRemoveKeyPanicsOnAnEmptyRing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_ = (&Ring{}).RemoveKey(testKey(1))
}

// TestRemovalShiftsUnderReaders shows why only the last key may be removed.
func TestRemovalShiftsUnderReaders(t *testing.T) {
	r := ringOf(1, 2, 3)
	held := r.GetKeys()
	if err := r.RemoveKey(testKey(2)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("133", letters(held)); diff != "" {
		t.Errorf("a slice held across a removal (-want +got):\n%s", diff)
	}
	if r.Shifts() != 1 {
		t.Errorf("%d shifts, want 1", r.Shifts())
	}

	r = ringOf(1, 2, 3)
	held = r.GetKeys()
	if err := r.RemoveKey(testKey(3)); err != nil {
		t.Fatal(err)
	}
	if got := letters(held); got != "123" || r.Shifts() != 0 {
		t.Errorf("after removing the last key a reader sees %s (%d shifts)", got, r.Shifts())
	}
}

func TestPrintingShowsNoKeys(t *testing.T) {
	w := cluster(t, 2, func(name string) Config {
		cfg := LocalConfig(name)
		cfg.Keyring = ringOf('K', 'Q')
		return cfg
	})
	ring := w.nodes["a"].cfg.Keyring
	for _, v := range []any{ring, w.nodes["a"].cfg, w.nodes["a"], w.Cluster, w.Lab} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
			text := fmt.Sprintf(verb, v)
			if strings.Contains(text, "KKKK") || strings.Contains(text, "75 75 75") || strings.Contains(text, "4b4b4b") ||
				strings.Contains(text, "0x4b, 0x4b") {
				t.Errorf("%s of %T shows a key: %.200s", verb, v, text)
			}
		}
	}
	if got := fmt.Sprint(ring); got != "ring["+Fingerprint(testKey('K'))+" "+Fingerprint(testKey('Q'))+"]" {
		t.Errorf("a ring prints as %s", got)
	}
}
