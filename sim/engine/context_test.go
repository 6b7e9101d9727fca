package engine

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type valueKey struct{}

func TestDeadlines(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		outer, cancelOuter := p.WithTimeout(ctx, 2*second)
		defer cancelOuter()
		longer, cancelLonger := p.WithTimeout(outer, time.Minute)
		defer cancelLonger()
		shorter, cancelShorter := p.WithTimeout(context.WithValue(outer, valueKey{}, "v"), second)
		defer cancelShorter()
		w.say("%v", p.Sleep(shorter, time.Minute))
		w.say("outer %v, shorter %v", outer.Err(), shorter.Err())
		w.say("%v", p.Await(longer, opGet, func(*Wait) {}))
		select {
		case <-longer.Done():
		default:
			t.Error("Done is not closed")
		}
		w.say("%v %v", p.Sleep(longer, second), p.Await(longer, opGet, nil))
		past, cancelPast := p.WithTimeout(ctx, -second)
		cancelPast()
		w.say("%v", past.Err())
	})
	w.mustRun()
	deadline := "context deadline exceeded"
	want := []string{"1s " + deadline, "1s outer <nil>, shorter " + deadline, "2s " + deadline,
		"2s " + deadline + " " + deadline, "2s " + deadline}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
	if n := w.queue.pending(); n > 0 {
		t.Errorf("%d events left", n)
	}
}

// Cancelling reaches children, waiters and functions attached by the standard
// library, through wrappers, and only downwards.
func TestCancelReachesDown(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		top, cancel := p.WithCancel(ctx)
		child, _ := p.WithCancel(context.WithValue(top, valueKey{}, "kept"))
		std, stdCancel := context.WithCancel(top)
		defer stdCancel()
		loose, _ := p.WithCancel(context.WithoutCancel(top))
		for name, c := range map[string]context.Context{"child": child} {
			p.Go(c, name, func(ctx context.Context) { w.say("%s %v", name, p.Sleep(ctx, time.Hour)) })
		}
		p.Go(std, "std", func(ctx context.Context) { w.say("std %v", p.NewSignal().Wait(ctx)) })
		if child.Value(valueKey{}) != "kept" || ProcessFrom(child) != p || ProcessFrom(context.Background()) != nil {
			t.Error("values are lost")
		}
		_ = p.Sleep(ctx, second)
		cancel()
		cancel()
		w.say("%v %v %v %v %v", ctx.Err(), top.Err(), child.Err(), std.Err(), loose.Err())
		late, lateCancel := p.WithTimeout(child, second)
		defer lateCancel()
		w.say("%v", late.Err())
		_ = p.Sleep(ctx, second)
	})
	w.mustRun()
	c := "context canceled"
	want := []string{"1s <nil> " + c + " " + c + " " + c + " <nil>", "1s " + c, "1s child " + c, "1s std " + c}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
}

// A context made by the standard library below an engine's is noticed when a task
// cancels it, and starts no goroutine.
func TestForeignContext(t *testing.T) {
	w := newWorld(t)
	before := runtime.NumGoroutine()
	w.process("p", func(p *Process, ctx context.Context) {
		std, cancel := context.WithCancel(ctx)
		sub, subCancel := p.WithCancel(std)
		defer subCancel()
		p.Go(std, "waiter", func(ctx context.Context) {
			for range 100 {
				_ = p.Sleep(ctx, ms)
			}
			if n := len(w.watched); n > 2 {
				t.Errorf("%d contexts watched", n)
			}
			w.say("waiter %v", p.Sleep(ctx, time.Hour))
		})
		p.Go(sub, "sub", func(ctx context.Context) { w.say("sub %v", p.Sleep(ctx, time.Hour)) })
		if n := runtime.NumGoroutine(); n > before+1 {
			t.Errorf("%d goroutines started", n-before-1)
		}
		_ = p.Sleep(ctx, second)
		cancel()
		_ = p.Sleep(ctx, second)
	})
	w.mustRun()
	if d := cmp.Diff([]string{"1s sub context canceled", "1s waiter context canceled"}, w.log); d != "" {
		t.Error(d)
	}
	if len(w.watched) != 0 {
		t.Errorf("%d contexts still watched", len(w.watched))
	}
}

// Contexts of the standard library that come and go leave nothing at the parent.
func TestForeignContextsLeaveNothing(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		for range 10 {
			c, cancel := context.WithCancel(ctx)
			_ = p.Sleep(c, ms)
			cancel()
		}
		if ctx.(*simContext).after != nil {
			t.Error("functions left at the parent")
		}
	})
	w.mustRun()
}

func TestRealDeadlineIsRefused(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		c, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		_ = p.Sleep(c, second)
	})
	err := w.Run().Err
	if err == nil || !strings.Contains(err.Error(), `task p#1/main.1 at "sleep"`) ||
		!strings.Contains(err.Error(), "use Process.WithTimeout") {
		t.Errorf("err = %v", err)
	}
}

func TestSignal(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		s := p.NewSignal()
		s.Send()
		s.Send()
		w.say("%v", s.Wait(ctx)) // two sends coalesce
		c, cancel := p.WithTimeout(ctx, second)
		defer cancel()
		w.say("%v", s.Wait(c))
		p.Go(ctx, "sender", func(ctx context.Context) {
			_ = p.Sleep(ctx, second)
			s.Send()
		})
		w.say("%v", s.Wait(ctx))
		if s.set {
			t.Error("the signal was not consumed")
		}
		if err := s.Wait(c); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	w.mustRun()
	want := []string{"0s <nil>", "1s context deadline exceeded", "2s <nil>"}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
}

func TestMutex(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		m := p.NewMutex()
		inside := 0
		var tasks []*Task
		for range 5 {
			tasks = append(tasks, p.Go(ctx, "worker", func(ctx context.Context) {
				for range 3 {
					m.Lock()
					inside++
					_ = p.Sleep(ctx, ms)
					if inside != 1 {
						t.Errorf("%d tasks inside", inside)
					}
					inside--
					m.Unlock()
				}
			}))
		}
		for _, task := range tasks {
			task.Join()
		}
		func() {
			defer func() { w.say("%v", recover()) }()
			m.Unlock()
		}()
	})
	w.mustRun()
	want := []string{"15ms engine: task p#1/main.1 unlocks a mutex that it does not hold"}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
}
