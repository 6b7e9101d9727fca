package engine

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// pulse is what the engine shows to its watchdog. The watchdog only reads it, so
// it has no influence on the run.
type pulse struct {
	beats   atomic.Uint64
	task    atomic.Pointer[string]
	stalled atomic.Pointer[StallError]
}

// beat tells the watchdog that a step begins.
func (e *Engine) beat(t *Task) {
	if e.pulse == nil {
		return
	}
	var id *string
	if t != nil {
		t.ID()
		id = &t.id
	}
	e.pulse.task.Store(id)
	e.pulse.beats.Add(1)
}

// startWatchdog watches the run in real time, if asked to. It is the engine's
// only goroutine. stop ends it and turns a stall that it saw into a failure.
func (e *Engine) startWatchdog() (stop func()) {
	if e.cfg.Stall <= 0 {
		return func() {}
	}
	p := &pulse{}
	e.pulse = p
	report := e.cfg.OnStall
	if report == nil {
		report = exitOnStall
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.watch(e.cfg.Stall, report, quit)
	}()
	return func() {
		close(quit)
		<-ended
		e.pulse = nil
		if s := p.stalled.Load(); s != nil {
			e.fail(s)
		}
	}
}

// watch reports once when no step has begun for the given real time.
func (p *pulse) watch(stall time.Duration, report func(*StallError), quit <-chan struct{}) {
	const checks = 8 // per stall time
	tick := time.NewTicker(max(stall/checks, time.Millisecond))
	defer tick.Stop()
	seen, still := p.beats.Load(), 0
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		if n := p.beats.Load(); n != seen {
			seen, still = n, 0
			continue
		}
		if still++; still < checks {
			continue
		}
		s := &StallError{Real: stall, Stack: busyStack()}
		if id := p.task.Load(); id != nil {
			s.Task = *id
		}
		p.stalled.Store(s)
		report(s)
		return
	}
}

// exitOnStall is the default of Config.OnStall.
func exitOnStall(s *StallError) {
	fmt.Fprintln(os.Stderr, s)
	os.Exit(3)
}

// busyStack returns the stacks of goroutines inside a run that are not parked
// tasks. It is the stuck task, and in a program with several engines at once
// perhaps others that happen to run.
func busyStack() string {
	var out [][]byte
	for g := range bytes.SplitSeq(allStacks(), []byte("\n\n")) {
		header, _, _ := bytes.Cut(g, []byte("\n"))
		if bytes.Contains(header, []byte("[coroutine")) || !bytes.Contains(g, []byte("engine.(*Engine).")) &&
			!bytes.Contains(g, []byte("engine.(*Task).body")) {
			continue
		}
		if !bytes.Contains(g, []byte("engine.(*pulse).watch")) {
			out = append(out, g)
		}
	}
	return string(bytes.Join(out, []byte("\n\n")))
}
