package engine

import "time"

// Config fixes everything a run depends on, together with the program.
type Config struct {
	// Source answers every choice. Required.
	Source Source

	// Start is the wall clock at virtual time zero. Default: 2030-01-01T00:00:00Z.
	Start time.Time

	// Horizon is the virtual time at which Run stops; 0: none.
	Horizon time.Duration

	// MaxSteps ends a run that takes more steps with a [LivelockError]; 0: no limit.
	MaxSteps uint64

	// StepsPerInstant ends a run that takes more steps without virtual time
	// moving with a [LivelockError]; 0: one million.
	StepsPerInstant uint64

	// Idle says what to do when nothing can happen any more.
	Idle IdlePolicy

	// Patience is how long in virtual time a task may wait for a lock, for the end
	// of another task, or in Await without a deadline and not at an Op with Idle
	// set, before the run ends with a [DeadlockError]; 0: until nothing can
	// happen any more, which Idle judges.
	Patience time.Duration

	// Excused, if set, reports that things are so bad at present that long waits
	// are no surprise; they count from when it reports false again.
	Excused func() bool

	// Stall is the real time without a step after which a watchdog reports the
	// task that holds the processor; 0: no watchdog.
	Stall time.Duration

	// OnStall receives the watchdog's report, on the watchdog's goroutine. Nil:
	// the report goes to standard error and the program ends, because a task
	// that does not yield cannot be unwound.
	OnStall func(*StallError)

	// Record keeps the schedule, so that the run can be replayed and shrunk.
	Record bool

	// Trace says how much of the trace is kept. The hash is the same at all levels.
	Trace TraceLevel

	// Sink receives the records of the trace, from [TraceFull] on, as they are made,
	// instead of Result.Records: for runs whose trace is too long to be kept. It
	// must not call the engine.
	Sink func(Record)

	// Observe, if set, is called with each event of the trace as it is emitted, at
	// every TraceLevel. It must not call the engine, nor Detail.
	Observe func(Event)

	// Strict checks at each entry that the caller is the running task and not a
	// goroutine that code under test started, and refuses contexts that run on
	// the machine's clock.
	Strict bool
}

// IdlePolicy says which parked tasks are an error when no event is pending and
// no task is ready, so that they would wait for ever.
type IdlePolicy uint8

const (
	// IdleStuck: a task that waits for something which cannot happen any more is
	// an error: in Await, for a Mutex, or in Join of a task that is itself stuck.
	// A task that waits at an Op with Idle set (a Signal, the next item of work)
	// is an idle server, and no error.
	IdleStuck IdlePolicy = iota
	// IdleStrict: any parked task is an error.
	IdleStrict
	// IdleAllowed: the run just ends.
	IdleAllowed
)

// TraceLevel says how much of the trace is kept.
type TraceLevel uint8

const (
	// TraceHash keeps the running hash only.
	TraceHash TraceLevel = iota
	// TraceFull keeps every record as well.
	TraceFull
	// TraceNotes keeps the notes beside them; see [Engine.Note].
	TraceNotes
)

// Result is what Run returns.
type Result struct {
	// Err is nil, or the first of: an error given to Stop, a broken property, a
	// [PanicError], [GoexitError], [LivelockError], [DeadlockError] or [StallError].
	Err error
	// Hash is the hash of the trace: equal for equal runs.
	Hash uint64
	// Steps counts resumed tasks and fired events.
	Steps uint64
	// Elapsed is the virtual time at the end.
	Elapsed time.Duration
	// Schedule replays the run. It is empty without Config.Record.
	Schedule Schedule
	// Diverged reports that a replayed schedule did not fit this run: it asked
	// for a task that was not ready or an outcome that does not exist, or it had
	// entries left at the end.
	Diverged bool
	// Records is the trace, from [TraceFull] on.
	Records []Record
}
