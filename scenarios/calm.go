package scenarios

import (
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/sim"
)

// aftermath is how long a run goes on at least once everything is calm, so that
// the consequences of the last step show.
const aftermath = 30 * time.Second

// ending is how a run comes to its end: story told, faults ceased, liveness
// judged.
type ending struct {
	reached bool          // the run came to its regular end
	longest time.Duration // of the times that properties need after calm
	hooks   []calmHook
}

type calmHook struct {
	after time.Duration
	run   func()
}

// whenCalm runs f once the given time has passed since the world became calm,
// and lets the properties look.
func (w *World) whenCalm(after time.Duration, f func()) {
	w.end.hooks = append(w.end.hooks, calmHook{after, f})
}

// told is called when the last step is done.
func (w *World) told() {
	// Not on the task that tells the story: the end of a fault lets events through, and
	// what they start must not be started by another process.
	wait := max(w.faultsUntil()-w.Engine().Elapsed(), 0)
	w.Engine().After(wait, func(any) { w.enterCore() }, nil)
}

// faultsUntil is when background faults cease at the earliest. In a scenario
// without steps they have half of the run.
func (w *World) faultsUntil() time.Duration {
	switch f := w.Scenario.Faults; {
	case f.Until != nil:
		return f.Until.Std()
	case len(w.Scenario.Steps) == 0 && (f.Profile != "" || len(f.Add) > 0):
		return w.Scenario.Explore.Horizon.Std() / 2
	}
	return 0
}

func (w *World) becomeCalm() {
	if w.calm {
		return
	}
	w.calm = true
	w.CeaseFaults()
	w.Engine().Touch()
	for _, hook := range w.end.hooks {
		w.Engine().After(hook.after, func(any) {
			hook.run()
			w.Engine().Touch()
		}, nil)
	}
	// The hooks of the same instant come first, and properties look at the end.
	w.Engine().After(max(w.end.longest, aftermath), func(any) {
		w.end.reached = true
		w.Engine().Stop(nil)
	}, nil)
}

// atHorizon is what a run that did not come to its regular end is told.
func (w *World) atHorizon() error {
	if w.end.reached {
		return nil
	}
	what := "before the story was told"
	switch {
	case w.core != nil && !w.core.over:
		what = "before the core of the cluster had its time to converge"
	case w.calm:
		what = "before the properties that hold eventually had their time"
	}
	return fmt.Errorf("the horizon of %s was reached %s", w.Scenario.Explore.Horizon, what)
}

// broken makes the error that ends a run because a property does not hold.
func (w *World) broken(p *Property, err error) *sim.Violation {
	w.Narrate("prop", p.Name, "broken", fmt.Sprintf("property broken: %s: %v", p.Name, err))
	return &sim.Violation{Property: p.Name, Meaning: p.Meaning, At: w.Engine().Elapsed(), Err: err}
}
