package engine

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
)

// guard is the entry check of methods that may be called by tasks and by
// callbacks. A task that has died is ended here, so that its deferred functions
// cannot act on the world.
func (e *Engine) guard(method string) {
	if e.strict {
		e.checkIdentity(method)
	}
	if t := e.cur; t != nil && t.inc.dead {
		runtime.Goexit()
	}
}

// checkIdentity panics if the calling goroutine is not the one that the engine
// is running. A goroutine that code under test started with a go statement would
// run beside the tasks and corrupt the run without a trace.
func (e *Engine) checkIdentity(method string) {
	want := e.g
	if t := e.running; t != nil {
		want = t.g
	}
	if want != 0 && getg() != want {
		panic(e.foreign(method))
	}
}

// foreign describes a call from a goroutine that the engine does not run.
func (e *Engine) foreign(method string) error {
	who := "no task was running"
	if t := e.running; t != nil {
		who = "task " + t.ID() + " was running"
	}
	return fmt.Errorf("engine: %s called from a goroutine that is no task (%s; %s): "+
		"start tasks with Process.Go, not with a go statement", method, creator(ownStack()), who)
}

// ownStack returns the stack trace of the calling goroutine.
func ownStack() []byte {
	b := make([]byte, 8<<10)
	return b[:runtime.Stack(b, false)]
}

// goroutineID returns the number in the header of a stack trace.
func goroutineID(stack []byte) uint64 {
	s := bytes.TrimPrefix(stack, []byte("goroutine "))
	if i := bytes.IndexByte(s, ' '); i >= 0 {
		s = s[:i]
	}
	id, _ := strconv.ParseUint(string(s), 10, 64)
	return id
}

// creator returns the last part of a stack trace, which says where its goroutine
// was started.
func creator(stack []byte) string {
	i := bytes.LastIndex(stack, []byte("created by "))
	if i < 0 {
		return "the main goroutine"
	}
	return string(bytes.Join(bytes.Fields(stack[i:]), []byte(" ")))
}
