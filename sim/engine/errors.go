package engine

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// PanicError is a panic in a task, or in a callback of the simulation itself. It
// prints the stack of the panic with the verb %+v.
type PanicError struct {
	Task  string // id of the task; empty: a callback
	Value any
	Stack []byte
}

// Error names the task and the panic value.
func (p *PanicError) Error() string {
	if p.Task == "" {
		return fmt.Sprintf("panic in a callback: %v", p.Value)
	}
	return fmt.Sprintf("task %s: panic: %v", p.Task, p.Value)
}

// Unwrap returns the panic value if it is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Format adds the stack for %+v.
func (p *PanicError) Format(f fmt.State, verb rune) { format(f, verb, p, p.Stack) }

func format(f fmt.State, verb rune, err error, stack []byte) {
	_, _ = io.WriteString(f, err.Error())
	if verb == 'v' && f.Flag('+') {
		_, _ = fmt.Fprintf(f, "\n%s", stack)
	}
}

// GoexitError says that a task called runtime.Goexit, as testing.T.FailNow and
// SkipNow do. It prints the stack of that call with the verb %+v.
type GoexitError struct {
	Task  string
	Stack []byte
}

// Error names the task.
func (g *GoexitError) Error() string {
	return fmt.Sprintf("task %s: ended by runtime.Goexit (as t.Fatal and t.FailNow do)", g.Task)
}

// Format adds the stack for %+v.
func (g *GoexitError) Format(f fmt.State, verb rune) { format(f, verb, g, g.Stack) }

// LivelockError says that a run takes steps but does not get on.
type LivelockError struct {
	Steps   uint64
	Instant bool // virtual time did not move; else the limit for the whole run
	At      time.Duration
	Task    string // the busiest task of the instant, or empty: callbacks only
	Op      Op     // where it waits
	Burst   uint64 // its steps in the last thousand or so
}

// Error names the busiest task and where it waits.
func (l *LivelockError) Error() string {
	what := fmt.Sprintf("livelock: %d steps in all", l.Steps)
	if l.Instant {
		what = fmt.Sprintf("livelock: %d steps at %v without virtual time moving", l.Steps, l.At)
	}
	if l.Task == "" {
		return what + "; callbacks only, no task ran"
	}
	return fmt.Sprintf("%s; busiest is task %s with %d, now at %q", what, l.Task, l.Burst, l.Op)
}

// DeadlockError says that tasks wait for something that cannot happen any more,
// or has not happened for too long.
type DeadlockError struct {
	At    time.Duration
	Busy  bool // other things happen all the same
	Tasks []StuckTask
}

// StuckTask is a task that waits for ever.
type StuckTask struct {
	Task  string
	Op    Op
	Since time.Duration // when the wait began
}

// Error names every stuck task and where it waits.
func (d *DeadlockError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deadlock at %v: ", d.At)
	if !d.Busy {
		b.WriteString("nothing can happen any more, but ")
	}
	for i, s := range d.Tasks {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "task %s waits at %q", s.Task, s.Op)
		if d.Busy {
			fmt.Fprintf(&b, " since %v", s.Since)
		}
	}
	return b.String()
}

// StallError says that a task has not given the processor back in real time.
type StallError struct {
	Task  string // empty: a callback
	Real  time.Duration
	Stack string // of the task's goroutine
}

// Error names the task and shows its stack, since nothing else will.
func (s *StallError) Error() string {
	who := "a callback"
	if s.Task != "" {
		who = "task " + s.Task
	}
	return fmt.Sprintf("stall: %s has not yielded for %v of real time\n%s", who, s.Real, s.Stack)
}
