package engine

import "time"

// Timer is a pending callback. The zero Timer is none.
type Timer struct {
	e     *Engine
	owned *ownedTimer
	slot  uint32
	gen   uint32
}

// After calls fn(arg) once d has passed in true virtual time; d < 0 counts as 0.
// It does not allocate if arg is a pointer. fn runs on the engine, not on a task:
// it must not wait.
func (e *Engine) After(d time.Duration, fn func(any), arg any) Timer {
	e.guard("After")
	return e.at(e.now+int64(max(d, 0)), fn, arg)
}

func (e *Engine) at(at int64, fn func(any), arg any) Timer {
	if at < e.now {
		at = never // the sum overflowed
	}
	s, gen := e.queue.push(at, fn, arg)
	return Timer{e: e, slot: s, gen: gen}
}

// Cancel removes the callback and reports whether it was still pending.
func (t Timer) Cancel() bool {
	if t.e == nil {
		return false
	}
	t.e.guard("Cancel")
	if t.owned != nil {
		return t.owned.cancel()
	}
	return t.drop()
}

// drop is Cancel of an event of the engine's own.
func (t Timer) drop() bool {
	return t.e != nil && t.e.queue.cancel(t.slot, t.gen)
}

// ownedTimer is a timer that ends with its incarnation and, while the process is
// paused, waits.
type ownedTimer struct {
	timer      Timer
	inc        *incarnation
	fn         func(any)
	arg        any
	done       bool // called or cancelled
	prev, next *ownedTimer
}

// set starts the timer; at is in true virtual time.
func (o *ownedTimer) set(at int64) {
	o.timer = o.inc.p.e.at(at, fireOwned, o)
	o.next = o.inc.timers
	if o.next != nil {
		o.next.prev = o
	}
	o.inc.timers = o
}

func fireOwned(arg any) {
	o := arg.(*ownedTimer)
	o.unlink()
	o.inc.p.deliver(o.inc, callOwned, o)
}

func callOwned(arg any) {
	o := arg.(*ownedTimer)
	if !o.done {
		o.done = true
		o.fn(o.arg)
	}
}

func (o *ownedTimer) cancel() bool {
	if o.done || o.inc.dead {
		return false
	}
	o.done = true
	if o.timer.drop() {
		o.unlink()
	} // else it is due, and held because the process is paused
	return true
}

func (o *ownedTimer) unlink() {
	if o.prev != nil {
		o.prev.next = o.next
	} else {
		o.inc.timers = o.next
	}
	if o.next != nil {
		o.next.prev = o.prev
	}
	o.prev, o.next = nil, nil
}

func (inc *incarnation) cancelTimers() {
	for o := inc.timers; o != nil; o = o.next {
		o.timer.drop()
	}
	inc.timers = nil
}
