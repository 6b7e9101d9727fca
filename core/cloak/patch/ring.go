package patch

import (
	"bytes"
	"errors"
	"slices"
)

// RingMax is how many records of a connection can be under way.
const RingMax = 16

// ErrRingFull is what Add returns when too many records are not acknowledged yet.
var ErrRingFull = errors.New("too many records are under way")

// Ring holds the entries of one connection whose records have not been acknowledged.
// The zero Ring has none.
type Ring struct{ entries []*Entry }

// Len is the number of entries.
func (r *Ring) Len() int { return len(r.entries) }

// Add adds an entry. One for a record that is there already is dropped: a sender that
// could not write all of it comes with the same record again. One without changes is
// dropped as well.
func (r *Ring) Add(e *Entry) error {
	known := slices.ContainsFunc(r.entries, func(o *Entry) bool { return o.Start == e.Start })
	switch {
	case known || len(e.Ranges) == 0:
		return nil
	case len(r.entries) >= RingMax:
		return ErrRingFull
	}
	r.entries = append(r.entries, e)
	return nil
}

// Acked drops the entries of records that have been acknowledged whole: all before una
// has arrived.
func (r *Ring) Acked(una Seq) {
	r.entries = slices.DeleteFunc(r.entries, func(e *Entry) bool { return !una.Before(e.End) })
}

// Outcome is what Apply did.
type Outcome struct {
	Changed    int // bytes
	Mismatched int // records that were left as they are, for something else was there
}

// Apply changes a segment that leaves, whose first byte has the place at. Of each
// record, all of its ranges in the segment are compared first: only if each is as it
// was sent, or changed already, are they swapped. A record that once did not compare
// is left alone from then on, unless part of it has left changed.
func (r *Ring) Apply(at Seq, segment []byte) Outcome {
	var out Outcome
	for _, e := range r.entries {
		if e.broken {
			continue
		}
		cuts := e.cuts(at, segment)
		if slices.ContainsFunc(cuts, func(c cut) bool { return !c.compares() }) {
			e.broken = !e.applied
			out.Mismatched++
			continue
		}
		for _, c := range cuts {
			out.Changed += c.swap()
			e.applied = true
		}
	}
	return out
}

// cut is the part of a range that is in a segment.
type cut struct{ there, old, fresh []byte }

func (c cut) compares() bool { return bytes.Equal(c.there, c.old) || bytes.Equal(c.there, c.fresh) }

func (c cut) swap() (changed int) {
	for i := range c.there {
		if c.there[i] != c.fresh[i] {
			changed++
		}
	}
	copy(c.there, c.fresh)
	return changed
}

// cuts returns what of an entry is in a segment.
func (e *Entry) cuts(at Seq, segment []byte) []cut {
	var cuts []cut
	end := at + Seq(len(segment))
	for i := range e.Ranges {
		r := &e.Ranges[i]
		if !r.At.Before(end) || !at.Before(r.end()) {
			continue
		}
		from, to := r.At, r.end()
		if from.Before(at) {
			from = at
		}
		if end.Before(to) {
			to = end
		}
		fresh := r.New.Reveal()
		cuts = append(cuts, cut{segment[from-at : to-at], r.Old[from-r.At : to-r.At], fresh[from-r.At : to-r.At]})
	}
	return cuts
}
