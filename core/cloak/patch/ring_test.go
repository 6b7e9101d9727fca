package patch_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
)

// stream is a connection whose records have been sent, from a place in the sequence
// space on.
type stream struct {
	s       *session
	start   patch.Seq
	sent    []byte // as the sender has it: a retransmission sends this again
	texts   [][]byte
	records [][2]int // in sent
	ring    patch.Ring
}

// newStream sends n records, each with changes, whose ranges may lie around the end of
// the sequence space.
func newStream(t testing.TB, seed uint64, start patch.Seq, n int) *stream {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	st := &stream{s: newSession(t, r, []patch.Version{patch.TLS12, patch.TLS13}[r.IntN(2)]), start: start}
	for i := range n {
		text := make([]byte, 40+r.IntN(400))
		fill(r, text)
		want, changes := replaced(r, text, [][2]int{{r.IntN(10), 8 + r.IntN(8)}, {26, 8 + r.IntN(6)}})
		record := st.s.seal(uint64(i), text)
		parts, err := patch.Locate(record, len(text), 0, st.s.version)
		if err != nil {
			t.Fatal(err)
		}
		at := start + patch.Seq(len(st.sent))
		for range 2 { // a retry of the same write comes with the same record
			entry, err := patch.NewEntry(st.s.key, record, at, parts[0], changes)
			if err != nil {
				t.Fatal(err)
			}
			if err := st.ring.Add(entry); err != nil {
				t.Fatal(err)
			}
		}
		st.records = append(st.records, [2]int{len(st.sent), len(st.sent) + len(record)})
		st.sent = append(st.sent, record...)
		st.texts = append(st.texts, want)
	}
	return st
}

// leave lets bytes of the stream leave as one segment, and returns it.
func (st *stream) leave(from, to int) ([]byte, patch.Outcome) {
	segment := bytes.Clone(st.sent[from:to])
	out := st.ring.Apply(st.start+patch.Seq(from), segment)
	return segment, out
}

// received checks that a receiver reads all records, with the values in them.
func (st *stream) received(t interface{ Fatalf(string, ...any) }, all []byte) {
	for i, r := range st.records {
		got, err := st.s.open(uint64(i), all[r[0]:r[1]])
		if err != nil || !bytes.Equal(got, st.texts[i]) {
			t.Fatalf("record %d: %v", i, err)
		}
	}
}

// I5, I6, S32: however the stream is cut, lost, repeated and cut otherwise, and with
// acknowledgements within records, what arrives is what was to arrive; and of each byte
// only one version ever leaves.
func TestAnySegmentation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		starts := rapid.SampledFrom([]patch.Seq{0, 1 << 31, 1<<32 - 300, 1<<31 - 100, 12345})
		st := newStream(t, rapid.Uint64().Draw(rt, "seed"), starts.Draw(rt, "start"), rapid.IntRange(1, 6).Draw(rt, "records"))
		if st.ring.Len() != len(st.records) {
			rt.Fatalf("%d entries for %d records, each sent twice", st.ring.Len(), len(st.records))
		}
		n := len(st.sent)
		left, known := make([]byte, n), make([]bool, n)
		una := 0
		for una < n {
			from := rapid.IntRange(una, n-1).Draw(rt, "from")
			to := rapid.IntRange(from+1, min(n, from+200)).Draw(rt, "to")
			segment, out := st.leave(from, to)
			if out.Mismatched > 0 {
				rt.Fatalf("%+v", out)
			}
			for i, b := range segment {
				if known[from+i] && left[from+i] != b {
					rt.Fatalf("byte %d left as %x and as %x", from+i, left[from+i], b)
				}
				left[from+i], known[from+i] = b, true
			}
			if from == una {
				una = to
				st.ring.Acked(st.start + patch.Seq(una))
			}
		}
		st.received(rt, left)
		if st.ring.Len() != 0 {
			rt.Fatalf("%d entries are left of a stream that was acknowledged", st.ring.Len())
		}
	})
}

// Two programs on one interface, I14: what was changed already is left.
func TestApplyingTwice(t *testing.T) {
	st := newStream(t, 1, 100, 3)
	segment, first := st.leave(0, len(st.sent))
	again := bytes.Clone(segment)
	second := st.ring.Apply(st.start, again)
	if first.Changed == 0 || second != (patch.Outcome{}) || !bytes.Equal(again, segment) {
		t.Errorf("%+v, then %+v", first, second)
	}
	st.received(t, again)
}

