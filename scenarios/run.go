package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Result says how one run ended.
type Result string

// Results of a run.
const (
	Held     Result = "held"      // no property was violated
	Violated Result = "violated"  // a property was violated; for some scenarios that is expected
	BadInput Result = "bad-input" // a condition of the scenario cannot be evaluated
	Failed   Result = "error"     // the engine failed: nondeterminism, a deadlock of the harness
)

// Outcome is what came of one run of one scenario.
type Outcome struct {
	File      *File
	Seed      uint64
	Result    Result
	Property  string        // the violated one
	Meaning   string        // of the violated property
	Found     string        // what was seen
	At        time.Duration // virtual time of the violation
	Hash      uint64
	Steps     uint64
	Simulated time.Duration
	Faults    []string // kinds of fault that struck, sorted
	Err       error    // for BadInput and Failed

	absent map[string]bool // see World
	making *making         // nil: as seedbed run makes it
}

// Expected reports whether the run violated the very property that its scenario
// is written to show.
func (o *Outcome) Expected() bool {
	return o.Result == Violated && o.Property == o.File.Expect.Violates
}

// options is how the simulator runs a file.
func (r *Registry) options(file *File, seed uint64) sim.Options {
	s := &file.Scenario
	o := sim.Options{
		Name: s.Metadata.Name, Horizon: s.Explore.Horizon.Std(), First: seed, Seeds: 1, Twice: -1, Workers: 1,
		Cluster: cluster.Config{
			Nodes: s.Cluster.NodeCount(), NodeObjects: s.Cluster.NodeObjects, APIServers: s.Cluster.serverCount(),
			Scheme: r.kinds.scheme, API: r.apiOptions(s), Controllers: s.Cluster.controllerNames(), Profile: r.background(s),
		},
	}
	if s.Cluster.Latency != nil {
		o.Cluster.Latency = s.Cluster.Latency.dist()
	}
	return o
}

// apiOptions are those of the API servers. What definitions compile to is kept for
// all runs.
func (r *Registry) apiOptions(s *Scenario) apiserver.Options {
	o := s.Cluster.apiOptions()
	o.Definitions = &r.compiled
	return o
}

// build returns the function that fills a fresh world with the scenario. The
// world of the latest run is stored in last, if that is not nil.
func (r *Registry) build(file *File, last **World) sim.Build {
	return func(base *sim.World) {
		w := &World{
			World: base, Scenario: &file.Scenario, file: file, ctx: context.Background(),
			states: map[string]any{}, stops: map[string][]func(){}, frozen: map[string][]func(){},
		}
		if last != nil {
			*last = w
		}
		server := w.Instances()[0].Server()
		w.objects = newObjects(file.kinds, server)
		w.Must(server.Define(file.definitions...))
		for _, m := range file.Given {
			w.Must(w.create(m))
		}
		for i, use := range file.Scenario.Systems {
			state, err := file.systems[i].Build.run(w, use.Config)
			if err != nil {
				w.Must(fmt.Errorf("build the system %s: %w", use.Name, err))
			}
			w.states[use.Name] = state
		}
		w.declareAll(file)
		w.Engine().OnTouched(func() error { w.look(); w.lookAtCore(); return nil })
		w.begin(r)
	}
}

// declareAll declares every property of the file.
func (w *World) declareAll(file *File) {
	for _, p := range file.properties {
		if p.check != nil {
			w.end.longest = max(w.end.longest, w.declare(p.Name, p.Meaning, p.check(w, w.states[p.System])))
		}
	}
	for _, use := range file.own {
		w.end.longest = max(w.end.longest, w.declare(use.Name, use.Why, w.ownCheck(use)))
	}
	w.Finally(storyCompletes.Name, storyCompletes.Meaning, w.atHorizon)
}

// RunSeed makes one run of a file.
func (r *Registry) RunSeed(file *File, seed uint64) *Outcome {
	var w *World
	got := sim.RunSeed(r.options(file, seed), seed, r.build(file, &w))
	return r.outcome(file, got, w)
}

// VerifySeed is RunSeed, twice; the outcome is an error if the runs differ, be it
// only in what they have written.
func (r *Registry) VerifySeed(file *File, seed uint64) *Outcome {
	var w *World
	got := sim.VerifySeed(r.options(file, seed), seed, r.build(file, &w))
	return r.outcome(file, got, w)
}

// TraceSeed is RunSeed with the whole trace.
func (r *Registry) TraceSeed(file *File, seed uint64) (*Outcome, []engine.Record) {
	var w *World
	got := sim.TraceSeed(r.options(file, seed), seed, r.build(file, &w))
	return r.outcome(file, got, w), got.Records
}

// ofSystem reports whether a task belongs to what is under test: neither a
// callback of the simulator, whose name is empty, nor the telling of the story.
func ofSystem(task string) bool { return task != "" && !strings.HasPrefix(task, storyProcess+"#") }

// outcome puts the engine's result into the words of the format.
func (r *Registry) outcome(file *File, got *sim.Result, w *World) *Outcome {
	o := &Outcome{File: file, Seed: got.Seed, Result: Held, Hash: got.Hash, Steps: got.Steps, Simulated: got.Elapsed}
	if w != nil {
		o.Faults, o.absent = w.Struck(), w.absent
	}
	if got.Err == nil {
		return o
	}
	violate := func(property, meaning, found string, at time.Duration) {
		o.Result, o.Property, o.Meaning, o.Found, o.At = Violated, property, meaning, found, at
	}
	var violation *sim.Violation
	var evaluation *EvaluationError
	var panicked *engine.PanicError
	var livelock *engine.LivelockError
	var storm *cluster.StormError
	var deadlock *engine.DeadlockError
	switch {
	case errors.As(got.Err, &evaluation):
		o.Result, o.Err = BadInput, evaluation
	case errors.As(got.Err, &violation):
		violate(violation.Property, violation.Meaning, violation.Err.Error(), violation.At)
	case errors.As(got.Err, &panicked) && ofSystem(panicked.Task):
		violate(NoPanic, r.Property(NoPanic).Meaning, panicked.Error(), got.Elapsed)
	case errors.As(got.Err, &livelock) && ofSystem(livelock.Task):
		violate(NoLivelock, r.Property(NoLivelock).Meaning, livelock.Error(), got.Elapsed)
	case errors.As(got.Err, &storm) && ofSystem(storm.Task):
		violate(NoLivelock, r.Property(NoLivelock).Meaning, storm.Error(), got.Elapsed)
	case errors.As(got.Err, &deadlock) && ofSystem(deadlock.Tasks[0].Task):
		violate(NoDeadlock, r.Property(NoDeadlock).Meaning, deadlock.Error(), got.Elapsed)
	default:
		o.Result, o.Err = Failed, got.Err
	}
	return o
}
