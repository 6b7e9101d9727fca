package engine

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A process paused from 1 s to 10 s. Everything that becomes due meanwhile
// happens at 10 s, in the order in which it became due.
func TestPause(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Source = fifoSource{} })
	p := w.process("p", func(p *Process, ctx context.Context) {
		p.Go(ctx, "sleeper", func(ctx context.Context) {
			_ = p.Sleep(ctx, 3*second)
			w.say("slept 3s")
		})
		p.Go(ctx, "caller", func(ctx context.Context) {
			_ = p.Await(ctx, opGet, w.answerAfter(2*second))
			w.say("answer of 2s")
		})
		p.Go(ctx, "timeout", func(ctx context.Context) {
			c, cancel := p.WithTimeout(ctx, 4*second)
			defer cancel()
			w.say("%v", p.Sleep(c, 20*second))
		})
		timer := p.After(5*second, func(any) { w.say("timer of 5s") }, nil)
		cancelled := p.After(2*second, func(any) { w.say("CANCELLED TIMER") }, nil)
		w.at(6*second, func() {
			if !cancelled.Cancel() || cancelled.Cancel() {
				t.Error("a timer that is held can be cancelled once")
			}
		})
		_ = p.Sleep(ctx, 12*second)
		if timer.Cancel() {
			t.Error("the timer has fired")
		}
		w.say("main")
	})
	w.at(second, func() { p.Pause(); p.Pause() })
	w.at(7*second, func() { p.Deliver(func(any) { w.say("delivered at 7s") }, nil) })
	w.at(10*second, func() { p.Resume(); p.Resume() })
	w.mustRun()
	want := []string{
		"10s timer of 5s", "10s delivered at 7s", // callbacks happen in Resume itself
		"10s answer of 2s", "10s slept 3s", "10s context deadline exceeded", "12s main",
	}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
}

// Tasks that are ready when the process is paused do not run either.
func TestPauseHoldsReadyTasks(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Source = fifoSource{} })
	p := w.process("p", func(p *Process, ctx context.Context) {
		p.Yield(opGet)
		w.say("went on")
	})
	w.process("pauser", func(*Process, context.Context) { p.Pause() })
	w.at(second, func() {
		p.Go(context.Background(), "new", func(context.Context) { w.say("started") })
	})
	w.at(2*second, p.Resume)
	w.mustRun()
	if d := cmp.Diff([]string{"2s went on"}, w.log); d != "" {
		t.Error(d)
	}
}

// A paused process can be crashed; it is not paused when it starts again.
func TestCrashWhilePaused(t *testing.T) {
	w := newWorld(t)
	main := func(p *Process, ctx context.Context) {
		_ = p.Sleep(ctx, second)
		w.say("incarnation %d", p.Incarnation())
	}
	p := w.process("p", main)
	w.at(500*ms, p.Pause)
	w.at(2*second, p.Crash)
	w.at(3*second, func() {
		p.Start(func(ctx context.Context) { main(p, ctx) })
		if p.Paused() {
			t.Error("paused after the start")
		}
	})
	w.mustRun()
	if d := cmp.Diff([]string{"4s incarnation 2"}, w.log); d != "" {
		t.Error(d)
	}
}

// What was held back may end the process, or pause it again: its tasks do not go on.
func TestWhatAResumedProcessIsToldMayStopIt(t *testing.T) {
	for name, stop := range map[string]func(*Process){"crash": (*Process).Crash, "pause": (*Process).Pause} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.process("p", func(p *Process, ctx context.Context) {
				_ = p.Sleep(ctx, second)
				w.say("went on")
			})
			w.at(500*ms, p.Pause)
			w.at(600*ms, func() { p.Deliver(func(any) { stop(p) }, nil) })
			w.at(2*second, p.Resume)
			w.mustRun()
			if d := cmp.Diff([]string(nil), w.log); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSkewedClocks(t *testing.T) {
	w := newWorld(t)
	day := 24 * time.Hour
	p := w.Process("p")
	p.SetClock(-time.Hour, 100_000) // an hour behind, and fast by a tenth
	p.Start(func(ctx context.Context) {
		t0 := p.Now()
		if d := w.Now().Sub(t0); d != time.Hour {
			t.Errorf("wall clock is behind by %v", d)
		}
		_ = p.Sleep(ctx, 11*second)
		if d := p.Since(t0); d != 11*second {
			t.Errorf("slept %v by the process's clock", d)
		}
		if w.Elapsed() != 10*second {
			t.Errorf("slept %v of true time", w.Elapsed())
		}
		c, cancel := p.WithTimeout(ctx, 11*second)
		defer cancel()
		if d, ok := c.Deadline(); !ok || d != p.Now().Add(11*second) {
			t.Errorf("deadline %v", d)
		}
		monotonic := p.Monotonic()
		p.SetClock(day, 0) // the wall clock jumps; sleeps and deadlines do not
		if d := p.Monotonic() - monotonic; d != 0 {
			t.Errorf("the monotonic clock jumped by %v", d)
		}
		_ = p.Sleep(c, time.Minute)
		if w.Elapsed() != 20*second {
			t.Errorf("deadline at %v", w.Elapsed())
		}
		if d := p.Now().Sub(w.Now()); d != day+second {
			t.Errorf("wall clock is ahead by %v", d)
		}
	})
	w.mustRun()
	if scale(1<<62, million, 1) != 1<<63-1 || scale(1<<62, 4*million, million) != 1<<63-1 {
		t.Error("scale overflows")
	}
}

// A sleep that has ended has lasted on the sleeper's own clock, at any rate: code
// that looks whether it is time yet must not find a nanosecond missing and sleep
// again, for ever.
func TestSleepsAreNeverShortOnASkewedClock(t *testing.T) {
	for _, ppm := range []int64{-99_999, -51_238, -1, 1, 7, 333, 51_238, 99_999} {
		e := New(Config{Source: NewSeed(1)})
		p := e.Process("p")
		p.SetClock(0, ppm)
		p.Start(func(ctx context.Context) {
			for d := time.Duration(1); d < time.Hour; d = d*3 + 1 {
				from := p.Now()
				if err := p.Sleep(ctx, d); err != nil {
					t.Errorf("sleep: %v", err)
				}
				if got := p.Since(from); got < d {
					t.Errorf("at %d ppm a sleep of %d ns lasted %d ns", ppm, d, got)
				}
			}
		})
		if r := e.Run(); r.Err != nil {
			t.Error(r.Err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
