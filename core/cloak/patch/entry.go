package patch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/seedbed-sim/seedbed/core/secret"
)

// HitsMax is how many changes one record can have.
const HitsMax = 8

// ErrTooMany is what NewEntry wraps when a record would have more than HitsMax changes.
var ErrTooMany = errors.New("too many changes for one record")

// Change is a change of the text of a write: from byte At on by Delta, by exclusive or.
type Change struct {
	At    int
	Delta secret.Bytes
}

// Seq is a place in the sequence space of a TCP connection, which is a circle.
type Seq uint32

// Before reports whether s is before o, on the shorter way.
func (s Seq) Before(o Seq) bool { return int32(s-o) < 0 }

// Range is some bytes of a stream: those that were sent, and those that are to arrive.
// Who knows both and the placeholder knows the value, so one of them is hidden.
type Range struct {
	At  Seq
	Old []byte
	New secret.Bytes
}

// end is the place behind the range.
func (r *Range) end() Seq { return r.At + Seq(len(r.Old)) }

// Entry is all that changes in one record.
type Entry struct {
	Start, End Seq // of the record
	Ranges     []Range

	applied bool // at least one byte has left changed
	broken  bool // something else was there: the record leaves as it is
}

// NewEntry computes what changes in a record: h is the hash key of the connection, buf
// the buffer that the record was located in, and at the place of the buffer's first
// byte. The last range is the tag. Changes outside the part do not matter. An entry
// without ranges has nothing to change.
func NewEntry(h Element, buf []byte, at Seq, p Part, changes []Change) (*Entry, error) {
	e := &Entry{Start: at + Seq(p.At), End: at + Seq(p.At+p.Size())}
	pieces := within(p, changes)
	if len(pieces) > HitsMax {
		return nil, fmt.Errorf("%w: %d, %d are possible", ErrTooMany, len(pieces), HitsMax)
	}
	if len(pieces) == 0 {
		return e, nil
	}
	fresh := slices.Clone(buf[p.At : p.At+p.Size()])
	text := fresh[p.Cipher-p.At:]
	var sum Element
	for _, c := range pieces {
		for i, d := range c.delta {
			text[c.at+i] ^= d
		}
		sum = sum.Add(TagDelta(h, p.N, c.at, c.delta))
	}
	for i, d := range sum.Bytes() {
		text[p.N+i] ^= d
	}
	span := func(from, to int) {
		old := slices.Clone(buf[p.Cipher+from : p.Cipher+to])
		e.Ranges = append(e.Ranges, Range{at + Seq(p.Cipher+from), old, secret.New(text[from:to])})
	}
	for _, s := range merged(pieces) {
		span(s.from, s.to)
	}
	span(p.N, p.N+tag)
	return e, nil
}

// piece is a change in the text of one record.
type piece struct {
	at    int
	delta []byte
}

// within cuts changes down to what is in a part, in order.
func within(p Part, changes []Change) []piece {
	var pieces []piece
	for _, c := range changes {
		delta := c.Delta.Reveal()
		from, to := max(c.At, p.From), min(c.At+len(delta), p.From+p.Length)
		if from < to {
			pieces = append(pieces, piece{from - p.From, delta[from-c.At : to-c.At]})
		}
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(a.at, b.at) })
	return pieces
}

type extent struct{ from, to int }

// merged returns where pieces are, those that touch or overlap as one: each byte is in
// one range, or a comparison would fail on what the other has changed.
func merged(pieces []piece) []extent {
	var out []extent
	for _, p := range pieces {
		end := p.at + len(p.delta)
		if n := len(out); n > 0 && p.at <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, end)
			continue
		}
		out = append(out, extent{p.at, end})
	}
	return out
}
