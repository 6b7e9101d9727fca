package engine

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Process is one simulated operating-system process. It has tasks, a clock, and
// a life: it starts, may be paused, and ends by a crash or when its main function
// returns; then it may start again.
type Process struct {
	e      *Engine
	name   string
	hash   uint64
	inc    *incarnation // the latest; nil before the first Start
	count  int
	paused bool
	clock  skew
	onEnd  []func()
	onExit []func(Exit)
}

// incarnation is one life of a process.
type incarnation struct {
	p      *Process
	n      int
	dead   bool
	main   *Task
	root   *simContext
	first  *Task // live tasks in the order of their start
	last   *Task
	counts map[string]uint32 // tasks started, by name
	timers *ownedTimer
	held   []held // what became due while the process was paused
}

// held is something that waits for a paused process to go on.
type held struct {
	task *Task
	fn   func(any)
	arg  any
}

// Exit describes the end of an incarnation.
type Exit struct {
	Process     *Process
	Incarnation int
	Crashed     bool // false: main returned
}

// Process returns the process with this name, made at the first call.
func (e *Engine) Process(name string) *Process {
	e.guard("Process")
	p, ok := e.processes[name]
	if !ok {
		p = &Process{e: e, name: name, hash: hashString(name)}
		e.processes[name] = p
		e.processList = append(e.processList, p)
	}
	return p
}

// Name returns the name of the process.
func (p *Process) Name() string { return p.name }

// Engine returns the engine that runs the process.
func (p *Process) Engine() *Engine { return p.e }

// Incarnation counts the starts of the process; 0 before the first.
func (p *Process) Incarnation() int { return p.count }

// Alive reports whether the process has started and not ended.
func (p *Process) Alive() bool { return p.inc != nil && !p.inc.dead }

// Paused reports whether the process is paused.
func (p *Process) Paused() bool { return p.paused }

// Start begins the next incarnation with main as its first task. The process
// ends when main returns, with all its tasks, as in an operating system.
func (p *Process) Start(main func(ctx context.Context)) {
	p.e.guard("Start")
	if p.Alive() {
		panic(fmt.Sprintf("engine: Start of process %s, which is running", p.name))
	}
	p.count++
	p.paused = false
	p.onEnd = nil
	inc := &incarnation{p: p, n: p.count, counts: map[string]uint32{}}
	p.inc = inc
	inc.root = &simContext{e: p.e, inc: inc, parent: context.Background(), expiry: never}
	p.emit("start")
	inc.main = p.spawn(inc.root, "main", main)
}

// Go starts f as a task of the process: it replaces the go statement. f gets ctx.
// It is called by tasks of the process, or from a callback.
func (p *Process) Go(ctx context.Context, name string, f func(ctx context.Context)) *Task {
	p.e.guard("Go")
	if t := p.e.caller(); t != nil && t.inc.p != p {
		panic("engine: Go of process " + p.name + " called by task " + t.ID())
	}
	if !p.Alive() {
		panic("engine: Go " + name + " in process " + p.name + ", which is not running")
	}
	return p.spawn(ctx, name, f)
}

func (p *Process) spawn(ctx context.Context, name string, f func(context.Context)) *Task {
	e, inc := p.e, p.inc
	inc.counts[name]++
	e.serial++
	t := &Task{e: e, inc: inc, name: name, nth: inc.counts[name], serial: e.serial,
		fn: f, fnCtx: ctx, state: taskParked}
	t.setOp(opStart)
	t.hash = mix(mix(p.hash, uint64(inc.n)<<32|uint64(t.nth)), hashString(name))
	inc.add(t)
	e.live++
	t.wake()
	return t
}

// Crash ends the process at once, wherever its tasks are: deferred functions run
// but cannot act, since every method of the engine ends the task that calls it.
// Requests that the process has sent stay on their way. Crash does nothing if the
// process is not alive. A task that crashes its own process ends here.
func (p *Process) Crash() {
	p.e.guard("Crash")
	if !p.Alive() {
		return
	}
	p.end(true)
	if t := p.e.caller(); t != nil && t.inc.dead {
		runtime.Goexit()
	}
}

