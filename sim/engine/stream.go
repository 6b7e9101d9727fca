package engine

import (
	"fmt"
	"time"
)

// Stream is one labelled sequence of choices. Streams are independent: one more
// draw in one stream leaves all others as they were.
type Stream struct {
	e       *Engine
	label   string
	nth     uint64
	chooser Chooser
}

// Stream returns the stream for a purpose ("delay", "fault/drop") and an entity
// ("node-1>api"). The same pair gives the same stream.
//
// Purposes that begin with "fault/" are faults: the shrinker removes them first.
func (e *Engine) Stream(purpose, entity string) *Stream {
	e.guard("Stream")
	label := purpose + "/" + entity
	s, ok := e.streams[label]
	if !ok {
		s = &Stream{e: e, label: label, chooser: e.source.Stream(label)}
		e.streams[label] = s
	}
	return s
}

// Label returns the name under which the picks of s are recorded.
func (s *Stream) Label() string { return s.label }

// Intn returns a number in [0, n). Outcomes are equally likely; 0 is where the
// shrinker goes. It panics if n < 1, and makes no choice if n is 1.
func (s *Stream) Intn(n int) int {
	if n < 1 {
		panic(fmt.Sprintf("engine: stream %s: Intn(%d): need at least one outcome", s.label, n))
	}
	return int(s.choose(uint64(n), Even, 0))
}

// Hit reports whether something with probability p happens. It makes no choice
// if p is 0.
func (s *Stream) Hit(p Prob) bool {
	if p == 0 {
		return false
	}
	return s.choose(2, Rare, uint64(p)) == 1
}

// Duration draws from d. Outcome d.Min is where the shrinker goes. It makes no
// choice if d is constant.
func (s *Stream) Duration(d Dist) time.Duration {
	span, shape, mean := d.shape()
	if span == 0 {
		return d.Min
	}
	return d.Min + time.Duration(s.choose(span+1, shape, mean))
}

func (s *Stream) choose(n uint64, shape Shape, arg uint64) uint64 {
	e := s.e
	e.guard("Stream")
	if n < 2 {
		return 0
	}
	c := Choice{Label: s.label, Nth: s.nth, N: n, Shape: shape, Arg: arg}
	s.nth++
	v := s.chooser.Choose(c)
	e.checkAbort()
	if v >= n {
		panic(fmt.Sprintf("engine: source answered %d to choice %s[%d] of %d outcomes", v, c.Label, c.Nth, n))
	}
	if v != 0 && e.recorder != nil {
		e.recorder.pick(c.Label, c.Nth, v)
	}
	return v
}

// Entropy is a sequence of random bytes for code under test: keys, uids, jitter.
// All of them derive from one choice at the start of the run, so they stay the
// same when other choices are shrunk. It implements [io.Reader].
type Entropy struct {
	e     *Engine
	state prng
}

// Entropy returns the sequence for an entity, such as a process. The same entity
// gives the same sequence, which goes on where it was.
func (e *Engine) Entropy(entity string) *Entropy {
	e.guard("Entropy")
	r, ok := e.entropies[entity]
	if !ok {
		r = &Entropy{e: e, state: derive(e.entropy, entity)}
		e.entropies[entity] = r
	}
	return r
}

// Uint64 returns the next 64 random bits.
func (r *Entropy) Uint64() uint64 {
	r.e.guard("Entropy")
	return r.state.next()
}

// Read fills b; it never fails. Each call starts at a fresh 64-bit word.
func (r *Entropy) Read(b []byte) (int, error) {
	r.e.guard("Entropy")
	for i := 0; i < len(b); i += 8 {
		x := r.state.next()
		for j := i; j < min(i+8, len(b)); j++ {
			b[j] = byte(x)
			x >>= 8
		}
	}
	return len(b), nil
}
