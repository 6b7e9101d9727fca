package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Strategy is a way of making one run.
type Strategy struct {
	Name    string
	Meaning string

	// Swarm lets the run draw which faults of its profile it has, and how many of
	// them.
	Swarm bool

	// plan, if set, has the faults of the run, in place of the scenario's own. They strike
	// by chance.
	plan *Plan

	// mixed says that nobody has asked for the strategy but as a part of the mix.
	mixed bool

	// schedule makes the part that decides which task runs, from what a first run has
	// shown.
	schedule func(Survey) engine.Strategy
}

// Survey is what a first run has shown about decisions between tasks.
type Survey struct {
	Tasks     int    // that were ever ready beside another
	Decisions uint64 // between several tasks
	Conflicts uint64 // of those, between operations that may conflict
}

// Source makes the choices of the run of one seed.
func (s Strategy) Source(seed uint64, survey Survey) engine.Source {
	return engine.NewSeedWith(seed, s.schedule(survey))
}

// swarm is what stands before the name of a strategy for its swarm form.
const swarm = "swarm+"

// swarming is the strategy in runs that draw their faults.
func (s Strategy) swarming() Strategy {
	s.Name, s.Swarm = swarm+s.Name, true
	return s
}

// chance is what stands before the name of a plan whose faults strike by chance.
const chance = "chance+"

// byChance is a strategy of runs in which nothing goes wrong but what a plan is about,
// now and then: where a systematic search has too many places to go through, and where
// it takes more than one stroke.
func byChance(p Plan) Strategy {
	s := named("pos-conflicts")[0]
	s.Name, s.Meaning, s.plan = chance+p.Name, p.Meaning, &p
	return s
}

// run is the run of a seed.
func (s Strategy) run(seed uint64, search string, source func() engine.Source) Run {
	r := Run{Seed: seed, Search: search, Swarm: s.Swarm, Source: source}
	if s.plan != nil {
		r.Plan, r.Faults = s.plan.Profile(), s.plan.Faults
	}
	return r
}

// Mix is the default: strategies that are blind to different things, some of them with
// a part of the faults only, and some with those of one plan, where it fits.
func Mix() []Strategy {
	plain := named("pos-conflicts", "pct-conflicts", "pos", "sticky", "uniform")
	all := slices.Clone(plain)
	for _, s := range plain {
		all = append(all, s.swarming())
	}
	for _, p := range Plans() {
		s := byChance(p)
		s.mixed = true
		all = append(all, s)
	}
	return all
}

// Fitting is the selection without those plans of the mix that do not fit what is to be
// explored.
func (s Selection) Fitting(fits func(Plan) bool) Selection {
	s.Strategies = slices.DeleteFunc(slices.Clone(s.Strategies), func(x Strategy) bool { return x.mixed && !fits(*x.plan) })
	s.fits = fits
	return s
}

// mix is the default mix as far as it fits.
func (s Selection) mix() []Strategy {
	if s.fits == nil {
		return Mix()
	}
	return Selection{Strategies: Mix()}.Fitting(s.fits).Strategies
}

func named(names ...string) []Strategy {
	var found []Strategy
	for _, s := range Strategies() {
		if slices.Contains(names, s.Name) {
			found = append(found, s)
		}
	}
	return found
}

// Selection is what a search is made of.
type Selection struct {
	Strategies []Strategy // each seed picks one
	Plans      []Plan
	Guided     bool // runs are bred from runs that have shown something new
	Depth      int  // of the exhaustive search; 0: none

	fits func(Plan) bool // set by Fitting
}

// guided is the name of the search that coverage guides.
const guided = "guided"

// exhaustive is the name of the search of all histories, with the depth that it has
// unless one follows the name.
const (
	exhaustive   = "exhaustive"
	defaultDepth = 2
	deepest      = 9
)

// Names are those of its parts.
func (s Selection) Names() (strategies, others []string) {
	for _, x := range s.Strategies {
		strategies = append(strategies, x.Name)
	}
	for _, p := range s.Plans {
		others = append(others, p.Name)
	}
	if s.Guided {
		others = append(others, guided)
	}
	if s.Depth > 0 {
		others = append(others, fmt.Sprintf("%s-%d", exhaustive, s.Depth))
	}
	return strategies, others
}

// Parse reads a list of names such as "pct,swarm+uniform,crash". The word mix stands
// for the default, and swarm alone for its swarm half.
func Parse(text string) (s Selection, err error) {
	for word := range strings.SplitSeq(text, ",") {
		if err := s.add(strings.TrimSpace(word)); err != nil {
			return Selection{}, err
		}
	}
	return s, nil
}

func (s *Selection) add(word string) error {
	if plan, ok := PlanOf(planned + word); ok {
		s.Plans = append(s.Plans, plan)
		return nil
	}
	if rest, ok := strings.CutPrefix(word, chance); ok {
		plan, ok := PlanOf(planned + rest)
		if !ok {
			return &UnknownStrategyError{Name: word}
		}
		s.Strategies = append(s.Strategies, byChance(plan))
		return nil
	}
	if rest, ok := strings.CutPrefix(word, exhaustive); ok {
		switch depth := strings.TrimPrefix(rest, "-"); {
		case rest == "":
			s.Depth = defaultDepth
			return nil
		case len(depth) == 1 && rest != depth && depth[0] >= '1' && depth[0] <= '0'+deepest:
			s.Depth = int(depth[0] - '0')
			return nil
		}
		return &UnknownStrategyError{Name: word}
	}
	switch word {
	case guided:
		s.Guided = true
		return nil
	case "mix":
		s.Strategies = append(s.Strategies, Mix()...)
		return nil
	case "swarm":
		for _, x := range Mix() {
			if x.Swarm {
				s.Strategies = append(s.Strategies, x)
			}
		}
		return nil
	}
	name, swarms := strings.CutPrefix(word, swarm)
	found := named(name)
	if len(found) == 0 {
		return &UnknownStrategyError{Name: word}
	}
	if swarms {
		found[0] = found[0].swarming()
	}
	s.Strategies = append(s.Strategies, found[0])
	return nil
}

// UnknownStrategyError says that there is no strategy of a name.
type UnknownStrategyError struct{ Name string }

// Error names it.
func (e *UnknownStrategyError) Error() string { return fmt.Sprintf("there is no strategy %q", e.Name) }

// Names lists everything that Parse takes.
func Names() []string {
	names := []string{"mix", "swarm"}
	for _, s := range Strategies() {
		names = append(names, s.Name)
	}
	for _, p := range Plans() {
		names = append(names, p.Name)
	}
	return append(names, guided, exhaustive)
}

// surveyor schedules like Uniform and counts what there is to decide.
type surveyor struct {
	engine.Strategy
	tasks     map[uint64]bool
	decisions uint64
}

func (s *surveyor) Next(c *engine.Contention) int {
	s.decisions++
	for i := range c.Len() {
		s.tasks[c.Serial(i)] = true
	}
	return s.Strategy.Next(c)
}

// Surveying returns two sources for a first look at a program, to be run one after the
// other, and what they have seen once they were.
func Surveying(seed uint64) (all, conflicts engine.Source, survey func() Survey) {
	a := &surveyor{Strategy: engine.Uniform(), tasks: map[uint64]bool{}}
	b := &surveyor{Strategy: engine.Uniform(), tasks: map[uint64]bool{}}
	return engine.NewSeedWith(seed, a), engine.NewSeedWith(seed, engine.OnConflicts(b)), func() Survey {
		return Survey{Tasks: len(a.tasks), Decisions: a.decisions, Conflicts: b.decisions}
	}
}
