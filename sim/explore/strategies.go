package explore

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// pctDepth is how many ordering constraints PCT looks for.
const pctDepth = 3

// Strategies lists every strategy in the order in which it is shown.
func Strategies() []Strategy {
	of := func(make func() engine.Strategy) func(Survey) engine.Strategy {
		return func(Survey) engine.Strategy { return make() }
	}
	onConflicts := func(make func() engine.Strategy) func(Survey) engine.Strategy {
		return func(Survey) engine.Strategy { return engine.OnConflicts(make()) }
	}
	return []Strategy{
		{Name: "pos-conflicts", Meaning: "Partial-order sampling: the waiting operation with the highest random priority runs; only operations that may conflict are ordered.",
			schedule: of(engine.POS)},
		{Name: "pct-conflicts", Meaning: "Random priorities of tasks that change at two random decisions between operations that may conflict.",
			schedule: func(s Survey) engine.Strategy { return engine.OnConflicts(engine.PCT(pctDepth, s.Conflicts)) }},
		{Name: "pos", Meaning: "Partial-order sampling over all operations.", schedule: of(engine.AllPOS)},
		{Name: "pct", Meaning: "Random priorities of tasks that change at two random decisions.",
			schedule: func(s Survey) engine.Strategy { return engine.PCT(pctDepth, s.Decisions) }},
		{Name: "sticky", Meaning: "The task that ran last goes on in nine of ten decisions.", schedule: of(engine.Sticky)},
		{Name: "sticky-conflicts", Meaning: "The same, between operations that may conflict.", schedule: onConflicts(engine.Sticky)},
		{Name: "uniform", Meaning: "Every ready task with the same probability.", schedule: of(engine.Uniform)},
		{Name: "uniform-conflicts", Meaning: "The same, between operations that may conflict.", schedule: onConflicts(engine.Uniform)},
	}
}

// Bound says how rarely PCT finds a bug at the least, of the depth that it looks for.
func Bound(s Survey) string {
	bound := func(decisions uint64) string {
		runs := float64(max(s.Tasks, 1))
		for range pctDepth - 1 {
			runs *= float64(max(decisions, 1))
		}
		return fmt.Sprintf("%.3g", runs)
	}
	return fmt.Sprintf("pct finds a race of %d ordering constraints in at least 1 of n·k² runs: n = %d tasks, k = %d decisions: 1 of %s; pct-conflicts: k = %d: 1 of %s",
		pctDepth, s.Tasks, s.Decisions, bound(s.Decisions), s.Conflicts, bound(s.Conflicts))
}
