// Package engine runs concurrent programs deterministically, in virtual time.
//
// A program under test is written against this package (or against ports bound to
// it) instead of the go statement, channels, the clock and random numbers. The engine
// then owns everything that a machine would leave to chance, and asks one [Source]
// for each decision. The same program and the same answers give the same run: on any
// machine, in any process, with or without the race detector. A failing run hands
// back its answers as a [Schedule], which replays it and can be shrunk.
//
// # How a run goes
//
// [New] makes an engine and [Engine.Run] runs it on the calling goroutine, one step
// after the other. A step is one of two:
//
//   - A task that is ready runs until it waits again. If several are ready, the source
//     decides which; that is a contended decision.
//   - If no task is ready, virtual time passes until the earliest event, and its
//     callback runs.
//
// So nothing ever happens in parallel, time passes only when nobody can run, and an
// hour of waiting costs nothing.
//
// # Two kinds of code
//
// Code under test runs as tasks of a [Process]. A task has a stack of its own and may
// wait: in [Process.Sleep], [Process.Await], [Signal.Wait], [Mutex.Lock],
// [Task.Join]; or give way in [Process.Yield]. All of these are places where another
// task may run or the process may be crashed. Between them a task runs alone.
//
// Servers, networks, fault scripts and checks are callbacks: functions that the engine
// calls at their time ([Engine.After]) and that must not wait. They are forty times
// cheaper. The bridge between the two is Await: a task parks, and a callback calls
// [Wait.Done].
//
// # Processes
//
// A [Process] is started, paused, resumed, crashed and started again. A crash unwinds
// all its tasks where they stand. Their deferred functions run, so that files are
// closed and locks released, but cannot act on the world: every method of this package
// ends the task that calls it once it is dead, and no recover stops that. What the
// process had sent stays on its way. The incarnation that starts next shares no task,
// timer or context with the last.
//
// The clocks of a process may be wrong ([Process.SetClock]). Contexts made by
// [Process.WithTimeout] end in virtual time.
//
// # Choices
//
// Everything else that is not decided by the program is a choice on a [Stream]: a
// latency, a fault, an index. A stream has a label of its own and is independent of all
// others, and outcome 0 is always the simplest: no fault, the least delay. Random bytes
// for code under test come from [Entropy], which derives from a single choice.
//
// Sources are a seed ([NewSeed]), a schedule ([NewReplay]), the bytes of a fuzz test
// ([NewBytes]), and a drawing function such as a property-testing library's
// ([NewDraw]). How a seed schedules tasks is a [Strategy].
//
// # The trace
//
// Each step, and each event given to [Engine.Emit], goes into a running hash, which
// [Result.Hash] reports. Two runs with the same hash are the same run; [CheckReplay]
// runs twice and says where they part. From [TraceFull] on the records are kept;
// at [TraceNotes] so are the notes of callers ([Engine.Note]), which are not in the hash.
//
// # What ends a run
//
// The horizon; [Engine.Stop]; the end of all events; or a failure: a check registered
// with [Engine.OnTouched], a panic in a task ([PanicError], with its own stack), a call
// of runtime.Goexit such as t.FailNow ([GoexitError]), no progress ([LivelockError]),
// or tasks that wait for what cannot happen or, with [Config.Patience], for too long
// ([DeadlockError]). A task that does not yield in real time, e.g. because it blocks
// on a real mutex, cannot be stopped; the watchdog reports it ([StallError]).
// [Engine.Close] unwinds what is left.
//
// # What code under test must not do
//
//   - Start goroutines. With [Config.Strict] one that calls the engine is caught, with
//     the task and the line that started it.
//   - Block on real channels, mutexes or input and output while it holds the processor:
//     use [Signal], [Mutex], Await. (A real mutex that is never held over a wait is
//     harmless.)
//   - Read the machine's clock or global random numbers, or act in the order of a map.
//   - Use context.WithTimeout or WithDeadline, which run on the machine's clock; Strict
//     refuses such contexts. context.WithCancel works. context.AfterFunc starts a
//     goroutine.
//   - Call runtime.LockOSThread in a task: the Go runtime then ends the program.
//
// The engine knows no Kubernetes, and imports only the standard library.
package engine
