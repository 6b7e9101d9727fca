package engine

import (
	"context"
	"fmt"
	"time"
)

// simContext is a context that ends on virtual time or by its cancel function,
// without goroutines and without locks.
type simContext struct {
	e      *Engine
	inc    *incarnation
	parent context.Context // for values, and for a deadline that is earlier

	owner      *simContext // nearest ancestor of this type
	children   *simContext
	prev, next *simContext // siblings

	err      error
	done     chan struct{} // made on demand
	deadline time.Time     // on the wall clock of the process
	expiry   int64         // in true virtual time, also if an ancestor's; never
	timer    *ownedTimer
	waiters  ctxWaiters
	after    *afterFunc
}

type contextKey struct{}

// Deadline returns the deadline on the wall clock of the process.
func (c *simContext) Deadline() (time.Time, bool) {
	if !c.deadline.IsZero() {
		return c.deadline, true
	}
	return c.parent.Deadline()
}

// Done returns a channel that is closed when the context ends. Code that runs on
// the engine must not block on it: it uses Sleep, Await or Signal.
func (c *simContext) Done() <-chan struct{} {
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err returns nil, context.Canceled or context.DeadlineExceeded.
func (c *simContext) Err() error { return c.err }

// Value finds the context itself through wrappers such as context.WithValue.
func (c *simContext) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.parent.Value(key)
}

// String names the context without walking to its parents.
func (c *simContext) String() string { return "engine.Context(" + c.inc.p.name + ")" }

// afterFunc is a function to call when a context ends.
type afterFunc struct {
	f          func()
	prev, next *afterFunc
}

// AfterFunc lets the standard library attach contexts of its own to c without a
// goroutine: it calls f synchronously when c ends.
func (c *simContext) AfterFunc(f func()) (stop func() bool) {
	if c.err != nil {
		f()
		return func() bool { return false }
	}
	a := &afterFunc{f: f, next: c.after}
	if a.next != nil {
		a.next.prev = a
	}
	c.after = a
	return func() bool { return c.takeAfter(a) != nil }
}

// takeAfter removes a, and returns its function unless it was removed before.
func (c *simContext) takeAfter(a *afterFunc) (f func()) {
	f, a.f = a.f, nil
	if f == nil {
		return nil
	}
	if a.prev != nil {
		a.prev.next = a.next
	} else {
		c.after = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	}
	return f
}

// ProcessFrom returns the process whose context ctx derives from, or nil.
func ProcessFrom(ctx context.Context) *Process {
	if c, _ := ctx.Value(contextKey{}).(*simContext); c != nil {
		return c.inc.p
	}
	return nil
}

// WithCancel is context.WithCancel without a goroutine.
func (p *Process) WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	c := p.newContext("WithCancel", parent)
	return c, c.cancelFunc
}

// WithTimeout is context.WithTimeout on the process's monotonic clock.
func (p *Process) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c := p.newContext("WithTimeout", parent)
	if c.err != nil {
		return c, c.cancelFunc
	}
	if d <= 0 {
		c.deadline = p.Now().Add(d)
		c.end(context.DeadlineExceeded)
		return c, c.cancelFunc
	}
	at := p.e.now + p.trueDuration(d)
	if at < p.e.now || at >= c.expiry {
		return c, c.cancelFunc // the parent ends first
	}
	c.deadline, c.expiry = p.Now().Add(d), at
	c.timer = &ownedTimer{inc: c.inc, fn: expire, arg: c}
	c.timer.set(at)
	return c, c.cancelFunc
}

func expire(arg any) { arg.(*simContext).end(context.DeadlineExceeded) }

func (p *Process) newContext(method string, parent context.Context) *simContext {
	p.e.guard(method)
	if !p.Alive() {
		panic("engine: " + method + " in process " + p.name + ", which is not running")
	}
	c := &simContext{e: p.e, inc: p.inc, parent: parent, expiry: never}
	owner, same := ownContext(parent)
	if err := parent.Err(); err != nil {
		c.err = err
		return c
	}
	if owner != nil && (same || parent.Done() != nil) {
		if owner.err != nil { // a context between has not heard yet
			c.err = owner.err
			return c
		}
		c.expiry = owner.expiry
		c.owner, c.next = owner, owner.children
		if c.next != nil {
			c.next.prev = c
		}
		owner.children = c
	}
	if !same && parent.Done() != nil {
		p.e.watch(foreignWatch{ctx: parent, child: c})
	}
	return c
}

