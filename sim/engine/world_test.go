package engine

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// world is an engine under test and a log of what happened in it.
type world struct {
	*Engine
	t   *testing.T
	log []string
}

// newWorld makes a strict engine with the simplest choices unless edited.
func newWorld(t *testing.T, edit ...func(*Config)) *world {
	t.Helper()
	cfg := Config{Source: NewReplay(Schedule{}), Strict: true, Trace: TraceFull, Horizon: time.Hour}
	for _, f := range edit {
		f(&cfg)
	}
	w := &world{Engine: New(cfg), t: t}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// say logs a line with the virtual time.
func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%v ", w.Elapsed())+fmt.Sprintf(format, args...))
}

// process starts a process.
func (w *world) process(name string, main func(p *Process, ctx context.Context)) *Process {
	p := w.Process(name)
	p.Start(func(ctx context.Context) { main(p, ctx) })
	return p
}

// at runs fn as a callback at a virtual time.
func (w *world) at(d time.Duration, fn func()) {
	w.After(d-w.Elapsed(), func(any) { fn() }, nil)
}

// mustRun runs to the end and fails the test on an error.
func (w *world) mustRun() Result {
	w.t.Helper()
	r := w.Run()
	if r.Err != nil {
		w.t.Fatalf("run: %+v", r.Err)
	}
	return r
}

// answerAfter is a start function for Await whose answer takes d.
func (w *world) answerAfter(d time.Duration) func(*Wait) {
	return func(wait *Wait) { w.After(d, func(any) { wait.Done() }, nil) }
}

const (
	ms     = time.Millisecond
	second = time.Second
)

var opGet = Op{Verb: "get", Key: "secrets/ns/name"}
