package engine

import (
	"errors"
	"runtime/debug"
	"time"
)

// Engine runs one simulation. It is single-threaded: all methods are called from
// its callbacks, its tasks, or, outside Run, the goroutine that made it.
type Engine struct {
	cfg    Config
	source Source
	strict bool

	queue   queue
	ready   readyQueue
	now     int64
	steps   uint64
	task    *Task // the task that has the processor, or had it last
	running bool  // it has
	inTask  bool  // and it is not in a callback that it made
	g       uintptr

	contention Contention
	attention  bool // afterStep has something to do

	nextVigil int64 // when to look for tasks that have waited for too long
	excused   int64 // waits count from here at the earliest
	excuse    bool  // what Excused said at the latest look

	stepLimit uint64           // at which the run ends, in this instant
	nextLook  uint64           // at which look is called
	counting  bool             // steps of tasks
	census    map[*Task]uint64 // the counts

	processes   map[string]*Process
	processList []*Process
	doomed      []*incarnation
	reaping     bool
	live        int
	serial      uint64
	watched     []foreignWatch

	streams   map[string]*Stream
	entropies map[string]*Entropy
	entropy   uint64
	recorder  *recorder

	hash      uint64
	records   []Record
	readers   []func(Record) // of the trace; see OnRecord
	touched   bool
	onTouched []func() error

	err     error
	stopped bool
	inRun   bool
	closed  bool
	ended   bool    // a task ended abnormally; what follows a step is still due
	abort   aborter // the source, if it may abandon the run
	pulse   *pulse
}

var defaultStart = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// New returns an engine at virtual time zero. It panics without a source.
func New(cfg Config) *Engine {
	if cfg.Source == nil {
		panic("engine: Config.Source is nil")
	}
	if cfg.Start.IsZero() {
		cfg.Start = defaultStart
	}
	if cfg.StepsPerInstant == 0 {
		cfg.StepsPerInstant = million
	}
	e := &Engine{
		cfg:       cfg,
		source:    cfg.Source,
		strict:    cfg.Strict,
		processes: map[string]*Process{},
		streams:   map[string]*Stream{},
		entropies: map[string]*Entropy{},
	}
	e.abort, _ = cfg.Source.(aborter)
	cfg.Source.Begin()
	e.entropy = cfg.Source.Entropy()
	e.checkAbort()
	e.contention.e = e
	e.nextVigil = never
	e.moveTo(0)
	if cfg.Patience > 0 {
		e.nextVigil = e.vigilAfter()
	}
	if cfg.Record {
		e.recorder = &recorder{}
	}
	return e
}

// Run runs until the horizon, Stop, a failure, or until nothing is left to do. It
// runs everything on the calling goroutine. It may be called again to go on
// after Stop(nil).
func (e *Engine) Run() Result { return e.RunUntil(e.cfg.Horizon) }

// aborter is a source that may abandon a run with a panic of its own, which
// must not pass through the stacks of tasks.
type aborter interface{ aborted() any }

// Aborted returns the value of the panic with which a source has abandoned its
// run, or nil.
func Aborted(s Source) any {
	if a, ok := s.(aborter); ok {
		return a.aborted()
	}
	return nil
}

// checkAbort ends a run that its source has abandoned: by a panic of the source's,
// or inside Run, at the end of the step.
func (e *Engine) checkAbort() {
	if e.abort == nil || e.abort.aborted() == nil {
		return
	}
	if !e.inRun {
		panic(e.abort.aborted())
	}
	e.stopped = true
}

// RunUntil is Run with another horizon, counted from virtual time zero; 0: none.
func (e *Engine) RunUntil(horizon time.Duration) Result {
	if e.inRun {
		panic("engine: Run called inside Run")
	}
	end := int64(horizon)
	if end == 0 {
		end = never
	}
	e.run(end)
	e.checkAbort()
	return e.result()
}

func (e *Engine) run(horizon int64) {
	e.inRun, e.stopped, e.g = true, e.err != nil, getg()
	stop := e.startWatchdog()
	defer func() { // also when a callback calls t.FailNow
		stop()
		e.inRun, e.g = false, 0
		e.running, e.inTask = false, false
	}()
	for !e.loop(horizon) {
	}
	if e.nextVigil != never && e.err == nil {
		e.vigil()
	}
}

func (e *Engine) result() Result {
	r := Result{Err: e.err, Hash: e.hash, Steps: e.steps, Elapsed: e.Elapsed(), Records: e.records}
	if e.recorder != nil {
		r.Schedule = e.recorder.schedule(e.entropy)
	}
	if d, ok := e.source.(interface{ Diverged() bool }); ok {
		r.Diverged = d.Diverged()
	}
	return r
}

