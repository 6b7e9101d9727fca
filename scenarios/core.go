package scenarios

import (
	"errors"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// CoreConverges is the built-in property that a run is judged by in its core phase.
const CoreConverges = "core-converges"

var coreConverges = &Property{Name: CoreConverges,
	Meaning: "While some nodes and API servers stay broken, the rest of the cluster comes to what it can be without them: what waits for those that are gone may wait for ever."}

// CoreJudge is made by [CoreWith].
type CoreJudge struct {
	within time.Duration
	judge  func(w *World, system any, core *cluster.Core) CoreCheck
}

// CoreCheck judges one core in one run.
type CoreCheck struct {
	// Begin gives the core something to do, such as a restart; nil if what the faults have
	// left is enough. It acts from outside, and must change nothing that users want.
	Begin func()

	// Converged says what is missing until the core is what it can be without the
	// rest. It is asked whenever something that properties look at has changed.
	Converged func() error
}

// CoreWith makes the Core of a system whose state has type S. Within is the virtual time
// that a core has. The function is called once per run, when the core is chosen.
func CoreWith[S any](within time.Duration, judge func(w *World, system S, core *cluster.Core) CoreCheck) *CoreJudge {
	return &CoreJudge{within: within, judge: func(w *World, system any, core *cluster.Core) CoreCheck {
		return judge(w, system.(S), core)
	}}
}

// corePhase is the part of a run between its trouble and its calm, in which the trouble has
// ended for a random core only.
type corePhase struct {
	core   *cluster.Core
	checks []judgedCore
	over   bool
}

// judgedCore is what one system says of the core.
type judgedCore struct {
	system string
	CoreCheck
}

// enterCore ends the trouble for a core of the cluster, if a system can tell when that has
// converged and there was any trouble in the background; else for all.
func (w *World) enterCore() {
	within := w.coreTime()
	if within == 0 {
		w.becomeCalm()
		return
	}
	core := w.HealCore(w.Engine().Stream("core", ""))
	if core == nil || len(core.Outside) == 0 {
		w.becomeCalm()
		return
	}
	phase := &corePhase{core: core}
	for i, use := range w.Scenario.Systems {
		if judge := w.file.systems[i].Core; judge != nil {
			phase.checks = append(phase.checks, judgedCore{use.Name, judge.judge(w, w.states[use.Name], core)})
		}
	}
	for _, c := range phase.checks {
		if c.Begin != nil {
			c.Begin()
		}
	}
	w.core = phase
	w.Engine().Touch()
	w.Engine().After(within, func(any) {
		if phase.over {
			return
		}
		if err := phase.converged(); err != nil {
			w.Fail(w.broken(coreConverges, fmt.Errorf("%s: not within %s: %w", core, shortDuration(within), err)))
			return
		}
		w.leaveCore()
	}, nil)
}

// coreTime is how long a core has; zero means that there is no core phase.
func (w *World) coreTime() time.Duration {
	f := w.Scenario.Faults
	if f.Profile == "" && len(f.Add) == 0 || f.Core != nil && !*f.Core {
		return 0
	}
	within := time.Duration(0)
	for i := range w.Scenario.Systems {
		if judge := w.file.systems[i].Core; judge != nil {
			within = max(within, judge.within)
		}
	}
	return within
}

// converged is what systems say of the core.
func (p *corePhase) converged() error {
	var errs []error
	for _, c := range p.checks {
		if err := c.Converged(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.system, err))
		}
	}
	return errors.Join(errs...)
}

// lookAtCore ends the phase as soon as the core has converged.
func (w *World) lookAtCore() {
	phase := w.core
	if phase == nil || phase.over || phase.converged() != nil {
		return
	}
	phase.over = true
	// Not here, in the middle of what somebody does.
	w.Engine().After(0, func(any) { w.leaveCore() }, nil)
}

// leaveCore brings back what was outside. From here on all is calm.
func (w *World) leaveCore() {
	w.core.over = true
	w.Engine().Emit(engine.Event{Kind: "story", Actor: "story", Verb: "core-converged", Detail: func() string {
		return "the core has converged; what is outside of it comes back"
	}})
	w.core.core.Mend()
	w.becomeCalm()
}
