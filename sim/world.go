package sim

import (
	"fmt"
	"io/fs"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// World is one cluster in one run, with the properties it must keep. The build
// function of a check gets a fresh one per run: it adds processes, objects, a
// script and properties, and must do the same each time.
type World struct {
	*cluster.Cluster

	name       string
	seed       uint64
	horizon    time.Duration
	open       bool // driven from outside; see Open
	properties []*property
	marks      []*mark
	core       *coreRun // nil: no property is about a core
	awaits     string   // a property that counts from when all of the cluster has recovered
}

// Name is the name of the check or scenario.
func (w *World) Name() string { return w.name }

// Seed is the seed of the run, for messages. Code that depends on it does not
// replay: what differs between runs is chosen with Choose.
func (w *World) Seed() uint64 { return w.seed }

// Horizon is the virtual length of the run.
func (w *World) Horizon() time.Duration { return w.horizon }

// At runs f once d has passed since the start of the run. It runs outside all
// processes: use Admin for objects, not a process's client.
func (w *World) At(d time.Duration, f func()) {
	w.Engine().After(d-w.Engine().Elapsed(), func(any) { f() }, nil)
}

// Every runs f at each multiple of d, from d on.
func (w *World) Every(d time.Duration, f func()) {
	var again func(any)
	again = func(any) {
		w.Engine().After(d, again, nil)
		f()
	}
	w.Engine().After(d, again, nil)
}

// Choose makes one choice of the run: a number below n, where 0 is the simplest.
// The same label names the same sequence of choices in each run.
func (w *World) Choose(label string, n int) int {
	return w.Engine().Stream("choose", label).Intn(n)
}

// ChooseWithin chooses a duration between from and to.
func (w *World) ChooseWithin(label string, from, to time.Duration) time.Duration {
	return w.Engine().Stream("choose", label).Duration(engine.Dist{Min: from, Max: to})
}

// Create puts objects into the store at once; an error ends the run.
func (w *World) Create(objects ...client.Object) {
	for _, o := range objects {
		w.Must(w.Admin().Create(noContext, o))
	}
}

// LoadCRDs makes the API servers serve the kinds of CustomResourceDefinitions in files,
// such as the folder config/crd/bases of a controller; an error ends the run. See
// [apiserver.Server.LoadCRDs].
func (w *World) LoadCRDs(fsys fs.FS, paths ...string) {
	w.Must(w.Instances()[0].Server().LoadCRDs(fsys, paths...))
}

// Must ends the run with err unless it is nil: something that the script of the
// world relies on went wrong.
func (w *World) Must(err error) {
	if err != nil {
		panic(&ScriptError{err})
	}
}

// ScriptError is a failure of the world's own script, not of the code under
// test.
type ScriptError struct{ Err error }

// Error says that the script failed.
func (e *ScriptError) Error() string { return fmt.Sprintf("the world's script failed: %v", e.Err) }

// Unwrap returns the cause.
func (e *ScriptError) Unwrap() error { return e.Err }