// loop takes steps and reports whether the run is over. It returns false when a
// task ended abnormally, which reaches it as a panic: one recover here costs
// nothing, where one around each resume would cost a quarter of a step.
func (e *Engine) loop(horizon int64) (over bool) {
	defer func() {
		if r := recover(); r != nil {
			e.recovered(r)
			over = e.stopped
		}
	}()
	if e.ended {
		e.ended = false
		e.afterStep()
	}
	for !e.stopped {
		if e.ready.n == 0 {
			if !e.fire(horizon) {
				return true
			}
		} else {
			t := e.pick()
			if t.next == nil {
				t.start()
			}
			e.traceTask(t)
			t.state = taskRunning
			e.task, e.running, e.inTask = t, true, true
			_, alive := t.next() // until the task parks or ends
			e.running, e.inTask = false, false
			if !alive {
				e.finish(t)
			}
		}
		if e.attention || e.steps >= e.nextLook {
			e.afterStep()
		}
	}
	return true
}

// recovered handles a panic that reached the loop.
func (e *Engine) recovered(r any) {
	running := e.running
	e.running, e.inTask = false, false
	if end, ok := r.(taskEnd); ok && running && end.t == e.task {
		e.ended = true
		e.finish(end.t)
		return
	}
	e.fail(&PanicError{Value: r, Stack: debug.Stack()})
}

// pick takes a ready task from the queue; the source decides which if there are
// several.
func (e *Engine) pick() *Task {
	if e.ready.n == 1 {
		return e.ready.pop()
	}
	t := e.ready.take(e.source.Next(&e.contention))
	if e.recorder != nil {
		e.recorder.block(t.ID())
	}
	return t
}

// never is the time of events that do not happen.
const never = 1<<63 - 1

// fire runs the next event. It returns false if there is none up to the horizon;
// then time passes until the horizon, unless that is never.
func (e *Engine) fire(horizon int64) bool {
	next := e.queue.next()
	if next == never {
		e.checkIdle()
	}
	if e.stopped {
		return false
	}
	if next == never || next > horizon {
		if horizon != never {
			e.moveTo(max(e.now, horizon))
		}
		return false
	}
	ev, fn, arg := e.queue.pop()
	if ev.at != e.now {
		e.moveTo(ev.at)
	}
	e.traceEvent(ev.seq())
	fn(arg)
	return true
}

// afterStep does what follows some steps: unwind what has crashed, look after
// foreign contexts, check properties and guards.
func (e *Engine) afterStep() {
	e.attention = false
	if len(e.doomed) > 0 {
		e.reap()
	}
	if len(e.watched) > 0 {
		e.pollForeign()
		e.attention = len(e.watched) > 0 // any step may end one
	}
	if e.touched {
		e.touched = false
		e.checkTouched()
	}
	if e.steps >= e.nextLook {
		e.look()
	}
}

// Stop ends the run after the current step; err becomes the result's error.
func (e *Engine) Stop(err error) {
	e.guard("Stop")
	if err != nil {
		e.fail(err)
	}
	e.stopped = true
}

// fail ends the run with err, unless it has failed before.
func (e *Engine) fail(err error) {
	if e.err == nil {
		e.err = err
	}
	e.stopped = true
}

// Touch says that something a property may look at has changed.
func (e *Engine) Touch() {
	e.guard("Touch")
	e.touched, e.attention = true, true
}

// OnTouched registers a check that runs after each step in which Touch was
// called. An error ends the run and becomes its result.
func (e *Engine) OnTouched(fn func() error) {
	e.guard("OnTouched")
	e.onTouched = append(e.onTouched, fn)
}

func (e *Engine) checkTouched() {
	for _, fn := range e.onTouched {
		if err := fn(); err != nil {
			e.fail(err)
			return
		}
	}
}

// errLeak is returned by Close when a task outlives its process.
var errLeak = errors.New("engine: tasks left after all processes have ended")

// Close ends all processes and unwinds their tasks. It returns an error if one
// cannot be unwound. The engine must not be used afterwards.
func (e *Engine) Close() error {
	if e.inRun {
		panic("engine: Close called inside Run")
	}
	e.closed = true
	for _, p := range e.processList {
		if p.Alive() {
			p.onEnd, p.onExit = nil, nil
			p.end(true)
		}
	}
	if e.live != 0 {
		return errLeak
	}
	return nil
}
