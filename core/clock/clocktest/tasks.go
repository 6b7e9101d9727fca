package clocktest

import (
	"context"
	"fmt"
	"time"
)

var groups = []testCase{
	{"an empty group has nothing to wait for", func(e *env) {
		e.clock.NewGroup(e.ctx).Wait()
		e.elapsed("after Wait", 0)
	}},
	{"tasks run at the same time", func(e *env) {
		g, ended := e.clock.NewGroup(e.ctx), [3]bool{}
		for i := range ended {
			g.Go(fmt.Sprintf("task %d", i), func(ctx context.Context) {
				e.ends("Sleep", e.clock.Sleep(ctx, time.Second), nil)
				ended[i] = true
			})
		}
		g.Wait()
		e.elapsed("after three sleeps of a second each", time.Second)
		if ended != [3]bool{true, true, true} {
			e.t.Errorf("tasks that had ended when Wait returned: %v", ended)
		}
	}},
	{"tasks get the context of the group", func(e *env) {
		ctx, cancel := e.clock.WithCancel(context.WithValue(e.ctx, contextKey{}, "value"))
		g := e.clock.NewGroup(ctx)
		g.Go("sleeper", func(ctx context.Context) {
			if got := ctx.Value(contextKey{}); got != "value" {
				e.t.Errorf("the context of the task has value %v", got)
			}
			e.ends("Sleep", e.clock.Sleep(ctx, time.Hour), context.Canceled)
		})
		e.sleep(time.Second)
		cancel()
		g.Wait()
		e.elapsed("after the cancel", time.Second)
	}},
	{"Wait includes tasks that tasks start", func(e *env) {
		g, ended := e.clock.NewGroup(e.ctx), false
		g.Go("parent", func(context.Context) {
			g.Go("child", func(ctx context.Context) {
				e.ends("Sleep", e.clock.Sleep(ctx, time.Minute), nil)
				ended = true
			})
		})
		g.Wait()
		if !ended {
			e.t.Error("Wait returned before the child had ended")
		}
		e.elapsed("after Wait", time.Minute)
	}},
	{"a group can be used again", func(e *env) {
		g := e.clock.NewGroup(e.ctx)
		for range 2 {
			g.Go("sleeper", func(ctx context.Context) { e.ends("Sleep", e.clock.Sleep(ctx, time.Second), nil) })
			g.Wait()
		}
		e.elapsed("after two rounds", 2*time.Second)
	}},
	{"several tasks can wait for one group", func(e *env) {
		g, waiters := e.clock.NewGroup(e.ctx), e.clock.NewGroup(e.ctx)
		for i := range 3 {
			g.Go("sleeper", func(ctx context.Context) {
				e.ends("Sleep", e.clock.Sleep(ctx, time.Duration(3-i)*time.Second), nil)
			})
		}
		for range 2 {
			waiters.Go("waiter", func(context.Context) {
				g.Wait()
				e.elapsed("when a waiter goes on", 3*time.Second)
			})
		}
		waiters.Wait()
	}},
}

var signals = []testCase{
	{"a signal sent before is found at once", func(e *env) {
		s := e.clock.NewSignal()
		s.Send()
		e.ends("Wait", s.Wait(e.ctx), nil)
		e.elapsed("after Wait", 0)
	}},
	{"a signal sent later wakes the waiting task", func(e *env) {
		s := e.clock.NewSignal()
		e.after(time.Minute, s.Send)
		e.ends("Wait", s.Wait(e.ctx), nil)
		e.elapsed("after Wait", time.Minute)
	}},
	{"sends coalesce, and waiting clears", func(e *env) {
		s := e.clock.NewSignal()
		s.Send()
		s.Send()
		e.ends("first Wait", s.Wait(e.ctx), nil)
		ctx, cancel := e.clock.WithTimeout(e.ctx, time.Second)
		defer cancel()
		e.ends("second Wait", s.Wait(ctx), context.DeadlineExceeded)
		e.elapsed("after the second Wait", time.Second)
	}},
	{"a wait that ended takes no signal with it", func(e *env) {
		s := e.clock.NewSignal()
		ctx, cancel := e.clock.WithTimeout(e.ctx, time.Second)
		defer cancel()
		e.ends("first Wait", s.Wait(ctx), context.DeadlineExceeded)
		s.Send()
		e.ends("second Wait", s.Wait(e.ctx), nil)
	}},
	{"an ended context wins and leaves the signal set", func(e *env) {
		s := e.clock.NewSignal()
		s.Send()
		ctx, cancel := e.clock.WithCancel(e.ctx)
		cancel()
		e.ends("Wait with an ended context", s.Wait(ctx), context.Canceled)
		e.ends("Wait", s.Wait(e.ctx), nil)
		e.elapsed("after both", 0)
	}},
	{"any number of tasks may send", func(e *env) {
		s, g, got := e.clock.NewSignal(), e.clock.NewGroup(e.ctx), 0
		for i := range 5 {
			g.Go("sender", func(ctx context.Context) {
				e.ends("Sleep", e.clock.Sleep(ctx, time.Duration(i)*time.Second), nil)
				s.Send()
			})
		}
		for range 5 {
			e.ends("Wait", s.Wait(e.ctx), nil)
			got++
		}
		g.Wait()
		e.elapsed(fmt.Sprintf("after %d signals", got), 4*time.Second)
	}},
}
