package engine

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
)

type taskState uint8

const (
	taskReady   taskState = iota // in the ready queue, or held while its process is paused
	taskRunning                  // on the processor
	taskParking                  // on the processor, inside the start function of Await
	taskParked                   // waiting for a wake
	taskDone
)

// Task is one thread of a simulated process. Tasks run one at a time, each until
// its next call of a method that waits.
type Task struct {
	// What each step touches comes first, to lie in few cache lines.
	e       *Engine
	inc     *incarnation
	next    func() (struct{}, bool) // lets the coroutine run; nil before the first step
	yield   func(struct{}) bool     // gives the processor back
	g       uintptr                 // the goroutine
	hash    uint64                  // of the id's parts
	opHash  uint64
	keyHash uint64
	op      Op
	state   taskState

	timer    Timer
	wait     *Wait       // the Await in progress
	ctx      *simContext // the context whose end wakes the task
	ended    error       // why the context woke it
	watching uint64      // the step since which the engine looks after a foreign context; 0: none

	list         *waitList // the list of waiters the task is in
	wprev, wnext *Task     // neighbours in list
	cprev, cnext *Task     // neighbours among the waiters of ctx
	prev, succ   *Task     // neighbours in the incarnation
	joiners      waitList
	joining      *Task
	lock         *Mutex // the task waits for it
	since        int64  // when the wait in Await, Join or Lock began

	stop     func()
	fn       func(context.Context)
	fnCtx    context.Context
	returned bool
	failure  error // a panic or a Goexit of code under test

	name   string
	nth    uint32 // among the tasks of this name in the incarnation
	id     string // built on demand
	serial uint64
	slot   uint64 // the source's
}

// ID returns "process#incarnation/name.n". It is stable: the same code started
// in the same order gets the same ids, whatever the schedule.
func (t *Task) ID() string {
	if t.id == "" {
		t.id = fmt.Sprintf("%s#%d/%s.%d", t.inc.p.name, t.inc.n, t.name, t.nth)
	}
	return t.id
}

// taskEnd is the panic value by which an abnormal end of a task passes through
// iter.Pull, which would otherwise forward Goexit to the engine's goroutine.
type taskEnd struct{ t *Task }

// start makes the coroutine. The engine does so at the task's first step, so
// that a task killed before that costs nothing.
func (t *Task) start() {
	t.next, t.stop = iter.Pull(t.body)
}

// body runs the task's function. Whatever way it ends, the engine learns of it:
// by a normal return, or by a panic with taskEnd that it recovers.
func (t *Task) body(yield func(struct{}) bool) {
	t.yield = yield
	t.g = getg()
	defer t.atEnd()
	t.fn(t.fnCtx)
	t.returned = true
}

func (t *Task) atEnd() {
	switch {
	case t.returned:
		return
	case t.inc.dead:
		// Killed. A panic of a deferred function cannot matter any more, and
		// need not be recovered: the one below takes its place.
	default:
		if r := recover(); r != nil {
			t.failure = &PanicError{Task: t.ID(), Value: r, Stack: debug.Stack()}
		} else {
			t.failure = &GoexitError{Task: t.ID(), Stack: debug.Stack()}
		}
	}
	panic(taskEnd{t})
}

// A task gives the processor back with
//
//	if !t.yield(struct{}{}) {
//		runtime.Goexit()
//	}
//
// and goes on when the engine resumes it. If it was killed meanwhile yield returns
// false, and Goexit runs its deferred functions. These lines are written out at
// each place, because a processor mispredicts every return after the switch of
// stacks: a function around them would cost 5 % of a step.

// wake makes a parked task ready. It does nothing in any other state.
func (t *Task) wake() {
	if t.state != taskParked {
		return
	}
	t.state = taskReady
	if t.inc.p.paused {
		t.inc.held = append(t.inc.held, held{task: t})
		return
	}
	t.e.ready.push(t)
}

// finish records that t has ended, by return, panic, Goexit or death.
func (e *Engine) finish(t *Task) {
	if t.state == taskDone {
		return
	}
	t.state = taskDone
	t.detach()
	t.inc.remove(t)
	t.next, t.stop, t.yield, t.fn, t.fnCtx = nil, nil, nil, nil, nil
	e.live--
	if t.failure != nil {
		e.fail(t.failure)
		return
	}
	for j := t.joiners.pop(); j != nil; j = t.joiners.pop() {
		j.wake()
	}
	if t.inc.main == t && !t.inc.dead {
		t.inc.p.end(false)
	}
}

// detach takes t out of everything that might wake it.
func (t *Task) detach() {
	t.timer.drop()
	t.wait = nil
	_ = t.leave()
	if t.list != nil {
		t.list.remove(t)
	}
}

// kill unwinds t, whose incarnation is dead and which is not running: its
// deferred functions run, but every method they call ends them.
func (e *Engine) kill(t *Task) {
	if t.state == taskDone {
		return
	}
	t.detach()
	if t.next != nil {
		e.unwind(t)
	}
	e.finish(t)
}

func (e *Engine) unwind(t *Task) {
	last := e.task
	e.task, e.running, e.inTask = t, true, true
	e.beat(t)
	defer func() {
		e.task, e.running, e.inTask = last, false, false
		if r := recover(); r != nil && r != any(taskEnd{t}) {
			panic(r)
		}
	}()
	t.stop()
}

// Join waits until t has ended. It must be called by a task of the same process.
func (t *Task) Join() {
	me := t.inc.p.enter("Join")
	me.setOp(Op{Verb: "join", Key: t.name})
	me.state = taskParked
	me.since = me.e.now
	if t.state == taskDone {
		me.wake()
	} else {
		me.joining = t
		t.joiners.push(me)
	}
	if !me.yield(struct{}{}) {
		runtime.Goexit()
	}
	me.joining = nil
}

// waitList is a queue of parked tasks. A task is in at most one.
type waitList struct{ head, tail *Task }

func (l *waitList) push(t *Task) {
	t.list, t.wprev, t.wnext = l, l.tail, nil
	if l.tail != nil {
		l.tail.wnext = t
	} else {
		l.head = t
	}
	l.tail = t
}

func (l *waitList) pop() *Task {
	t := l.head
	if t != nil {
		l.remove(t)
	}
	return t
}

func (l *waitList) remove(t *Task) {
	if t.wprev != nil {
		t.wprev.wnext = t.wnext
	} else {
		l.head = t.wnext
	}
	if t.wnext != nil {
		t.wnext.wprev = t.wprev
	} else {
		l.tail = t.wprev
	}
	t.list, t.wprev, t.wnext = nil, nil, nil
}

// Running returns the id of the task that has the processor, or "" in a callback.
func (e *Engine) Running() string {
	if !e.inTask {
		return ""
	}
	return e.task.ID()
}