// S29 and the foreign writer of section 3.2: what is not as it was sent stays as it is,
// the whole record, and so it stays.
func TestSomethingElseIsThere(t *testing.T) {
	st := newStream(t, 2, 0, 2)
	r := st.records[0]
	tampered := bytes.Clone(st.sent)
	tampered[r[1]-1] ^= 1 // in the tag
	want := bytes.Clone(tampered[:r[1]])
	out := st.ring.Apply(0, tampered)
	if out.Mismatched != 1 || out.Changed == 0 || !bytes.Equal(tampered[:r[1]], want) {
		t.Errorf("%+v, the record has changed: %t", out, !bytes.Equal(tampered[:r[1]], want))
	}
	if again, out := st.leave(r[0], r[1]); out.Changed != 0 || !bytes.Equal(again, st.sent[r[0]:r[1]]) {
		t.Errorf("a record that did not compare is changed later: %+v", out)
	}

	// The stream moved by what somebody else wrote.
	st = newStream(t, 3, 0, 1)
	moved := append([]byte("other"), st.sent...)
	want = bytes.Clone(moved)
	if out := st.ring.Apply(0, moved); out.Changed != 0 || !bytes.Equal(moved, want) {
		t.Errorf("a stream that moved was changed: %+v", out)
	}
}

// A segment that does not compare after part of the record has left changed is left
// alone, and the part that left changed stays so when it is sent again: I6.
func TestSomethingElseIsThereLater(t *testing.T) {
	st := newStream(t, 4, 0, 1)
	n := len(st.sent)
	first, _ := st.leave(0, n/2)
	tail := bytes.Clone(st.sent[n/2:])
	tail[len(tail)-1] ^= 1
	if out := st.ring.Apply(patch.Seq(n/2), tail); out.Mismatched != 1 {
		t.Errorf("%+v", out)
	}
	again, _ := st.leave(0, n/2)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("sent again it is another (-first +again):\n%s", diff)
	}
}

// S33: a ring that is full takes no record; it does again once some are acknowledged.
func TestRingFull(t *testing.T) {
	st := newStream(t, 5, 0, patch.RingMax)
	more := newStream(t, 6, patch.Seq(len(st.sent)), 1)
	parts, err := patch.Locate(more.sent, len(more.texts[0]), 0, more.s.version)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := patch.NewEntry(more.s.key, more.sent, more.start, parts[0], []patch.Change{change(make([]byte, 8), 0, []byte("12345678"))})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.ring.Add(entry); !errors.Is(err, patch.ErrRingFull) {
		t.Error(err)
	}
	st.ring.Acked(patch.Seq(st.records[0][1] - 1))
	if err := st.ring.Add(entry); !errors.Is(err, patch.ErrRingFull) {
		t.Errorf("a record that is not acknowledged whole has gone: %v", err)
	}
	st.ring.Acked(patch.Seq(st.records[0][1]))
	if err := st.ring.Add(entry); err != nil || st.ring.Len() != patch.RingMax {
		t.Error(err, st.ring.Len())
	}
}

// A hit across two records of one write changes both, section 3.5.
func TestAWriteOfTwoRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, version := range []patch.Version{patch.TLS12, patch.TLS13} {
		s := newSession(t, r, version)
		text := make([]byte, patch.PlaintextMax+500)
		fill(r, text)
		want, changes := replaced(r, text, [][2]int{{100, 20}, {patch.PlaintextMax - 5, 40}, {patch.PlaintextMax + 400, 100}})
		buf := join(s.seal(0, text[:patch.PlaintextMax]), s.seal(1, text[patch.PlaintextMax:]))
		parts, err := patch.Locate(buf, len(text), 0, version)
		if err != nil || len(parts) != 2 {
			t.Fatal(parts, err)
		}
		var ring patch.Ring
		for _, p := range parts {
			entry, err := patch.NewEntry(s.key, buf, 77, p, changes)
			if err != nil {
				t.Fatal(err)
			}
			if err := ring.Add(entry); err != nil {
				t.Fatal(err)
			}
		}
		ring.Apply(77, buf)
		var got []byte
		for i, p := range parts {
			piece, err := s.open(uint64(i), buf[p.At:p.At+p.Size()])
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, piece...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%#x: another text arrives", version)
		}
	}
}

// FuzzSegments lets the fuzzer cut and repeat a stream.
func FuzzSegments(f *testing.F) {
	f.Add(uint64(1), uint32(0), []byte{0, 0, 200, 0, 100, 255})
	f.Add(uint64(9), uint32(1<<32-100), []byte{0, 10, 90, 0, 50, 80, 1, 0, 255})
	f.Fuzz(func(t *testing.T, seed uint64, start uint32, cuts []byte) {
		st := newStream(t, seed, patch.Seq(start), 3)
		all, _ := st.leave(0, len(st.sent))
		st.received(t, all)
		for ; len(cuts) >= 3; cuts = cuts[3:] {
			from := (int(cuts[0])<<8 | int(cuts[1])) % len(st.sent)
			to := min(len(st.sent), from+int(cuts[2]))
			segment, out := st.leave(from, to)
			if out.Mismatched != 0 || !bytes.Equal(segment, all[from:to]) {
				t.Fatalf("%d to %d: %+v", from, to, out)
			}
		}
	})
}
