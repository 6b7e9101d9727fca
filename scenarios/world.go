package scenarios

import (
	"context"

	"github.com/google/cel-go/interpreter"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// World is one run of one scenario: the cluster, the systems built on it, and
// how far the story has come. It is used on the goroutine of the run.
type World struct {
	*sim.World

	// Scenario is what is being run. It is shared with other runs: read only.
	Scenario *Scenario

	file    *File
	ctx     context.Context // of calls from outside the cluster; never ends
	states  map[string]any  // of the systems, by name
	objects *objectsValue
	stops   map[string][]func() // ends the faults that steps switched on, by kind
	frozen  map[string][]func() // lets go on what steps have paused, by target
	heals   []func()            // mends the cuts that steps made
	clocks  map[string]clock    // as steps have set them, by node
	calm    bool                // the story is told and faults have ceased
	absent  map[string]bool     // the scenario's own properties that were asked: whether what they name never existed
	waiting []*waiter
	end     ending
	core    *corePhase         // nil before and without one
	observe func(engine.Event) // is told of near misses; nil: nobody wants to know
}

// System returns what the Build function of a system returned, or nil if the
// scenario does not run it.
func (w *World) System(name string) any { return w.states[name] }

// Calm reports whether the story is told and faults have ceased: from then on
// the cluster must recover.
func (w *World) Calm() bool { return w.calm }

// Say puts a line of narration into the story of the run. It must not contain
// secrets.
func (w *World) Say(format string, args ...any) { w.Cluster.Story(format, args...) }

// tell emits one event of the story: who did what to what. The text is what a
// person reads.
func (w *World) tell(verb, object, text string) {
	w.Engine().Emit(engine.Event{Kind: "story", Actor: "story", Verb: verb, Object: object, Detail: func() string { return text }})
}

// activation gives conditions their variables, each only when it is asked for.
type activation struct{ w *World }

// ResolveName implements the lookup of a variable.
func (a activation) ResolveName(name string) (any, bool) {
	w := a.w
	switch name {
	case celObjects:
		return w.objects, true
	case celElapsed:
		return celDuration(w.Engine().Elapsed()), true
	case celNodes:
		return w.nodeViews(), true
	case celProcesses:
		return w.processViews(), true
	}
	for i, use := range w.Scenario.Systems {
		if use.Name == name && w.file.systems[i].View != nil {
			return w.file.systems[i].View.run(w.states[name]), true
		}
	}
	return nil, false
}

// Parent implements the lookup of a variable: there is nothing behind it.
func (activation) Parent() interpreter.Activation { return nil }

func (w *World) nodeViews() []NodeView {
	nodes := w.Cluster.Nodes()
	views := make([]NodeView, len(nodes))
	for i, n := range nodes {
		views[i] = NodeView{Name: n.Name(), Up: !n.Down()}
	}
	return views
}

func (w *World) processViews() []ProcessView {
	processes := w.Cluster.Processes()
	views := make([]ProcessView, len(processes))
	for i, p := range processes {
		views[i] = ProcessView{Name: p.Name(), Node: p.Node().Name(), Alive: p.Alive(), Paused: p.Paused(), Incarnation: p.Incarnation()}
	}
	return views
}
