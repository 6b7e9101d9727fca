package explore

import (
	"strings"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Run is one run that a search wants to see.
type Run struct {
	Seed   uint64 // names the run
	Search string // which strategy or search it belongs to
	Swarm  bool   // it draws which faults of its profile it has

	// Plan, if not empty, says by its Profile whose Faults the run has in place of the
	// scenario's own.
	Plan   string
	Faults []cluster.Fault

	// Source makes the choices of the run; it may be called more than once.
	Source func() engine.Source
}

// Seen is what came of a run.
type Seen struct {
	Coverage *Coverage

	// What it has shown that no run before it has.
	NewEdges, NewStates int
}

// Search proposes runs.
type Search interface {
	// Next returns at most n runs that can be made side by side; none if there is
	// nothing left to do.
	Next(n int) []Run

	// Learn is told what came of the runs that Next has returned last, in order.
	Learn(seen []Seen)
}

// Reporter is a search that can say how much of what there is it has covered.
type Reporter interface {
	Covered() string
}

// New returns the search that a selection asks for. Several searches take turns.
func New(s Selection, survey Survey, seeds Seeds) Search {
	var all []Search
	if len(s.Strategies) > 0 {
		all = append(all, Random(s.Strategies, survey, seeds))
	}
	for _, p := range s.Plans {
		all = append(all, Systematic(p, seeds))
	}
	if s.Guided {
		strategies := s.Strategies
		if len(strategies) == 0 {
			strategies = s.mix()
		}
		all = append(all, Guided(strategies, survey, seeds))
	}
	if s.Depth > 0 {
		all = append(all, Exhaustive(s.Depth, seeds.Shard))
	}
	return &turns{searches: all}
}

// turns lets several searches take turns.
type turns struct {
	searches []Search
	ended    []bool
	turn     int // whose turn it is
}

func (t *turns) Next(n int) []Run {
	if t.ended == nil {
		t.ended = make([]bool, len(t.searches))
	}
	for range t.searches {
		i := t.turn
		t.turn = (t.turn + 1) % len(t.searches)
		if t.ended[i] {
			continue
		}
		if runs := t.searches[i].Next(n); len(runs) > 0 {
			return runs
		}
		t.ended[i] = true
	}
	return nil
}

func (t *turns) Learn(seen []Seen) {
	last := (t.turn + len(t.searches) - 1) % len(t.searches)
	t.searches[last].Learn(seen)
}

// Covered says what each search has covered that can tell.
func (t *turns) Covered() string {
	var all []string
	for _, s := range t.searches {
		if r, ok := s.(Reporter); ok {
			all = append(all, r.Covered())
		}
	}
	return strings.Join(all, "; ")
}

// Shard is one of several parts of a search that are made apart: part Index, from 0, of
// Count.
type Shard struct{ Index, Count uint64 }

// has reports whether number n belongs to the part.
func (s Shard) has(n uint64) bool { return s.Count < 2 || n%s.Count == s.Index }

// Seeds are the seeds of a search.
type Seeds struct {
	First uint64
	Count uint64 // of all parts together; 0: no end
	Shard Shard
}

// Random makes one run per seed, with a strategy that the seed picks.
func Random(strategies []Strategy, survey Survey, seeds Seeds) Search {
	return &random{strategies: strategies, survey: survey, seeds: seeds}
}

type random struct {
	strategies []Strategy
	survey     Survey
	seeds      Seeds
	next       uint64
}

func (r *random) Next(n int) []Run {
	var runs []Run
	for len(runs) < n && (r.seeds.Count == 0 || r.next < r.seeds.Count) {
		number := r.next
		r.next++
		if !r.seeds.Shard.has(number) {
			continue
		}
		seed := r.seeds.First + number
		s := r.strategies[engine.Mix(seed, 0)%uint64(len(r.strategies))]
		runs = append(runs, s.run(seed, s.Name, func() engine.Source { return s.Source(seed, r.survey) }))
	}
	return runs
}

func (*random) Learn([]Seen) {}
