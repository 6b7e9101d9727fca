package sim

import (
	"fmt"
	"os"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// defaultStall is the real time after which a task that does not yield is given
// up: far beyond what a step takes on a busy machine, and before a test's own
// time-out, which would not say which seed it was.
const defaultStall = time.Minute

// defaultPatience is the virtual time after which a task that waits for an answer,
// a lock or another task counts as deadlocked. It is longer than what is left of
// an API call when faults cease, and than one that a server asks ten times to come
// back after thirty seconds, as one does that cannot read what is stored.
const defaultPatience = 6 * time.Minute

// stallStatus is the exit status of a program that a stall has ended.
const stallStatus = 3

// watch lets the engine notice code that leaves the simulation, with a goroutine
// of its own or a lock or channel of the real world, and code that waits for
// ever.
func (o *Options) watch(cfg *engine.Config, seed uint64) {
	cfg.Strict = cfg.Strict || engine.CheapIdentity
	switch {
	case cfg.Stall == 0:
		cfg.Stall = defaultStall
	case cfg.Stall < 0:
		cfg.Stall = 0
	}
	switch {
	case cfg.Patience == 0:
		cfg.Patience = defaultPatience
	case cfg.Patience < 0:
		cfg.Patience = 0
	}
	if cfg.OnStall == nil {
		cfg.OnStall = func(s *engine.StallError) { o.stalled(seed, s) }
	}
}

// stalled ends the program: a task that does not yield cannot be unwound, so
// there is no other way to go on.
func (o *Options) stalled(seed uint64, s *engine.StallError) {
	name := o.Name
	if name == "" {
		name = "a check without a name"
	}
	fmt.Fprintf(os.Stderr, "%s, seed %d: %v\n", name, seed, s)
	os.Exit(stallStatus)
}
