package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Story is what a step gets: the world, and the right to let virtual time pass.
// Steps act from outside the cluster: what they do to it takes effect at once,
// without latency or faults.
type Story struct {
	*World
	ctx     context.Context
	process *engine.Process
	step    Step
	kind    *StepKind
	number  string // of the step, as in "3" or "5.2"
}

// Context ends with the run.
func (st *Story) Context() context.Context { return st.ctx }

// Process is the simulated process that tells the story.
func (st *Story) Process() *engine.Process { return st.process }

// Sleep lets virtual time pass.
func (st *Story) Sleep(d time.Duration) error { return st.process.Sleep(st.ctx, d) }

// Draw returns a number from 0 to n-1 that the run's choices decide; 0 is the
// simplest. What says what it is for.
func (st *Story) Draw(what string, n int) int {
	if n <= 1 {
		return 0
	}
	return st.Engine().Stream("story", what).Intn(n)
}

// DrawSpan returns a duration of the span that the run's choices decide.
func (st *Story) DrawSpan(what string, s Span) time.Duration {
	return st.Engine().Stream("story", what).Duration(s.dist())
}

// dist is the span as an even distribution.
func (s Span) dist() engine.Dist {
	if s.Max == s.Min {
		return engine.Constant(s.Min)
	}
	return engine.Dist{Min: s.Min, Max: s.Max}
}

// Tell puts what the step does into the story of the run. It must not contain
// secrets.
func (st *Story) Tell(object, format string, args ...any) {
	st.tell(st.step.Verb, object, fmt.Sprintf(format, args...))
}

// Node returns the node's name; [AnyNode] is drawn.
func (st *Story) Node(name NodeName) string {
	if name != AnyNode {
		return string(name)
	}
	nodes := st.Cluster.Nodes()
	return nodes[st.Draw("node", len(nodes))].Name()
}

// WaitUntil waits until done reports true, and returns false if that does not
// happen within the virtual time given. It looks whenever something that
// properties look at has changed, and each second, for what depends on time.
func (st *Story) WaitUntil(what string, within time.Duration, done func() (bool, error)) (bool, error) {
	if ok, err := done(); ok || err != nil {
		return ok, err
	}
	w := &waiter{done: done}
	ctx, cancel := st.process.WithTimeout(st.ctx, within)
	defer cancel()
	st.waiting = append(st.waiting, w)
	st.lookAgain(w)
	err := st.process.Await(ctx, engine.Op{Verb: "wait", Key: what, Idle: true}, func(wait *engine.Wait) { w.wait = wait })
	st.forget(w)
	switch {
	case w.err != nil:
		return false, w.err
	case err == nil:
		return true, nil
	case errors.Is(err, context.DeadlineExceeded) && st.ctx.Err() == nil:
		return false, nil
	}
	return false, err
}

// lookInterval is how often conditions are looked at when nothing happens.
const lookInterval = time.Second

// lookAgain looks at the condition each interval for as long as it is waited for.
func (w *World) lookAgain(x *waiter) {
	w.Engine().After(lookInterval, func(any) {
		if slices.Contains(w.waiting, x) {
			w.look()
			w.lookAgain(x)
		}
	}, nil)
}

// waiter is a task of the story that waits for a condition.
type waiter struct {
	done func() (bool, error)
	wait *engine.Wait
	err  error
}

func (w *World) forget(gone *waiter) {
	for i, x := range w.waiting {
		if x == gone {
			w.waiting = append(w.waiting[:i:i], w.waiting[i+1:]...)
			return
		}
	}
}

// look wakes the tasks whose condition has come true.
func (w *World) look() {
	for _, x := range w.waiting {
		if x.wait == nil || !x.wait.Waiting() {
			continue
		}
		ok, err := x.done()
		if ok || err != nil {
			x.err = err
			x.wait.Done()
		}
	}
}

// state is what the system that owns the current step was built into.
func (st *Story) state() any { return st.states[st.kind.System] }

// storyProcess is the process whose tasks tell the story.
const storyProcess = "story"

// begin starts the task that tells the story.
func (w *World) begin(r *Registry) {
	process := w.Engine().Process(storyProcess)
	process.Start(func(ctx context.Context) {
		st := &Story{World: w, ctx: ctx, process: process}
		if err := st.tellSteps(r, w.Scenario.Steps, ""); err != nil {
			w.Fail(err)
			return
		}
		w.told()
	})
}

// tellSteps tells steps one after another. The error is a *sim.Violation or says
// that the scenario itself cannot be run.
func (st *Story) tellSteps(r *Registry, steps []Step, prefix string) error {
	for i, step := range steps {
		number := fmt.Sprintf("%s%d", prefix, i+1)
		if step.Note != "" {
			st.tell("note", number, step.Note)
		}
		if step.Verb == "" {
			continue
		}
		kind := r.step(step.Verb)
		w := st.World
		one := &Story{World: w, ctx: st.ctx, process: st.process, step: step, kind: kind, number: number}
		err := one.runStep(r, kind, step)
		var violation *sim.Violation
		var bad *EvaluationError
		switch {
		case err == nil:
		case errors.As(err, &violation), errors.As(err, &bad):
			return err
		default:
			return w.broken(storyCompletes, fmt.Errorf("step %s (%s, line %d): %w", number, step.Verb, step.Place.Node.Line, err))
		}
	}
	return nil
}

func (st *Story) runStep(r *Registry, kind *StepKind, step Step) error {
	switch args := step.Args.(type) {
	case *RepeatArgs:
		for n := range args.Times {
			if err := st.tellSteps(r, args.Steps, fmt.Sprintf("%s.%d.", st.number, n+1)); err != nil {
				return err
			}
		}
		return nil
	case *TogetherArgs:
		return st.together(r, args)
	}
	return kind.run(st, step.Args)
}

// together tells several stories side by side, each as a task of its own.
func (st *Story) together(r *Registry, args *TogetherArgs) error {
	errs := make([]error, len(args.Branches))
	tasks := make([]*engine.Task, len(args.Branches))
	for i, branch := range args.Branches {
		name := fmt.Sprintf("branch-%s.%d", st.number, i+1)
		tasks[i] = st.process.Go(st.ctx, name, func(ctx context.Context) {
			own := &Story{World: st.World, ctx: ctx, process: st.process}
			errs[i] = own.tellSteps(r, branch, fmt.Sprintf("%s.%d.", st.number, i+1))
			if errs[i] != nil {
				st.Fail(errs[i])
			}
		})
	}
	for _, task := range tasks {
		task.Join()
	}
	return errors.Join(errs...)
}
