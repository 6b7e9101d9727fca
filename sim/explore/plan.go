package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Plan is a kind of trouble that is tried at every place where it could strike, one
// place per run, and nothing else goes wrong.
type Plan struct {
	Name    string
	Meaning string
	Faults  []cluster.Fault

	// Servers is how many API servers the plan needs at least.
	Servers int
}

// planned begins the name of a plan where a profile of faults could stand.
const planned = "plan:"

// Profile is how the faults of the plan are called in a replay file.
func (p Plan) Profile() string { return planned + p.Name }

// PlanOf returns the plan whose Profile that is.
func PlanOf(profile string) (Plan, bool) {
	name, ok := strings.CutPrefix(profile, planned)
	if !ok {
		return Plan{}, false
	}
	i := slices.IndexFunc(Plans(), func(p Plan) bool { return p.Name == name })
	if i < 0 {
		return Plan{}, false
	}
	return Plans()[i], true
}

// sideEffects are the verbs of requests that change something.
var sideEffects = []string{
	"create", "update", "patch", "delete", "deletecollection", "update/status", "patch/status", "create/binding", "create/eviction", "update/scale",
}

// few is the rate of the faults of a plan where they strike by chance: a few times per
// run. A systematic search does not look at it.
const few = 20_000

// atSideEffects is a fault at each request that changes something.
func atSideEffects(kind string) []cluster.Fault {
	faults := make([]cluster.Fault, len(sideEffects))
	for i, verb := range sideEffects {
		faults[i] = cluster.Fault{Kind: kind, Verb: verb, Rate: few}
	}
	return faults
}

// Plans lists every plan in the order in which it is shown.
func Plans() []Plan {
	return []Plan{
		{Name: "crash", Meaning: "A process crashes before or after each of its writes, and comes back.", Faults: atSideEffects("process-crash")},
		{Name: "stale", Meaning: "From each read of a cache on, and from each event of a watch on, a process sees an old world for a while.",
			Faults: []cluster.Fault{{Kind: "cache-stale", Rate: few}, {Kind: "watch-overtaken", Rate: few}}},
		{Name: "missed", Meaning: "At each event of a watch, it and what follows is never seen, only what comes of it; or the watch breaks.",
			Faults: []cluster.Fault{{Kind: "watch-gap", Rate: few}, {Kind: "watch-disconnect", Rate: few}}},
		{Name: "travel", Meaning: "After each write, a process comes back some time later to an API server that has stayed in the past.",
			Faults: atSideEffects("time-travel"), Servers: 2},
		{Name: "overtaken", Meaning: "Each request, answer and event of a watch about an object that several use is held up until one of them has written the object.",
			Faults: []cluster.Fault{{Kind: "api-overtaken-request"}, {Kind: "api-overtaken-answer"}, {Kind: "watch-overtaken"}}},
	}
}

// point is one place where a fault could strike.
type point struct {
	label string
	nth   uint64
}

// planSource makes the choices of a run in which the faults of a plan strike at one
// place.
type planSource struct {
	engine.Source
	kinds  []string
	strike point
	seen   *[]point // gets every place, unless nil
}

func newPlanSource(p Plan, seed uint64, strike point, seen *[]point) *planSource {
	s := &planSource{Source: engine.NewSeedWith(seed, engine.POS()), strike: strike, seen: seen}
	for _, f := range p.Faults {
		if !slices.Contains(s.kinds, f.Kind) {
			s.kinds = append(s.kinds, f.Kind)
		}
	}
	return s
}

// Stream implements engine.Source.
func (s *planSource) Stream(label string) engine.Chooser {
	if rest, fault := strings.CutPrefix(label, "fault/"); fault {
		if kind, _, _ := strings.Cut(rest, "/"); slices.Contains(s.kinds, kind) {
			return s
		}
	}
	return s.Source.Stream(label)
}

// Choose implements engine.Chooser for the streams of the plan's faults.
func (s *planSource) Choose(c engine.Choice) uint64 {
	at := point{c.Label, c.Nth}
	if s.seen != nil {
		*s.seen = append(*s.seen, at)
	}
	if at == s.strike {
		return 1
	}
	return 0
}

// Systematic tries a plan at every place of a reference run of a seed, and then of the
// next seed. The places of a seed are spread over the parts of the search.
func Systematic(p Plan, seeds Seeds) *SystematicSearch {
	return &SystematicSearch{plan: p, seeds: seeds}
}

// SystematicSearch is the search of a plan.
type SystematicSearch struct {
	plan  Plan
	seeds Seeds

	seed    uint64 // how many reference runs were begun
	points  []point
	pending bool // the reference run is being made
	next    int  // the first place that is not tried yet
	done    int  // places tried, of all seeds
	all     int  // places found, of all seeds
}

// Next implements Search.
func (s *SystematicSearch) Next(n int) []Run {
	if s.pending { // the reference run was not made
		return nil
	}
	if s.next == len(s.points) {
		return s.reference()
	}
	seed := s.seeds.First + s.seed - 1
	var runs []Run
	for ; len(runs) < n && s.next < len(s.points); s.next++ {
		at := s.points[s.next]
		runs = append(runs, s.run(seed, func() engine.Source { return newPlanSource(s.plan, seed, at, nil) }))
	}
	return runs
}

// reference makes the run in which nothing goes wrong.
func (s *SystematicSearch) reference() []Run {
	if s.seeds.Count > 0 && s.seed == s.seeds.Count {
		return nil
	}
	seed := s.seeds.First + s.seed
	s.seed++
	s.pending = true
	return []Run{s.run(seed, func() engine.Source {
		s.points, s.next = nil, 0
		return newPlanSource(s.plan, seed, point{}, &s.points)
	})}
}

func (s *SystematicSearch) run(seed uint64, source func() engine.Source) Run {
	return Run{Seed: seed, Search: s.plan.Name, Plan: s.plan.Profile(), Faults: s.plan.Faults, Source: source}
}

// Learn implements Search.
func (s *SystematicSearch) Learn(seen []Seen) {
	if len(seen) == 0 {
		return
	}
	if !s.pending {
		s.done += len(seen)
		return
	}
	s.pending = false
	s.all += len(s.points)
	n := uint64(0)
	s.points = slices.DeleteFunc(s.points, func(point) bool { n++; return !s.seeds.Shard.has(n - 1) })
}

// Covered implements Reporter.
func (s *SystematicSearch) Covered() string {
	of := ""
	if s.seeds.Shard.Count > 1 {
		of = fmt.Sprintf(" (this is part %d of %d)", s.seeds.Shard.Index+1, s.seeds.Shard.Count)
	}
	runs := "runs"
	if s.seed == 1 {
		runs = "run"
	}
	return fmt.Sprintf("%s: %d of %d places in %d reference %s%s", s.plan.Name, s.done, s.all, s.seed, runs, of)
}
