package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// crashStory is a main function of process p, which is crashed at 1.5 s of virtual
// time, and what is in the log then.
type crashStory struct {
	main func(w *world, p *Process, ctx context.Context)
	want []string
}

func runCrashStories(t *testing.T, stories map[string]crashStory) {
	t.Helper()
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(c *Config) { c.Horizon = 10 * second })
			p := w.process("p", func(p *Process, ctx context.Context) { s.main(w, p, ctx) })
			w.at(1500*ms, p.Crash)
			w.mustRun()
			if d := cmp.Diff(s.want, w.log); d != "" {
				t.Error(d)
			}
			if p.Alive() || w.live != 0 {
				t.Errorf("alive %v, %d tasks left", p.Alive(), w.live)
			}
		})
	}
}

// What a crash does to the task that is crashed.
func TestCrashEndsATask(t *testing.T) {
	runCrashStories(t, map[string]crashStory{
		"deferred functions run but cannot act": {
			main: func(w *world, p *Process, ctx context.Context) {
				defer w.say("outer")
				defer func() {
					w.say("inner")
					_ = p.Sleep(ctx, second)
					w.say("ACTED after death")
				}()
				_ = p.Sleep(ctx, time.Hour)
			},
			want: []string{"1.5s inner", "1.5s outer"},
		},
		"recover does not stop death": {
			main: func(w *world, p *Process, ctx context.Context) {
				for i := 0; ; i++ {
					func() {
						defer func() { _ = recover() }()
						_ = p.Sleep(ctx, second)
						w.say("try %d", i)
						panic("retry")
					}()
				}
			},
			want: []string{"1s try 0"},
		},
		"a panic while dying is nobody's": {
			main: func(w *world, p *Process, ctx context.Context) {
				defer func() { panic("while dying") }()
				_ = p.Sleep(ctx, time.Hour)
			},
		},
		"the context does not end": {
			main: func(w *world, p *Process, ctx context.Context) {
				c, cancel := p.WithCancel(ctx)
				defer func() { cancel(); w.say("err %v", c.Err()) }()
				_ = p.Sleep(c, time.Hour)
			},
			want: []string{"1.5s err <nil>"},
		},
		"every method refuses": {
			main: func(w *world, p *Process, ctx context.Context) {
				s, m, stream := p.NewSignal(), p.NewMutex(), w.Stream("delay", "p")
				timer := w.After(time.Hour, func(any) { w.say("timer") }, nil)
				for _, f := range []func(){
					func() { p.Now() }, func() { p.Yield(opGet) }, func() { s.Send() }, func() { m.Lock() },
					func() { _ = s.Wait(ctx) }, func() { _ = p.Await(ctx, opGet, w.answerAfter(0)) },
					func() { p.Go(ctx, "x", nil) }, func() { p.WithCancel(ctx) }, func() { stream.Intn(2) },
					func() { w.Emit(Event{}) }, func() { w.After(0, nil, nil) }, func() { timer.Cancel() },
					func() { w.Stop(errors.New("no")) }, func() { w.Touch() }, func() { w.Entropy("p").Uint64() },
					func() { p.Crash() }, func() { p.Start(nil) }, func() { w.Process("q") }, w.Enter,
				} {
					defer func() { f(); w.say("ACTED after death") }()
				}
				_ = p.Sleep(ctx, time.Hour)
			},
		},
	})
}

