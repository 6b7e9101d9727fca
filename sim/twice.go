package sim

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// NondeterminismError says that one seed gave two different runs: something in
// the code under test, or in the simulator, is decided outside the simulation.
type NondeterminismError struct {
	Seed          uint64
	First, Second uint64 // hashes; equal if only contents of objects differ
	Steps         uint64 // of the first run
	Write         string // the first write that differs, in words, or empty

	// Place is where two runs part, if that was looked for and seen.
	Place *Divergence
}

// Error says what differs and names the usual suspects.
func (e *NondeterminismError) Error() string {
	what := fmt.Sprintf("hashes %016x and %016x", e.First, e.Second)
	switch {
	case e.Write == "":
	case e.First == e.Second:
		what = e.Write
	default:
		what += "; " + e.Write
	}
	place := causeUnknown
	if e.Place != nil {
		place = e.Place.String()
	}
	return fmt.Sprintf("seed %d gave two different runs (%s): %s", e.Seed, what, place)
}

// VerifySeed is RunSeed, twice: the result's error is a *NondeterminismError if
// the runs differ, be it only in what they have stored.
func VerifySeed(o Options, seed uint64, build Build) *Result {
	o = o.withDefaults()
	return o.twice(seed, build)
}

func (o *Options) twice(seed uint64, build Build) *Result {
	h := how{source: engine.NewSeed(seed), seed: seed, digest: true}
	r := once(o, build, h)
	again := once(o, build, h)
	write := firstDifference(r.written, again.written)
	if again.Hash != r.Hash || write != "" {
		r.Err = &NondeterminismError{Seed: seed, First: r.Hash, Second: again.Hash, Steps: r.Steps, Write: write, Place: o.part(build, h)}
	}
	r.written = nil
	return r
}

// part repeats a run until two repetitions part, to see where. It returns nil if they
// happen not to.
func (o *Options) part(build Build, h how) *Divergence {
	h.trace = engine.TraceFull
	before := once(o, build, h).Records
	for range partTries {
		next := once(o, build, h).Records
		if d := Diverge(before, next); d != nil {
			return d
		}
		before = next
	}
	return nil
}

// partTries is how often a run is repeated to see two that differ: a map of two entries
// comes in the same order every other time.
const partTries = 10

// firstDifference says in words at which write two runs part.
func firstDifference(a, b []cluster.Write) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("write %d, %s, was made only the second time", i+1, writeText(b[i]))
		case i >= len(b):
			return fmt.Sprintf("write %d, %s, was made only the first time", i+1, writeText(a[i]))
		case a[i] == b[i]:
			continue
		}
		first, second := writeText(a[i]), writeText(b[i])
		if first != second {
			return fmt.Sprintf("write %d was %s and then %s", i+1, first, second)
		}
		return fmt.Sprintf("write %d, %s, stored different content", i+1, first)
	}
	return ""
}

func writeText(w cluster.Write) string {
	who := w.Actor
	if who == "" {
		who = "the script"
	}
	return fmt.Sprintf("%s of %s by %s", w.Verb, w.Key, who)
}