func (p *Process) end(crashed bool) {
	e, inc := p.e, p.inc
	inc.dead = true
	inc.held = nil
	inc.cancelTimers()
	e.doomed = append(e.doomed, inc)
	e.attention = true
	if crashed {
		p.emit("crash")
	} else {
		p.emit("exit")
	}
	onEnd := p.onEnd
	p.onEnd = nil
	e.asCallback(func() {
		for _, fn := range onEnd {
			fn()
		}
		for _, fn := range p.onExit {
			fn(Exit{Process: p, Incarnation: inc.n, Crashed: crashed})
		}
	})
	e.reap()
}

// OnEnd registers a function that is called once, when this incarnation ends.
func (p *Process) OnEnd(fn func()) {
	p.e.guard("OnEnd")
	p.onEnd = append(p.onEnd, fn)
}

// OnExit registers a function that is called at the end of every incarnation,
// such as a supervisor's.
func (p *Process) OnExit(fn func(Exit)) {
	p.e.guard("OnExit")
	p.onExit = append(p.onExit, fn)
}

// Pause stops all tasks of the process at the place where they wait. What
// becomes due meanwhile happens, in order, after Resume; so sleeps end late.
func (p *Process) Pause() {
	p.e.guard("Pause")
	if !p.Alive() || p.paused {
		return
	}
	p.paused = true
	p.emit("pause")
	inc := p.inc
	p.e.ready.drop(func(t *Task) bool {
		if t.inc != inc {
			return false
		}
		inc.held = append(inc.held, held{task: t})
		return true
	})
}

// Resume lets a paused process go on.
func (p *Process) Resume() {
	p.e.guard("Resume")
	if !p.paused {
		return
	}
	p.paused = false
	if !p.Alive() {
		return
	}
	p.emit("resume")
	inc := p.inc
	due := inc.held
	inc.held = nil
	for _, h := range due {
		switch { // what is delivered may end the process, or pause it again
		case h.task == nil:
			p.deliver(inc, h.fn, h.arg)
		case inc.dead:
		case p.paused:
			inc.held = append(inc.held, h)
		default:
			p.e.ready.push(h.task)
		}
	}
}

// Deliver runs fn as a callback inside the process: at once if it runs, after
// Resume if it is paused, and never if it is dead or dies before that.
func (p *Process) Deliver(fn func(any), arg any) {
	p.e.guard("Deliver")
	if p.Alive() {
		p.deliver(p.inc, fn, arg)
	}
}

func (p *Process) deliver(inc *incarnation, fn func(any), arg any) {
	switch {
	case inc.dead:
	case p.paused:
		inc.held = append(inc.held, held{fn: fn, arg: arg})
	default:
		fn(arg)
	}
}

// After runs fn as a callback inside the process once d has passed on its
// monotonic clock. A crash drops it; while the process is paused it waits.
func (p *Process) After(d time.Duration, fn func(any), arg any) Timer {
	p.e.guard("After")
	if !p.Alive() {
		return Timer{}
	}
	o := &ownedTimer{inc: p.inc, fn: fn, arg: arg}
	o.set(p.e.now + p.trueDuration(d))
	return Timer{e: p.e, owned: o}
}

func (p *Process) emit(verb string) {
	if p.e.closed {
		return
	}
	p.e.emit(Event{Kind: "proc", Actor: p.name, Verb: verb, N: uint64(p.count)})
}

func (inc *incarnation) add(t *Task) {
	t.prev = inc.last
	if inc.last != nil {
		inc.last.succ = t
	} else {
		inc.first = t
	}
	inc.last = t
}

func (inc *incarnation) remove(t *Task) {
	if t.prev != nil {
		t.prev.succ = t.succ
	} else {
		inc.first = t.succ
	}
	if t.succ != nil {
		t.succ.prev = t.prev
	} else {
		inc.last = t.prev
	}
	t.prev, t.succ = nil, nil
}

// reap unwinds the tasks of incarnations that have ended. Inside a task it waits
// until that task has given the processor back: tasks are never unwound on the
// stack of another.
func (e *Engine) reap() {
	if e.running || e.reaping || len(e.doomed) == 0 {
		return
	}
	e.reaping = true
	defer func() { e.reaping = false }()
	e.ready.drop(func(t *Task) bool { return t.inc.dead })
	for len(e.doomed) > 0 {
		inc := e.doomed[0]
		e.doomed = e.doomed[1:]
		for inc.first != nil {
			e.kill(inc.first)
		}
	}
	e.doomed = nil
}

// asCallback runs fn as if no task called it.
func (e *Engine) asCallback(fn func()) {
	was := e.inTask
	e.inTask = false
	defer func() { e.inTask = was }()
	fn()
}
