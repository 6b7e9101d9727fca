package sim

import "github.com/seedbed-sim/seedbed/sim/engine"

// TraceSeed is RunSeed for a closer look: the result carries the schedule and
// the whole trace. The hash is the same.
func TraceSeed(o Options, seed uint64, build Build) *Result {
	o = o.withDefaults()
	return once(&o, build, how{source: engine.NewSeed(seed), seed: seed, record: true, trace: engine.TraceFull})
}
