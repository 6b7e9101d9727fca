package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// coreRun is the part of a run in which only a core of the cluster has recovered.
type coreRun struct {
	core       *cluster.Core // nil before it is chosen, and after the rest is back
	properties []*property
	until      time.Duration
}

// EventuallyInCore says that when faults cease for a random core of the cluster, and the rest
// stays broken, check returns nil at some moment, at most within later. The core is more
// than half of the nodes and at least one API server; whoever waits for a node or an API
// server outside of it waits for ever. Check says what the core can be without them: not
// that all nodes do something, but that all of core.Nodes do.
//
// The rest comes back when all such properties hold, and what is declared with Eventually
// counts from when that is at the latest. So these come first, and faults need a time at
// which they cease (CeaseAt).
func (w *World) EventuallyInCore(name, meaning string, within time.Duration, check func(core *cluster.Core) error) {
	start := w.CeaseAt()
	switch end := start + within; {
	case start == 0:
		w.Must(fmt.Errorf("property %q: give the profile of faults a CeaseAt, at which a core recovers", name))
	case w.awaits != "":
		w.Must(fmt.Errorf("property %q must be declared before %q, which counts from when all of the cluster has recovered", name, w.awaits))
	case end > w.horizon:
		w.Must(fmt.Errorf("property %q can be judged after %v, but the run ends after %v", name, end, w.horizon))
	}
	if w.core == nil {
		w.core = &coreRun{}
		w.At(start, w.chooseCore)
	}
	p := &property{name: name, meaning: meaning}
	held := errors.New("it was never looked at")
	look := func() {
		if w.core.core != nil {
			held = check(w.core.core)
			p.done = held == nil
			w.mendCore()
		}
	}
	p.check = func() error { look(); return nil }
	p.final = func() error {
		if p.done {
			return nil
		}
		if look(); p.done {
			return nil
		}
		return fmt.Errorf("%s: not within %v: %w", w.core.core, within, held)
	}
	w.core.properties, w.core.until = append(w.core.properties, p), max(w.core.until, start+within)
	w.add(p)
	w.At(start+within, func() {
		if err := p.final(); err != nil {
			if err := w.breach(p, err); err != nil {
				w.Engine().Stop(err)
			}
		}
		p.done = true
		w.mendCore()
	})
}

// chooseCore begins the core phase. Without a core, because the script keeps half of the
// cluster down, there is nothing to judge.
func (w *World) chooseCore() {
	w.core.core = w.HealCore(w.Engine().Stream("core", ""))
	if w.core.core == nil {
		for _, p := range w.core.properties {
			p.done = true
		}
	}
}

// mendCore, called when a property about the core is done, brings back what is outside once nobody judges the core any more.
func (w *World) mendCore() {
	if w.core.core != nil && !slices.ContainsFunc(w.core.properties, func(p *property) bool { return !p.done }) {
		core := w.core.core
		w.core.core = nil
		// Not here, in the middle of what somebody does.
		w.Engine().After(0, func(any) { core.Mend() }, nil)
	}
}
