package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// What Run says when nothing can happen any more.
func TestIdle(t *testing.T) {
	forever := func(*Wait) {}
	table := map[string]struct {
		policy IdlePolicy
		main   func(p *Process, ctx context.Context)
		want   string // "" for no error
	}{
		"a call that is never answered": {
			main: func(p *Process, ctx context.Context) { _ = p.Await(ctx, opGet, forever) },
			want: `deadlock at 0s: nothing can happen any more, but task p#1/main.1 waits at "get secrets/ns/name"`,
		},
		"an idle server": {
			main: func(p *Process, ctx context.Context) { _ = p.NewSignal().Wait(ctx) },
		},
		"an idle server, strictly": {
			policy: IdleStrict,
			main:   func(p *Process, ctx context.Context) { _ = p.NewSignal().Wait(ctx) },
			want:   `deadlock at 0s: nothing can happen any more, but task p#1/main.1 waits at "wait"`,
		},
		"a call that is never answered, allowed": {
			policy: IdleAllowed,
			main:   func(p *Process, ctx context.Context) { _ = p.Await(ctx, opGet, forever) },
		},
		"waiting for the next item of work": {
			main: func(p *Process, ctx context.Context) {
				_ = p.Await(ctx, Op{Verb: "next", Idle: true}, forever)
			},
		},
		"joining an idle worker": {
			main: func(p *Process, ctx context.Context) {
				p.Go(ctx, "worker", func(ctx context.Context) { _ = p.NewSignal().Wait(ctx) }).Join()
			},
		},
		"two locks in opposite order": {
			main: func(p *Process, ctx context.Context) {
				a, b := p.NewMutex(), p.NewMutex()
				p.Go(ctx, "other", func(ctx context.Context) {
					b.Lock()
					_ = p.Sleep(ctx, second)
					a.Lock()
				})
				a.Lock()
				_ = p.Sleep(ctx, second)
				b.Lock()
			},
			want: `deadlock at 1s: nothing can happen any more, but task p#1/main.1 waits at "lock", task p#1/other.1 waits at "lock"`,
		},
		"joining each other": {
			main: func(p *Process, ctx context.Context) {
				var a, b *Task
				a = p.Go(ctx, "a", func(context.Context) { b.Join() })
				b = p.Go(ctx, "b", func(context.Context) { a.Join() })
				_ = p.NewSignal().Wait(ctx)
			},
			want: `deadlock at 0s: nothing can happen any more, but task p#1/a.1 waits at "join b", task p#1/b.1 waits at "join a"`,
		},
	}
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(c *Config) { c.Idle = row.policy })
			w.process("p", row.main)
			got := ""
			if err := w.Run().Err; err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("error %q\n want %q", got, row.want)
			}
		})
	}
}

func TestIdleUntilTheHorizon(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) { _ = p.NewSignal().Wait(ctx) })
	if r := w.mustRun(); r.Elapsed != time.Hour {
		t.Errorf("elapsed %v", r.Elapsed)
	}
}

// A process that waits for itself at one instant.
func TestLivelock(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.StepsPerInstant = 1000; c.Trace = TraceHash })
	w.process("p", func(p *Process, ctx context.Context) {
		p.Go(ctx, "spinner", func(context.Context) {
			for {
				p.Yield(Op{Verb: "poll", Key: "flag"})
			}
		})
		_ = p.Sleep(ctx, second)
	})
	err := w.Run().Err
	var l *LivelockError
	if !errors.As(err, &l) || l.Task != "p#1/spinner.1" || !l.Instant {
		t.Fatalf("err = %v", err)
	}
	if got := err.Error(); !strings.Contains(got, `livelock: 1000 steps at 0s without virtual time moving; busiest is task p#1/spinner.1 with 99`) ||
		!strings.Contains(got, `now at "poll flag"`) {
		t.Errorf("message: %s", got)
	}
}

func TestMaxSteps(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxSteps = 100 })
	var again func(any)
	again = func(any) { w.After(ms, again, nil) }
	again(nil)
	r := w.Run()
	if r.Steps != 100 || r.Err == nil || r.Err.Error() != "livelock: 100 steps in all; callbacks only, no task ran" {
		t.Errorf("steps %d, err %v", r.Steps, r.Err)
	}
}