// ownContext returns the nearest simContext behind ctx, and whether it ends
// exactly when ctx does.
func ownContext(ctx context.Context) (c *simContext, same bool) {
	if c, ok := ctx.(*simContext); ok {
		return c, true
	}
	c, _ = ctx.Value(contextKey{}).(*simContext)
	if c == nil {
		return nil, false
	}
	return c, ctx.Done() == c.Done()
}

func (c *simContext) cancelFunc() {
	if t := c.e.caller(); t != nil && t.inc.dead {
		return // "defer cancel()" of a dying task: nobody is left to see it
	}
	if c.e.strict {
		c.e.checkIdentity("cancel")
	}
	c.end(context.Canceled)
}

// end closes the context and everything below it.
func (c *simContext) end(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.timer != nil {
		c.timer.cancel() // does nothing if this is its call
		c.timer = nil
	}
	c.unlink()
	for c.children != nil {
		c.children.end(err)
	}
	for t := c.waiters.head; t != nil; t = c.waiters.head {
		t.leaveContext()
		t.ended = err
		t.wake()
	}
	for c.after != nil {
		c.takeAfter(c.after)()
	}
}

func (c *simContext) unlink() {
	if c.owner == nil {
		return
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else if c.owner.children == c {
		c.owner.children = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.prev, c.next, c.owner = nil, nil, nil
}

// ctxWaiters is the list of tasks parked until the context ends.
type ctxWaiters struct{ head, tail *Task }

// waitOn lets the end of ctx wake t.
func (t *Task) waitOn(ctx context.Context) {
	t.ended = nil
	c, same := ownContext(ctx)
	if c != nil && (same || ctx.Done() != nil) {
		if c.err != nil {
			t.ended = c.err
			t.wake()
			return
		}
		t.ctx = c
		t.cprev = c.waiters.tail
		if t.cprev != nil {
			t.cprev.cnext = t
		} else {
			c.waiters.head = t
		}
		c.waiters.tail = t
	}
	if !same && ctx.Done() != nil {
		t.watching = t.e.steps
		t.e.watch(foreignWatch{ctx: ctx, task: t, step: t.e.steps})
	}
}

// leave stops waiting for the context and returns its error if it woke t.
func (t *Task) leave() error {
	if t.ctx != nil {
		t.leaveContext()
	}
	t.watching = 0
	err := t.ended
	t.ended = nil
	return err
}

func (t *Task) leaveContext() {
	c := t.ctx
	if t.cprev != nil {
		t.cprev.cnext = t.cnext
	} else {
		c.waiters.head = t.cnext
	}
	if t.cnext != nil {
		t.cnext.cprev = t.cprev
	} else {
		c.waiters.tail = t.cprev
	}
	t.ctx, t.cprev, t.cnext = nil, nil, nil
}

// foreignWatch looks after a context made by the standard library, which cannot
// tell the engine that it has ended: the engine looks after each step of a task.
type foreignWatch struct {
	ctx   context.Context
	task  *Task       // to wake, if it still waits since
	step  uint64      // this step
	child *simContext // or to end
}

// watch begins to look after a context. A deadline of the standard library's is
// real time, which is not deterministic: Strict refuses it.
func (e *Engine) watch(w foreignWatch) {
	e.watched = append(e.watched, w)
	e.attention = true
	if !e.strict {
		return
	}
	deadline, ok := w.ctx.Deadline()
	if own, _ := ownContext(w.ctx); own != nil {
		inherited, had := own.Deadline()
		ok = ok && !(had && inherited.Equal(deadline))
	}
	if ok {
		who := "a callback"
		if t := e.caller(); t != nil {
			who = fmt.Sprintf("task %s at %q", t.ID(), t.op)
		}
		e.fail(fmt.Errorf("%s: context with a deadline on the machine's clock: "+
			"use Process.WithTimeout, not context.WithTimeout", who))
	}
}

func (e *Engine) pollForeign() {
	live := e.watched[:0]
	for _, w := range e.watched {
		switch err := w.ctx.Err(); {
		case w.task != nil && w.task.watching != w.step, w.child != nil && (w.child.err != nil || w.child.inc.dead):
		case err == nil:
			live = append(live, w)
		case w.task != nil:
			w.task.watching = 0
			w.task.ended = err
			w.task.wake()
		default:
			w.child.end(err)
		}
	}
	clear(e.watched[len(live):])
	e.watched = live
}
