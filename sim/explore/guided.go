package explore

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Guided changes the choices of runs that have shown something new, and keeps those
// whose changes show something new again. What counts as new are edges and near misses,
// and, with less weight, states. One run of four begins afresh.
//
// A change leaves everything before it as it was: from some choice of one stream on, or
// from some scheduling decision on, the run is drawn anew; or one fault strikes that did
// not, or does not that did.
func Guided(strategies []Strategy, survey Survey, seeds Seeds) *GuidedSearch {
	return &GuidedSearch{strategies: strategies, survey: survey, seeds: seeds}
}

// GuidedSearch is the search that coverage guides.
type GuidedSearch struct {
	strategies []Strategy
	survey     Survey
	seeds      Seeds

	number uint64
	asked  []*breed
	edges  []*breed // have shown new edges, in order of time
	states []*breed // have shown new states; the latest of them
}

// statesKept is how many runs are kept that have shown nothing new but states.
const statesKept = 256

// breed is a run as where it came from and what was changed, and the choices that it
// came to have.
type breed struct {
	seed      uint64
	strategy  Strategy
	changes   []change
	streams   []drawn // in the order of their first choice
	decisions uint64
}

// drawn is a stream of a run.
type drawn struct {
	label string
	count uint64
	rare  bool // it says whether something strikes
}

// change is a place from which on a stream is drawn anew, or at which a fault strikes or
// not. The schedule has no label.
type change struct {
	label string
	from  uint64
	seed  uint64
	flip  bool
}

// dice is a sequence of numbers that depend on nothing but where it began.
type dice uint64

func (d *dice) below(n int) int {
	*d = dice(engine.Mix(uint64(*d), 1))
	return int(uint64(*d) % uint64(n))
}

// Next implements Search.
func (g *GuidedSearch) Next(n int) []Run {
	g.asked = g.asked[:0]
	var runs []Run
	for len(runs) < n && (g.seeds.Count == 0 || g.number < g.seeds.Count) {
		number := g.number
		g.number++
		if !g.seeds.Shard.has(number) {
			continue
		}
		b := g.breed(g.seeds.First + number)
		g.asked = append(g.asked, b)
		runs = append(runs, b.strategy.run(g.seeds.First+number, guided, func() engine.Source { return newGuidedSource(b, g.survey) }))
	}
	return runs
}

// breed makes a run out of one that is kept, or a fresh one.
func (g *GuidedSearch) breed(seed uint64) *breed {
	d := dice(engine.Mix(seed, 2))
	kept := g.edges
	if len(g.states) > 0 && (len(kept) == 0 || d.below(3) == 0) {
		kept = g.states
	}
	if len(kept) == 0 || d.below(4) == 0 {
		return &breed{seed: seed, strategy: g.strategies[d.below(len(g.strategies))]}
	}
	parent := kept[max(d.below(len(kept)), d.below(len(kept)))] // rather a late one
	b := &breed{seed: parent.seed, strategy: parent.strategy, changes: append([]change(nil), parent.changes...)}
	for range 1 + d.below(3) {
		b.changes = append(b.changes, parent.change(&d))
	}
	return b
}

// change draws a place of the run and what to do there.
func (b *breed) change(d *dice) change {
	seed := engine.Mix(uint64(*d), 3)
	if len(b.streams) == 0 || b.decisions > 0 && d.below(8) == 0 {
		return change{from: uint64(d.below(int(b.decisions) + 1)), seed: seed}
	}
	s := b.streams[d.below(len(b.streams))]
	return change{label: s.label, from: uint64(d.below(int(s.count))), seed: seed, flip: s.rare && d.below(2) == 0}
}

// Learn implements Search.
func (g *GuidedSearch) Learn(seen []Seen) {
	for i, s := range seen {
		switch b := g.asked[i]; {
		case s.NewEdges > 0:
			g.edges = append(g.edges, b)
		case s.NewStates > 0:
			if len(g.states) == statesKept {
				g.states = g.states[1:]
			}
			g.states = append(g.states, b)
		}
	}
}

// Covered implements Reporter.
func (g *GuidedSearch) Covered() string {
	return fmt.Sprintf("guided: %d runs kept that have shown new edges or near misses", len(g.edges))
}

// guidedSource makes the choices of a breed and notes its streams.
type guidedSource struct {
	engine.Source
	breed    *breed
	schedule engine.Strategy
}

func newGuidedSource(b *breed, survey Survey) *guidedSource {
	schedule := b.strategy.schedule(survey)
	return &guidedSource{Source: engine.NewSeedWith(b.seed, schedule), breed: b, schedule: schedule}
}

// Begin implements engine.Source.
func (s *guidedSource) Begin() {
	s.breed.streams, s.breed.decisions = nil, 0
	s.Source.Begin()
}

// Next implements engine.Source.
func (s *guidedSource) Next(c *engine.Contention) int {
	for _, x := range s.breed.changes {
		if x.label == "" && x.from == s.breed.decisions {
			s.schedule.Begin(x.seed)
		}
	}
	s.breed.decisions++
	return s.Source.Next(c)
}

// guidedStream is one stream with its changes.
type guidedStream struct {
	engine.Chooser
	source  *guidedSource
	label   string
	place   int // in breed.streams, once it was asked
	changes []change
}

// Stream implements engine.Source.
func (s *guidedSource) Stream(label string) engine.Chooser {
	g := &guidedStream{Chooser: s.Source.Stream(label), source: s, label: label, place: -1}
	for _, x := range s.breed.changes {
		if x.label == label {
			g.changes = append(g.changes, x)
		}
	}
	return g
}

// Choose implements engine.Chooser.
func (g *guidedStream) Choose(c engine.Choice) uint64 {
	b := g.source.breed
	if g.place < 0 {
		g.place = len(b.streams)
		b.streams = append(b.streams, drawn{label: g.label, rare: c.Shape == engine.Rare})
	}
	b.streams[g.place].count++
	flip := false
	for _, x := range g.changes {
		switch {
		case x.from != c.Nth:
		case x.flip:
			flip = !flip
		default:
			g.Chooser = engine.NewSeed(x.seed).Stream(g.label)
		}
	}
	v := g.Chooser.Choose(c)
	if flip && c.Shape == engine.Rare {
		v = 1 - v
	}
	return v
}
