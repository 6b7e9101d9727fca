package engine

import (
	"context"
	"runtime"
)

// Signal carries one bit from any number of senders to a waiting task of its
// process: it replaces a channel of capacity one. Sends coalesce.
type Signal struct {
	p       *Process
	inc     *incarnation
	set     bool
	waiters waitList
}

var opSignal = Op{Verb: "wait", Idle: true}

// NewSignal returns a signal that nobody has sent yet. It lives as long as this
// incarnation of the process.
func (p *Process) NewSignal() *Signal {
	p.e.guard("NewSignal")
	return &Signal{p: p, inc: p.inc}
}

// Send sets the signal, or wakes the task that has waited for longest. Tasks and
// callbacks may call it.
func (s *Signal) Send() {
	s.p.e.guard("Send")
	if t := s.waiters.pop(); t != nil {
		t.wake()
		return
	}
	s.set = true
}

// Wait returns nil once the signal is set, and clears it; or ctx.Err() as soon as
// ctx ends.
func (s *Signal) Wait(ctx context.Context) error {
	t := s.p.enter("Wait")
	if err := ctx.Err(); err != nil {
		return err
	}
	t.setOp(opSignal)
	t.state = taskParked
	if s.set {
		s.set = false
		t.wake()
	} else {
		s.waiters.push(t)
		t.waitOn(ctx)
	}
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
	err := t.leave()
	if t.list == nil {
		return nil // it was set, or Send has taken t from the list
	}
	s.waiters.remove(t)
	return err
}

// Mutex is a lock between tasks of one process. A real mutex held by a task that
// waits would stop the whole engine.
type Mutex struct {
	p       *Process
	owner   *Task
	waiters waitList
}

var opLock = Op{Verb: "lock"}

// NewMutex returns an unlocked mutex. It implements [sync.Locker].
func (p *Process) NewMutex() *Mutex { return &Mutex{p: p} }

// Lock waits until the mutex is free and takes it. It is a scheduling point.
func (m *Mutex) Lock() {
	t := m.p.enter("Lock")
	t.setOp(opLock)
	t.state = taskParked
	t.wake()
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
	if m.owner == nil {
		m.owner = t
		return
	}
	m.waiters.push(t)
	t.state = taskParked
	t.lock, t.since = m, t.e.now
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
	t.lock = nil
}

// Unlock frees the mutex or hands it to the task that has waited for longest.
func (m *Mutex) Unlock() {
	t := m.p.enter("Unlock")
	if m.owner != t {
		panic("engine: task " + t.ID() + " unlocks a mutex that it does not hold")
	}
	m.owner = m.waiters.pop()
	if m.owner != nil {
		m.owner.wake()
	}
}