// A task that does not yield cannot be stopped, only reported: to OnStall while
// it still runs, and as the error of the run if it yields after all.
func TestStallIsReported(t *testing.T) {
	release := make(chan struct{})
	var report *StallError
	w := newWorld(t, func(c *Config) {
		c.Stall = 100 * ms
		c.OnStall = func(s *StallError) { report = s; close(release) }
	})
	w.process("p", func(p *Process, ctx context.Context) {
		_ = p.Sleep(ctx, second)
		hog(release)
	})
	err := w.Run().Err
	if report == nil || report.Task != "p#1/main.1" || !strings.Contains(report.Stack, "engine.hog") {
		t.Fatalf("report %v", report)
	}
	if !errors.Is(err, report) {
		t.Errorf("err = %v", err)
	}
}

//go:noinline
func hog(release <-chan struct{}) { <-release }

// Without OnStall the program ends with the report on standard error.
func TestStallEndsTheProgram(t *testing.T) {
	if os.Getenv("SEEDBED_CHILD") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStallEndsTheProgram$")
		cmd.Env = append(os.Environ(), "SEEDBED_CHILD=1")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Fatalf("err = %v\n%s", err, out)
		}
		for _, want := range []string{"stall: task p#1/main.1 has not yielded for 100ms of real time", "engine.hog"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		return
	}
	w := newWorld(t, func(c *Config) { c.Stall = 100 * ms })
	w.process("p", func(p *Process, ctx context.Context) { hog(nil) })
	w.Run()
}

// A goroutine that code under test started is caught at its first call, and the
// message names the task and the line that started it.
func TestLeakedGoroutineIsCaught(t *testing.T) {
	if raceDetector {
		t.Skip("the leaked goroutine is a data race, and reported as one; make test runs this without -race")
	}
	w := newWorld(t)
	caught := make(chan any)
	w.process("p", func(p *Process, ctx context.Context) {
		p.Go(ctx, "leaky", func(ctx context.Context) {
			go leaked(p, caught)
			_ = p.Sleep(ctx, second)
		})
		_ = p.Sleep(ctx, ms)
		err, _ := (<-caught).(error)
		if err == nil {
			t.Error("not caught")
			return
		}
		for _, want := range []string{"Yield called from a goroutine that is not a task",
			"started by task p#1/leaky.1", "progress_test.go:"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
	})
	w.mustRun()
}

func leaked(p *Process, caught chan<- any) {
	defer func() { caught <- recover() }()
	p.Yield(opGet)
}

func TestMisuseIsRefused(t *testing.T) {
	w := newWorld(t)
	q := w.process("q", func(q *Process, ctx context.Context) { _ = q.NewSignal().Wait(ctx) })
	refused := func(what string, f func()) {
		defer func() { w.log = append(w.log, what); t.Logf("%s: %v", what, recover()) }()
		f()
		t.Errorf("%s was not refused", what)
	}
	p := w.process("p", func(p *Process, ctx context.Context) {
		_ = p.Sleep(ctx, ms)
		refused("a method of another process", func() { q.Yield(opGet) })
		refused("a task for another process", func() { q.Go(ctx, "x", nil) })
		refused("starting a running process", func() { q.Start(nil) })
		refused("running inside the run", func() { w.Run() })
		refused("closing inside the run", func() { _ = w.Close() })
		refused("Intn(0)", func() { w.Stream("x", "y").Intn(0) })
		refused("waiting inside start", func() {
			_ = p.Await(ctx, opGet, func(*Wait) { p.Yield(opGet) })
		})
		_ = p.Sleep(ctx, ms) // the task is in order again
	})
	w.mustRun()
	refused("a task's method from outside", func() { p.Yield(opGet) })
	refused("a task in a dead process", func() { p.Go(context.Background(), "x", nil) })
	refused("a context in a dead process", func() { p.WithCancel(context.Background()) })
	refused("a clock that stands still", func() { p.SetClock(0, -million) })
	refused("no source", func() { New(Config{}) })
}