// What a crash does to the rest of the process and to the world.
func TestCrashEndsAProcess(t *testing.T) {
	runCrashStories(t, map[string]crashStory{
		"all tasks end, oldest first": {
			main: func(w *world, p *Process, ctx context.Context) {
				for _, name := range []string{"a", "b"} {
					p.Go(ctx, name, func(ctx context.Context) {
						defer func() { w.log = append(w.log, name) }()
						_ = p.Sleep(ctx, time.Hour)
					})
				}
				defer func() { w.log = append(w.log, "main") }()
				_ = p.Sleep(ctx, time.Hour)
			},
			want: []string{"main", "a", "b"},
		},
		"a task may crash its own process": {
			main: func(w *world, p *Process, ctx context.Context) {
				p.Go(ctx, "sibling", func(ctx context.Context) {
					defer func() { w.log = append(w.log, "sibling") }()
					_ = p.Sleep(ctx, time.Hour)
				})
				defer func() { w.log = append(w.log, "main") }()
				_ = p.Sleep(ctx, second)
				p.Crash()
				w.say("ACTED after death")
			},
			want: []string{"main", "sibling"},
		},
		"also inside the start function of Await": {
			main: func(w *world, p *Process, ctx context.Context) {
				_ = p.Await(ctx, opGet, func(*Wait) { p.Crash() })
				w.say("ACTED after death")
			},
		},
		"a request that was sent stays on its way": {
			main: func(w *world, p *Process, ctx context.Context) {
				_ = p.Await(ctx, opGet, func(wait *Wait) {
					w.After(2*second, func(any) {
						w.say("server acts, somebody waits: %v", wait.Waiting())
						wait.Done()
					}, nil)
				})
				w.say("ACTED after death")
			},
			want: []string{"2s server acts, somebody waits: false"},
		},
		"timers of the process are dropped": {
			main: func(w *world, p *Process, ctx context.Context) {
				p.After(second, func(any) { w.say("first") }, nil)
				p.After(2*second, func(any) { w.say("second") }, nil)
				_ = p.Sleep(ctx, time.Hour)
			},
			want: []string{"1s first"},
		},
	})
}

// A process killed before its first task has run leaves no trace of that task.
func TestCrashBeforeTheFirstStep(t *testing.T) {
	w := newWorld(t)
	p := w.process("p", func(p *Process, ctx context.Context) { w.say("ran") })
	p.Crash()
	w.mustRun()
	if len(w.log) != 0 || w.live != 0 {
		t.Errorf("log %v, %d tasks left", w.log, w.live)
	}
}

// One process crashes another and starts it again in one step: the old tasks are
// unwound after that step, and the new incarnation knows nothing of them.
func TestCrashAndRestartByAnotherProcess(t *testing.T) {
	w := newWorld(t)
	p := w.Process("p")
	main := func(ctx context.Context) {
		n := p.Incarnation()
		defer func() { w.log = append(w.log, "unwound") }()
		_ = p.Sleep(ctx, 3*second)
		w.say("incarnation %d done", n)
	}
	p.OnExit(func(x Exit) { w.say("exit of %d, crashed %v", x.Incarnation, x.Crashed) })
	p.Start(main)
	p.OnEnd(func() { w.say("end of 1") })
	w.process("supervisor", func(s *Process, ctx context.Context) {
		_ = s.Sleep(ctx, second)
		p.Crash()
		w.say("alive %v", p.Alive())
		p.Start(main)
		_ = s.Sleep(ctx, second)
		w.say("incarnation %d alive %v", p.Incarnation(), p.Alive())
	})
	w.mustRun()
	want := []string{"1s end of 1", "1s exit of 1, crashed true", "1s alive false", "unwound",
		"2s incarnation 2 alive true", "4s incarnation 2 done", "unwound", "4s exit of 2, crashed false"}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
}

// When main returns the process ends with everything in it.
func TestExitEndsAllTasks(t *testing.T) {
	w := newWorld(t)
	p := w.process("p", func(p *Process, ctx context.Context) {
		p.Go(ctx, "worker", func(ctx context.Context) {
			for {
				_ = p.Sleep(ctx, 400*ms)
				w.say("work")
			}
		})
		_ = p.Sleep(ctx, second)
	})
	w.mustRun()
	if d := cmp.Diff([]string{"400ms work", "800ms work"}, w.log); d != "" {
		t.Error(d)
	}
	if p.Alive() {
		t.Error("still alive")
	}
}

