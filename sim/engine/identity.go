package engine

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"unsafe"
)

// guard is the entry check of methods that may be called by tasks and by
// callbacks. A task that has died is ended here, so that its deferred functions
// cannot act on the world.
func (e *Engine) guard(method string) {
	if e.strict {
		e.checkIdentity(method)
	}
	if e.inTask && e.task.inc.dead {
		runtime.Goexit()
	}
}

// Enter is the entry check of the engine's own methods, for adapters that let code
// under test act on something else: it does not return if the calling task has died,
// and with Config.Strict it panics if the caller is no task.
func (e *Engine) Enter() { e.guard("Enter") }

// caller returns the task that is calling, or nil in a callback.
func (e *Engine) caller() *Task {
	if e.inTask {
		return e.task
	}
	return nil
}

// checkIdentity panics if the calling goroutine is not the one that the engine
// is running. A goroutine that code under test started with a go statement would
// run beside the tasks and corrupt the run silently.
func (e *Engine) checkIdentity(method string) {
	want := e.g
	if e.running {
		want = e.task.g
	}
	if want != 0 && getg() != want {
		panic(e.foreign(method))
	}
}

// foreign describes a call from a goroutine that the engine does not run. The
// panic ends the program, unless the goroutine recovers: what follows would not
// be a simulation.
func (e *Engine) foreign(method string) error {
	own := ownStack()
	task := "a task that has ended, or code outside the run"
	if id := e.starter(own); id != "" {
		task = "task " + id
	}
	return fmt.Errorf("engine: %s called from a goroutine that is not a task, started by %s (%s): "+
		"start tasks with Process.Go instead of the go statement", method, task, creator(own))
}

// starter returns the id of the task that started the goroutine with this stack.
func (e *Engine) starter(stack []byte) string {
	parent := parentLine.FindSubmatch(stack)
	if parent == nil {
		return ""
	}
	for g := range bytes.SplitSeq(allStacks(), []byte("\n\n")) {
		if !bytes.HasPrefix(g, []byte("goroutine "+string(parent[1])+" ")) {
			continue
		}
		// The receiver of Task.body is printed as an address.
		body := bodyLine.FindSubmatch(g)
		if body == nil {
			return ""
		}
		address, _ := strconv.ParseUint(string(body[1]), 16, 64)
		return e.taskAt(uintptr(address))
	}
	return ""
}

var (
	parentLine = regexp.MustCompile(`created by .* in goroutine (\d+)`)
	bodyLine   = regexp.MustCompile(`engine\.\(\*Task\)\.body\(0x([0-9a-f]+)`)
)

// taskAt returns the id of the live task at an address.
func (e *Engine) taskAt(address uintptr) string {
	for _, p := range e.processList {
		if p.inc == nil {
			continue
		}
		for t := p.inc.first; t != nil; t = t.succ {
			if uintptr(unsafe.Pointer(t)) == address {
				return t.ID()
			}
		}
	}
	return ""
}

// allStacks returns the stack traces of all goroutines, up to a megabyte.
func allStacks() []byte {
	b := make([]byte, 1<<20)
	return b[:runtime.Stack(b, true)]
}

// ownStack returns the stack trace of the calling goroutine.
func ownStack() []byte {
	b := make([]byte, 16<<10)
	return b[:runtime.Stack(b, false)]
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
