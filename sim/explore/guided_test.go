package explore

import (
	"testing"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// climb is a program that gets a step further each time a rare fault strikes at just one
// of its many opportunities, and shows in its trace how far it got: five of five are one
// run of millions at random.
func climb(run Run, c *Coverage) (steps int) {
	const of = 5
	e := engine.New(engine.Config{Source: run.Source(), Observe: c.Observe})
	hits := e.Stream("fault/slip", "p")
	for n := range 100 {
		if hit := hits.Hit(50_000); n%20 == 7 && hit && steps == n/20 {
			steps++
			e.Emit(engine.Event{Kind: "api", Actor: "p", Verb: "update", Object: "steps/x", N: uint64(steps)})
		}
	}
	return min(steps, of)
}

// needed is how many runs a search makes until the program has climbed all steps, or
// limit.
func needed(s Search, limit int) int {
	all, n := NewMap(), 0
	for n < limit {
		var seen []Seen
		for _, run := range s.Next(32) {
			c := NewCoverage()
			if n++; climb(run, c) == 5 {
				return n
			}
			edges, states := all.Add(c)
			seen = append(seen, Seen{Coverage: c, NewEdges: edges, NewStates: states})
		}
		s.Learn(seen)
	}
	return limit
}

// Coverage takes a search step by step to where chance alone hardly ever gets.
func TestGuidedSearchClimbs(t *testing.T) {
	const limit = 20_000
	found := 0
	for first := range uint64(5) {
		n := needed(Guided(Mix(), Survey{}, Seeds{First: first * limit}), limit)
		t.Logf("%d runs", n)
		if n < limit {
			found++
		}
	}
	if found < 4 {
		t.Errorf("%d of 5 searches find it in %d runs", found, limit)
	}
	if n := needed(Random(Mix(), Survey{}, Seeds{}), limit); n < limit {
		t.Errorf("chance finds it in %d runs: the test shows nothing", n)
	}
}