func TestPanicKeepsItsStack(t *testing.T) {
	w := newWorld(t)
	cause := errors.New("boom")
	w.process("p", func(p *Process, ctx context.Context) {
		p.Go(ctx, "worker", func(ctx context.Context) { explode(cause) }).Join()
	})
	err := w.Run().Err
	var pe *PanicError
	if !errors.As(err, &pe) || pe.Task != "p#1/worker.1" || !errors.Is(err, cause) {
		t.Fatalf("err = %v", err)
	}
	if !strings.Contains(string(pe.Stack), "engine.explode") {
		t.Errorf("the stack does not show the panic:\n%s", pe.Stack)
	}
	if err.Error() != "task p#1/worker.1: panic: boom" {
		t.Errorf("message: %v", err)
	}
	if short, long := fmt.Sprintf("%v", err), fmt.Sprintf("%+v", err); short != err.Error() || !strings.Contains(long, "engine.explode") {
		t.Errorf("%%v is %s\n%%+v is %s", short, long)
	}
}

//go:noinline
func explode(err error) { panic(err) }

// A panic of the simulation's own callback ends the run too.
func TestPanicInACallback(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) { _ = p.Sleep(ctx, time.Hour) })
	w.at(second, func() { explode(errors.New("server bug")) })
	err := w.Run().Err
	if err == nil || err.Error() != "panic in a callback: server bug" {
		t.Fatalf("err = %v", err)
	}
}

// t.FailNow in a task fails the test, ends the run, and leaves the other tasks to
// Close. The test runs itself in a child process to see itself fail.
func TestFailNowInATask(t *testing.T) {
	if os.Getenv("SEEDBED_CHILD") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFailNowInATask$", "-test.v")
		cmd.Env = append(os.Environ(), "SEEDBED_CHILD=1")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: TestFailNowInATask") {
			t.Fatalf("the test did not fail: %v\n%s", err, out)
		}
		for _, want := range []string{"fatal in a task", "sibling unwound", "engine: task p#1/main.1: ended by runtime.Goexit", "FailNow("} {
			if !strings.Contains(string(out), want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		return
	}
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		p.Go(ctx, "sibling", func(ctx context.Context) {
			defer t.Log("sibling unwound")
			_ = p.Sleep(ctx, time.Hour)
		})
		_ = p.Sleep(ctx, second)
		t.Fatal("fatal in a task")
	})
	t.Logf("engine: %+v", w.Run().Err)
}

// 100,000 crashes leave no goroutine and no memory behind.
func TestCrashesLeakNothing(t *testing.T) {
	crashes := 100_000
	if testing.Short() {
		crashes = 10_000
	}
	w := newWorld(t, func(c *Config) { c.Trace, c.Horizon = TraceHash, 0 })
	p := w.Process("p")
	worker := func(ctx context.Context) {
		c, cancel := p.WithTimeout(ctx, time.Hour)
		defer cancel()
		_ = p.Sleep(c, time.Minute)
	}
	main := func(ctx context.Context) {
		p.After(time.Hour, nop, nil)
		p.Go(ctx, "worker", worker)
		_ = p.Await(ctx, opGet, w.answerAfter(5*ms))
		_ = p.NewSignal().Wait(ctx)
	}
	left := crashes
	var again func(any)
	again = func(any) {
		p.Crash()
		if left--; left > 0 {
			p.Start(main)
			w.After(10*ms, again, nil)
		}
	}
	run := func(n int) (goroutines int, heap uint64) {
		left = n
		again(nil)
		w.mustRun()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	g0, h0 := run(1000)
	g1, h1 := run(crashes)
	if g1 > g0 {
		t.Errorf("%d goroutines more", g1-g0)
	}
	if h1 > h0+64<<10 {
		t.Errorf("%d bytes more", h1-h0)
	}
	if n := w.queue.pending(); n > 0 {
		t.Errorf("%d events left", n)
	}
}
