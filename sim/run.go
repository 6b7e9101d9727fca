package sim

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// noContext is the context of calls that cannot wait.
var noContext = context.Background()

// Build fills a fresh world: it adds processes, objects, a script and
// properties. It runs once per run and must do the same each time; what differs
// between runs is chosen with World.Choose.
type Build func(w *World)

// Result is what came of one run.
type Result struct {
	Seed    uint64
	Hash    uint64
	Steps   uint64
	Elapsed time.Duration // virtual

	// Err is nil if all properties held; else a *Violation, or an error of the
	// engine: a panic, a deadlock, a livelock.
	Err error

	// Schedule replays the run, if it was recorded.
	Schedule engine.Schedule

	// Records is the trace, if it was kept.
	Records []engine.Record

	// Reached names the marks that were reached.
	Reached []string

	// written is what was stored, if it was digested.
	written []cluster.Write

	// marks are all marks of the world, for the report.
	marks []Mark
}

// Violation returns the property that broke, or nil.
func (r *Result) Violation() *Violation {
	var v *Violation
	if errors.As(r.Err, &v) {
		return v
	}
	return nil
}

// signature tells failures apart: shrinking keeps it.
func (r *Result) signature() string {
	if r.Err == nil {
		return ""
	}
	if v := r.Violation(); v != nil {
		return "property " + v.Property
	}
	return errorSignature(r.Err)
}

// errorSignature is the kind of an error of the engine, with the task that it
// names, and the value or the place: a panic somewhere else, or another one, is
// another bug. Numbers do not count, since they differ between histories of one bug,
// and nor do incarnations.
func errorSignature(err error) string {
	kind := fmt.Sprintf("%T", err)
	var panicked *engine.PanicError
	var exited *engine.GoexitError
	var livelock *engine.LivelockError
	var storm *cluster.StormError
	var deadlock *engine.DeadlockError
	var script *ScriptError
	switch {
	case errors.As(err, &panicked):
		return kind + " " + withoutNumbers(fmt.Sprint(panicked.Task, ": ", panicked.Value))
	case errors.As(err, &exited):
		return kind + " " + withoutNumbers(exited.Task)
	case errors.As(err, &livelock):
		return kind + " " + withoutNumbers(livelock.Task)
	case errors.As(err, &storm):
		return kind + " " + withoutNumbers(storm.Process+" "+storm.Request)
	case errors.As(err, &deadlock):
		return kind + " " + withoutNumbers(fmt.Sprint(deadlock.Tasks[0].Task, " at ", deadlock.Tasks[0].Op))
	case errors.As(err, &script):
		return kind + " " + withoutNumbers(script.Err.Error())
	}
	return kind
}

// withoutNumbers puts a # for each run of digits.
func withoutNumbers(s string) string { return numbers.ReplaceAllString(s, "#") }

var numbers = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// how says how one run is to be made.
type how struct {
	source engine.Source
	seed   uint64
	record bool
	digest bool // of what is written
	trace  engine.TraceLevel
}

// once makes one run.
func once(o *Options, build Build, h how) (run *Result) {
	if o.Around == nil {
		return o.once(build, h, (*World).run)
	}
	o.Around(func(drive func(*World) engine.Result) { run = o.once(build, h, drive) })
	return run
}

func (w *World) run() engine.Result { return w.Run() }

func (o *Options) once(build Build, h how, drive func(*World) engine.Result) (run *Result) {
	cfg := o.Cluster
	cfg.Digest = cfg.Digest || h.digest
	cfg.Engine.Source = h.source
	cfg.Engine.Record = h.record
	cfg.Engine.Trace = h.trace
	cfg.Engine.Horizon = o.Horizon
	o.watch(&cfg.Engine, h.seed)
	run = &Result{Seed: h.seed}
	w := &World{name: o.Name, seed: h.seed, horizon: o.Horizon}
	defer func() {
		if w.Cluster == nil {
			return
		}
		if err := w.Close(); err != nil && run.Err == nil {
			run.Err = err
		}
	}()
	if run.Err = start(w, cfg, build); run.Err != nil {
		return run
	}
	res := drive(w)
	if res.Err == nil {
		res.Err = atEnd(w, h.source)
	}
	run.Hash, run.Steps, run.Elapsed, run.Err = res.Hash, res.Steps, res.Elapsed, scriptError(res.Err)
	run.Schedule, run.Records, run.written = res.Schedule, res.Records, w.Written()
	for _, m := range w.marks {
		run.marks = append(run.marks, Mark{m.name, m.meaning})
		if m.reached {
			run.Reached = append(run.Reached, m.name)
		}
	}
	return run
}

// start builds the world; a panic of the build function is an error of the run.
func start(w *World, cfg cluster.Config, build Build) (err error) {
	defer func() { err = recovered(recover(), cfg.Engine.Source, err) }()
	w.Cluster = cluster.New(cfg)
	w.Engine().OnTouched(w.look)
	build(w)
	w.Engine().Touch()
	return nil
}

// atEnd asks the properties once more; a panic of one is an error of the run.
func atEnd(w *World, src engine.Source) (err error) {
	defer func() { err = recovered(recover(), src, err) }()
	return w.lookAtEnd()
}

// recovered makes an error of a panic, unless it is the one with which the source
// of choices has abandoned the run: that one goes on to whoever made the source.
func recovered(r any, src engine.Source, err error) error {
	if r == nil {
		return err
	}
	if thrown := engine.Aborted(src); thrown != nil {
		panic(thrown)
	}
	if err, ok := r.(*ScriptError); ok {
		return err
	}
	return &engine.PanicError{Value: r, Stack: debug.Stack()}
}

// scriptError takes a script's failure out of the panic that carried it.
func scriptError(err error) error {
	var p *engine.PanicError
	var s *ScriptError
	if errors.As(err, &p) && errors.As(err, &s) {
		return s
	}
	return err
}
