package engine

import (
	"context"
	"runtime"
	"time"
	"unsafe"
)

// Op says what a task is about to do where it waits. Strategies read it to find
// tasks that conflict, and messages name it.
type Op struct {
	Verb  string // "get", "update", "sleep"
	Key   string // what it touches, e.g. "secrets/ns/name"; empty: nothing shared
	Write bool
	Idle  bool // waiting here for ever is normal, e.g. for the next item of work
}

// String returns the verb and the key.
func (o Op) String() string {
	if o.Key == "" {
		return o.Verb
	}
	return o.Verb + " " + o.Key
}

var (
	opStart = Op{Verb: "start"}
	opSleep = Op{Verb: "sleep"}
)

// setOp says where t waits next. Its hash goes into the trace; for the very same
// strings as before it is known.
func (t *Task) setOp(op Op) {
	if sameString(op.Verb, t.op.Verb) && sameString(op.Key, t.op.Key) {
		t.op.Write, t.op.Idle = op.Write, op.Idle
		return
	}
	t.op = op
	t.keyHash = hashString(op.Key)
	t.opHash = hashString(op.Verb) ^ t.keyHash*hashK0
}

// sameString reports whether a and b are the same bytes in memory.
func sameString(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// enter is the entry check of methods that only tasks of p may call.
func (p *Process) enter(method string) *Task {
	e := p.e
	if e.strict {
		e.checkIdentity(method)
	}
	t := e.task
	if !e.inTask {
		panic("engine: " + method + " of process " + p.name + " called outside its tasks")
	}
	if t.inc.dead {
		runtime.Goexit()
	}
	if t.inc.p != p {
		panic("engine: " + method + " of process " + p.name + " called by task " + t.ID())
	}
	if t.state != taskRunning {
		panic("engine: " + method + " called by task " + t.ID() + " inside the start function of Await")
	}
	return t
}

// Yield is a scheduling point: the task says what it will do next, and any other
// ready task may run before it does.
func (p *Process) Yield(op Op) {
	t := p.enter("Yield")
	t.setOp(op)
	t.state = taskParked
	t.wake()
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
}

// Sleep waits until d has passed on the process's monotonic clock and returns
// nil, or ctx.Err() as soon as ctx ends. With d <= 0 it is a scheduling point.
func (p *Process) Sleep(ctx context.Context, d time.Duration) error {
	t := p.enter("Sleep")
	if err := ctx.Err(); err != nil {
		return err
	}
	t.setOp(opSleep)
	t.state = taskParked
	if d > 0 {
		t.timer = p.e.at(p.e.now+p.trueDuration(d), wakeTask, t)
		t.waitOn(ctx)
	} else {
		t.wake()
	}
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
	t.timer.drop()
	return t.leave()
}

func wakeTask(arg any) { arg.(*Task).wake() }

// Wait is one call of [Process.Await] in progress.
type Wait struct {
	t    *Task
	done bool
}

// Done ends the wait: the task becomes ready. It may be called at any time, also
// after the task has died or given up, and more than once; only the first call
// while the task waits has an effect.
func (w *Wait) Done() {
	t := w.t
	if t == nil {
		return
	}
	t.e.guard("Done")
	w.t = nil
	if t.wait != w {
		return
	}
	t.wait = nil
	w.done = true
	t.wake()
}

// Waiting reports whether the task still waits for Done.
func (w *Wait) Waiting() bool { return w.t != nil && w.t.wait == w }

// Await parks the running task at op until Done is called on the Wait that it
// hands to start. It returns nil then, and ctx.Err() if ctx ends first.
//
// start runs at once, on the task, unless ctx has ended already; it must not wait itself. It typically sends a
// request whose answer, an event, calls Done. If it calls Done itself, Await is
// a scheduling point.
func (p *Process) Await(ctx context.Context, op Op, start func(*Wait)) error {
	t := p.enter("Await")
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &Wait{t: t}
	t.setOp(op)
	t.begin(w, start)
	t.state = taskParked
	t.since = t.e.now
	if w.done {
		t.wake()
	} else {
		t.waitOn(ctx)
	}
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
	t.wait = nil
	err := t.leave()
	if w.done {
		return nil
	}
	return err
}

// begin calls start for the wait w.
func (t *Task) begin(w *Wait, start func(*Wait)) {
	t.wait = w
	t.state = taskParking
	defer func() { t.state = taskRunning }() // also when start panics
	start(w)
	if t.inc.dead {
		runtime.Goexit()
	}
}
