package unmodified

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// World is the world of one run, and the programs in it.
type World struct {
	*sim.World
	bubble *bubble
}

// Program is a program that is run as it is.
type Program struct {
	// Name is unique on its node; see cluster.ProcessSpec.
	Name string

	// Node is where it runs; empty means the control plane.
	Node string

	// Start runs the program until ctx ends, as the Start method of a manager does.
	// It is called once for each start, also after a crash, with how to reach the API
	// server. It must not return before what it started has ended. It is called in a
	// goroutine of its own.
	Start func(ctx context.Context, cfg *rest.Config) error

	// RealLists lets informers begin with what is there. A controller gets to know of
	// that in the order of a map, so a run with several such objects does not repeat
	// unless the program does not mind. Without it, an informer begins with nothing, and
	// everything that is there comes as an event: a program that takes an informer's
	// first list for complete may see faults that it does not have.
	RealLists bool

	// Webhooks are Mutating- and ValidatingWebhookConfigurations whose webhooks the
	// program serves; see WebhookServer and ReadWebhooks. Requests that they are about
	// are refused while it does not run, unless their failurePolicy is Ignore. Which
	// service or address they name does not matter, but for the path.
	Webhooks []runtime.Object

	// Restart says what happens when it ends.
	Restart cluster.Restart

	// User makes its API requests; nil is the cluster administrator.
	User *apiserver.User
}

// Program adds a program to the world. It panics if the program's webhooks make no sense.
func (w *World) Program(p Program) *cluster.Process {
	node := w.ControlPlane()
	if p.Node != "" {
		node = w.Node(p.Node)
	}
	r := &runner{bubble: w.bubble, program: p}
	if err := w.serveWebhooks(r); err != nil {
		panic(err)
	}
	return node.Process(cluster.ProcessSpec{Name: p.Name, Main: r.main, Restart: p.Restart, User: p.User})
}

// Check is sim.Check for worlds with programs. Runs are made one after the other, in
// bubbles of t.
func Check(t *testing.T, o sim.Options, build func(w *World)) {
	t.Helper()
	o, simBuild := bubbled(t, o, build)
	sim.Check(t, o, simBuild)
}

// Run is sim.Run for worlds with programs.
func Run(t *testing.T, o sim.Options, build func(w *World)) (*sim.Report, error) {
	t.Helper()
	o, simBuild := bubbled(t, o, build)
	return sim.Run(o, simBuild)
}

// bubbled returns o with each run in a bubble, and what builds it there.
func bubbled(t *testing.T, o sim.Options, build func(w *World)) (sim.Options, sim.Build) {
	t.Helper()
	settle(t)
	o.Workers = 1
	// Requests come from outside of the engine, so tasks wait for ever.
	o.Cluster.Engine.Idle = engine.IdleAllowed
	o.Cluster.Engine.Patience = -1
	o.Cluster.Engine.Stall = -1 // its watchdog would live on the time of the bubble
	var b *bubble
	o.Around = func(run func(func(*sim.World) engine.Result)) {
		b = &bubble{}
		b.run(t, run)
	}
	return o, func(w *sim.World) {
		b.start(w)
		build(&World{World: w, bubble: b})
	}
}

// Trace is sim.TraceSeed for worlds with programs.
func Trace(t *testing.T, o sim.Options, seed uint64, build func(w *World)) *sim.Result {
	t.Helper()
	o, simBuild := bubbled(t, o, build)
	return sim.TraceSeed(o, seed, simBuild)
}
