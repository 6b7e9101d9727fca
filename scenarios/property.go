package scenarios

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

// Property is one entry of the property library.
type Property struct {
	Name    string // words joined by dashes; a system's properties are called system.name
	System  string // the owner, or empty for built-in properties
	Meaning string // one sentence: what must hold, and why it matters

	check func(w *World, system any) Check
}

// Check is a property of one run. Any of its parts may be nil. The errors say
// what was found, without secrets.
type Check struct {
	// Always is asked after every step of the run in which something that
	// properties look at changed.
	Always func() error

	// Eventually must hold at the latest Within after the story is told and
	// faults have ceased, and from then on until the end of the run.
	Eventually func() error
	Within     time.Duration

	// Finally is asked once, at the end of the run.
	Finally func() error
}

// NewProperty makes a property of a system whose state has type S. The function
// is called once per run, before anything happens; what it keeps in variables
// is the memory of that run's check.
func NewProperty[S any](name, meaning string, check func(w *World, system S) Check) Property {
	return Property{Name: name, Meaning: meaning, check: func(w *World, system any) Check {
		state, ok := system.(S)
		if !ok {
			panic(fmt.Sprintf("scenarios: property %s is for a system of type %v, not %T", name, reflect.TypeFor[S](), system))
		}
		return check(w, state)
	}}
}

// Names of the built-in properties. They are checked in every run.
const (
	StoryCompletes = "story-completes"
	NoPanic        = "no-panic"
	NoLivelock     = "no-livelock"
	NoDeadlock     = "no-deadlock"
)

// PermissionsSuffice is a property of the library that a scenario with rbac may name.
const PermissionsSuffice = "permissions-suffice"

var storyCompletes = &Property{Name: StoryCompletes,
	Meaning: "Every step of the story can be told: waits end in time, assertions hold, and the horizon is not reached before the end."}

// builtinProperties need no system. Those without a check are judged by the runner
// itself.
func builtinProperties() []*Property {
	return []*Property{
		storyCompletes,
		coreConverges,
		{Name: NoPanic, Meaning: "No process panics: a panic kills the whole process, and most likely again when it comes back to the same input. The run ends there."},
		{Name: NoLivelock, Meaning: "No process keeps a processor busy without virtual time moving, nor an API server with the same request over and over: it would burn a core and starve its neighbours."},
		{Name: NoDeadlock, Meaning: "No task waits for ever for a lock, an answer or another task: its work would never be done, and nothing would say so."},
		{Name: PermissionsSuffice, check: permissionsSuffice,
			Meaning: "The API servers never refuse a process for lack of a permission: a Role that misses a verb is found on the day on which the rare path that needs it is taken."},
	}
}

// permissionsSuffice finds the first permission that a process lacked.
func permissionsSuffice(w *World, _ any) Check {
	return Check{Always: func() error {
		if refusals := w.Refusals(); len(refusals) > 0 {
			return errors.New(refusals[0].String())
		}
		return nil
	}}
}

// EvaluationError says that a condition of the scenario could not be evaluated:
// the scenario is wrong, not the system.
type EvaluationError struct {
	Where  string // the property or step
	Source string // the condition
	Err    error
}

// Error is one line.
func (e *EvaluationError) Error() string {
	return fmt.Sprintf("%s: the condition %q cannot be evaluated: %v", e.Where, e.Source, e.Err)
}

// Unwrap returns the cause.
func (e *EvaluationError) Unwrap() error { return e.Err }

// holds evaluates a condition of the scenario. A condition that needs something
// that does not exist is false.
func (w *World) holds(where string, e *Expr) (bool, error) {
	ok, _, err := w.evaluate(where, e)
	return ok, err
}

// evaluate is holds that tells whether something did not exist.
func (w *World) evaluate(where string, e *Expr) (ok, absent bool, err error) {
	ok, err = e.cond.holds(activation{w})
	switch {
	case errors.Is(err, errAbsent):
		return false, true, nil
	case err != nil:
		return false, false, &EvaluationError{Where: where, Source: e.Source, Err: err}
	}
	return ok, false, nil
}

// noteAbsence remembers whether something that a property names was absent each
// time it was asked for.
func (w *World) noteAbsence(property string, absent bool) {
	if w.absent == nil {
		w.absent = map[string]bool{}
	}
	if before, asked := w.absent[property]; !asked || before {
		w.absent[property] = absent
	}
}

// ownCheck is the check of a condition that the scenario itself states. For
// always, something absent makes the condition false; for never likewise, so
// that what must never happen has not happened yet.
func (w *World) ownCheck(use *PropertyUse) Check {
	demand := func(e *Expr, want bool) func() error {
		return func() error {
			ok, absent, err := w.evaluate("property "+use.Name, e)
			if err != nil {
				return err
			}
			w.noteAbsence(use.Name, absent)
			if ok != want {
				return fmt.Errorf("the condition is %v: %s", ok, oneLine(e.Source))
			}
			return nil
		}
	}
	switch {
	case use.Always != nil:
		return Check{Always: demand(use.Always, true)}
	case use.Never != nil:
		return Check{Always: demand(use.Never, false)}
	default:
		return Check{Eventually: demand(use.Eventually, true), Within: use.Within.Std()}
	}
}

// declare hands a check to the world. It returns how long after calm the check
// still needs the run.
func (w *World) declare(name, meaning string, c Check) time.Duration {
	if c.Always != nil {
		w.Always(name, meaning, c.Always)
	}
	if c.Finally != nil {
		w.Finally(name, meaning, c.Finally)
	}
	if c.Eventually == nil {
		return 0
	}
	due := false
	w.whenCalm(c.Within, func() { due = true })
	near := w.nearMiss(name, &c)
	w.Always(name, meaning, func() error {
		if !due {
			near()
			return nil
		}
		if err := c.Eventually(); err != nil {
			return fmt.Errorf("not within %s after the story was told and faults had ceased: %w", shortDuration(c.Within), err)
		}
		return nil
	})
	return c.Within
}

// nearMiss returns what looks, whenever something has changed after the world became
// calm, whether a property that must hold in time does not hold yet, once in each eighth
// of its time. It changes nothing about the run.
func (w *World) nearMiss(name string, c *Check) func() {
	const parts = 8
	begun, latest := time.Duration(-1), time.Duration(0)
	return func() {
		if w.observe == nil || !w.calm || c.Within <= 0 {
			return
		}
		now := w.Engine().Elapsed()
		if begun < 0 {
			begun = now
		}
		part := (now - begun) * parts / c.Within
		if part <= latest {
			return
		}
		latest = part
		if c.Eventually() != nil {
			w.observe(engine.Event{Kind: explore.Near, Actor: name, Verb: "late", N: uint64(part)})
		}
	}
}
