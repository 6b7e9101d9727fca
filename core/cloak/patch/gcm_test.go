package patch_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
)

// patched seals a text, changes the record in one piece, and opens it again.
func patched(s *session, number uint64, text []byte, changes []patch.Change) ([]byte, error) {
	record := s.seal(number, text)
	parts, err := patch.Locate(record, len(text), 0, s.version)
	if err != nil {
		return nil, err
	}
	entry, err := patch.NewEntry(s.key, record, 0, parts[0], changes)
	if err != nil {
		return nil, err
	}
	var ring patch.Ring
	if err := ring.Add(entry); err != nil {
		return nil, err
	}
	if out := ring.Apply(0, record); out.Mismatched != 0 {
		return nil, fmt.Errorf("%+v", out)
	}
	return s.open(number, record)
}

// replaced is the text that a receiver is to see.
func replaced(r *rand.Rand, text []byte, spans [][2]int) (want []byte, changes []patch.Change) {
	want = bytes.Clone(text)
	for _, s := range spans {
		value := make([]byte, s[1])
		fill(r, value)
		copy(want[s[0]:], value)
		changes = append(changes, change(text, s[0], value))
	}
	return want, changes
}

// Stage P3 of section 4: 100,000 random records, which the standard library opens.
func TestPatchedRecordsOpen(t *testing.T) {
	cases := 100_000
	if testing.Short() {
		cases = 2_000
	}
	r := rand.New(rand.NewPCG(6, 3))
	var s *session
	for i := range cases {
		if i%10 == 0 {
			s = newSession(t, r, []patch.Version{patch.TLS12, patch.TLS13}[r.IntN(2)])
		}
		n := 8 + r.IntN(300)
		if i%50 == 0 {
			n = 8 + r.IntN(patch.PlaintextMax-7)
		}
		text := make([]byte, n)
		fill(r, text)
		var spans [][2]int
		for at := r.IntN(n); at+8 <= n && len(spans) < patch.HitsMax; {
			length := 8 + r.IntN(min(128, n-at)-7)
			spans = append(spans, [2]int{at, length})
			at += length + r.IntN(40)
		}
		want, changes := replaced(r, text, spans)
		got, err := patched(s, r.Uint64(), text, changes)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("case %d, %#x, %d bytes, %v: %v", i, s.version, n, spans, err)
		}
	}
}

// The sizes that section 4 names for P1 to P3, in both versions.
func TestEdgesOfARecord(t *testing.T) {
	for _, tc := range []struct {
		row   string
		n     int
		spans [][2]int
	}{
		{"N = 1, the whole record is the secret", 8, [][2]int{{0, 8}}},
		{"N = 1 in TLS 1.2, full", 16, [][2]int{{0, 16}}},
		{"N = 1025 in TLS 1.3, at the start", 16384, [][2]int{{0, 128}}},
		{"N = 1025 in TLS 1.3, at the end", 16384, [][2]int{{16256, 128}}},
		{"the last block holds one byte", 17, [][2]int{{9, 8}}},
		{"the last block holds fifteen bytes", 15, [][2]int{{7, 8}}},
		{"across 9 blocks", 300, [][2]int{{15, 128}}},
		{"8 blocks exactly", 300, [][2]int{{16, 128}}},
		{"one block exactly", 64, [][2]int{{32, 16}}},
		{"across two blocks", 64, [][2]int{{28, 8}}},
		{"two in one block", 64, [][2]int{{32, 8}, {40, 8}}},
		{"two with one byte between", 64, [][2]int{{16, 8}, {25, 8}}},
		{"8 hits", 1200, [][2]int{{0, 128}, {130, 8}, {140, 9}, {200, 128}, {400, 16}, {500, 31}, {700, 64}, {1072, 128}}},
		{"nothing", 64, nil},
	} {
		for _, version := range []patch.Version{patch.TLS12, patch.TLS13} {
			r := rand.New(rand.NewPCG(1, 2))
			s := newSession(t, r, version)
			text := make([]byte, tc.n)
			fill(r, text)
			want, changes := replaced(r, text, tc.spans)
			if got, err := patched(s, 9, text, changes); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %#x: %v", tc.row, version, err)
			}
		}
	}
}

// Two Huffman codes may share a byte; each changes other bits of it.
func TestTwoChangesOfOneByte(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := newSession(t, r, patch.TLS13)
	text := make([]byte, 100)
	a := change(text, 10, []byte{1, 2, 3, 4, 5, 6, 7, 8, 0xf0})
	b := change(text, 18, []byte{0x0f, 1, 2, 3, 4, 5, 6, 7, 8})
	got, err := patched(s, 1, text, []patch.Change{b, a})
	want := bytes.Clone(text)
	copy(want[10:], []byte{1, 2, 3, 4, 5, 6, 7, 8, 0xff, 1, 2, 3, 4, 5, 6, 7, 8})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x, %v", got, err)
	}
	// Programs that swap range by range must not meet a byte twice.
	record := s.seal(1, text)
	parts, err := patch.Locate(record, len(text), 0, s.version)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := patch.NewEntry(s.key, record, 0, parts[0], []patch.Change{b, a})
	if err != nil || len(entry.Ranges) != 2 || len(entry.Ranges[0].Old) != 17 {
		t.Errorf("%+v, %v", entry.Ranges, err)
	}
}

// Section 3.7: nine hits are too many, and then none is patched.
func TestTooManyHits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := newSession(t, r, patch.TLS13)
	text := make([]byte, 200)
	var spans [][2]int
	for i := range patch.HitsMax + 1 {
		spans = append(spans, [2]int{20 * i, 8})
	}
	_, changes := replaced(r, text, spans)
	if _, err := patched(s, 1, text, changes); !errors.Is(err, patch.ErrTooMany) {
		t.Error(err)
	}
}

// The wrong hash key makes the receiver refuse the record: the test can fail.
func TestWrongHashKey(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := newSession(t, r, patch.TLS13)
	s.key.Lo ^= 1
	text := make([]byte, 64)
	_, changes := replaced(r, text, [][2]int{{3, 8}})
	if _, err := patched(s, 1, text, changes); err == nil {
		t.Error("the record opens")
	}
}
