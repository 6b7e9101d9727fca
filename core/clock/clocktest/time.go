package clocktest

import (
	"context"
	"time"
)

type contextKey struct{}

var sleeps = []testCase{
	{"the monotonic clock goes on by as much", func(e *env) {
		before := e.clock.Monotonic()
		e.sleep(time.Minute)
		if got := e.clock.Monotonic() - before; got != time.Minute {
			e.t.Errorf("the monotonic clock went on by %v, want %v", got, time.Minute)
		}
	}},
	{"passes exactly the time asked for", func(e *env) {
		e.sleep(90 * time.Second)
		e.elapsed("after the sleep", 90*time.Second)
		if got, want := e.clock.Now(), e.start.Add(90*time.Second); !got.Equal(want) {
			e.t.Errorf("Now is %v, want %v", got, want)
		}
	}},
	{"returns at once for zero and less", func(e *env) {
		e.sleep(0)
		e.sleep(-time.Hour)
		e.elapsed("after both sleeps", 0)
	}},
	{"returns at once when the context has ended", func(e *env) {
		ctx, cancel := e.clock.WithCancel(e.ctx)
		cancel()
		e.ends("Sleep", e.clock.Sleep(ctx, time.Hour), context.Canceled)
		e.ends("Sleep for no time", e.clock.Sleep(ctx, 0), context.Canceled)
		e.elapsed("after both sleeps", 0)
	}},
	{"ends with a cancel that comes meanwhile", func(e *env) {
		ctx, cancel := e.clock.WithCancel(e.ctx)
		e.after(time.Second, cancel)
		e.ends("Sleep", e.clock.Sleep(ctx, time.Hour), context.Canceled)
		e.elapsed("after the cancel", time.Second)
	}},
	{"ends with a deadline that comes first", func(e *env) {
		ctx, cancel := e.clock.WithTimeout(e.ctx, time.Second)
		defer cancel()
		e.ends("Sleep", e.clock.Sleep(ctx, time.Hour), context.DeadlineExceeded)
		e.elapsed("after the deadline", time.Second)
	}},
	{"ends with a deadline behind context.WithValue", func(e *env) {
		ctx, cancel := e.clock.WithTimeout(e.ctx, time.Second)
		defer cancel()
		ctx = context.WithValue(ctx, contextKey{}, "value")
		e.ends("Sleep", e.clock.Sleep(ctx, time.Hour), context.DeadlineExceeded)
		e.elapsed("after the deadline", time.Second)
	}},
}

var contexts = []testCase{
	{"a timeout has a deadline and ends at it", func(e *env) {
		ctx, cancel := e.clock.WithTimeout(e.ctx, time.Minute)
		defer cancel()
		deadline, ok := ctx.Deadline()
		if want := e.start.Add(time.Minute); !ok || !deadline.Equal(want) {
			e.t.Errorf("Deadline is %v %v, want %v", deadline, ok, want)
		}
		e.sleep(time.Minute - 1)
		e.ends("Err just before", ctx.Err(), nil)
		e.sleep(2)
		e.ends("Err just after", ctx.Err(), context.DeadlineExceeded)
	}},
	{"a timeout of nothing has ended already", func(e *env) {
		for _, d := range []time.Duration{0, -time.Second} {
			ctx, cancel := e.clock.WithTimeout(e.ctx, d)
			e.ends("Err", ctx.Err(), context.DeadlineExceeded)
			cancel()
		}
		e.elapsed("afterwards", 0)
	}},
	{"the earlier deadline wins", func(e *env) {
		outer, cancel := e.clock.WithTimeout(e.ctx, time.Second)
		defer cancel()
		inner, cancelInner := e.clock.WithTimeout(outer, time.Hour)
		defer cancelInner()
		want, _ := outer.Deadline()
		if got, ok := inner.Deadline(); !ok || !got.Equal(want) {
			e.t.Errorf("Deadline of the inner context is %v %v, want %v", got, ok, want)
		}
		e.ends("Sleep", e.clock.Sleep(inner, time.Minute), context.DeadlineExceeded)
		e.elapsed("after the outer deadline", time.Second)
	}},
	{"ending a parent ends its children", func(e *env) {
		parent, cancel := e.clock.WithCancel(e.ctx)
		child, cancelChild := e.clock.WithTimeout(context.WithValue(parent, contextKey{}, "value"), time.Hour)
		defer cancelChild()
		grandchild, cancelGrandchild := e.clock.WithCancel(child)
		defer cancelGrandchild()
		cancel()
		for _, ctx := range []context.Context{parent, child, grandchild} {
			e.ends("Err", ctx.Err(), context.Canceled)
		}
	}},
	{"ending a child leaves its parent alone", func(e *env) {
		parent, cancel := e.clock.WithTimeout(e.ctx, time.Hour)
		defer cancel()
		child, cancelChild := e.clock.WithCancel(parent)
		cancelChild()
		e.ends("Err of the child", child.Err(), context.Canceled)
		e.ends("Err of the parent", parent.Err(), nil)
	}},
	{"a child of an ended parent has ended", func(e *env) {
		parent, cancel := e.clock.WithCancel(e.ctx)
		cancel()
		child, cancelChild := e.clock.WithTimeout(parent, time.Hour)
		defer cancelChild()
		e.ends("Err", child.Err(), context.Canceled)
	}},
	{"the first reason stays", func(e *env) {
		late, cancelLate := e.clock.WithTimeout(e.ctx, time.Second)
		early, cancelEarly := e.clock.WithTimeout(e.ctx, time.Second)
		cancelEarly()
		cancelEarly()
		e.sleep(2 * time.Second)
		cancelLate()
		e.ends("Err of the one cancelled too late", late.Err(), context.DeadlineExceeded)
		e.ends("Err of the one cancelled in time", early.Err(), context.Canceled)
	}},
	{"Done is closed when the context has ended", func(e *env) {
		ctx, cancel := e.clock.WithCancel(e.ctx)
		cancel()
		if ctx.Done() == nil {
			e.t.Error("Done is nil")
		}
		e.ends("Cause", context.Cause(ctx), context.Canceled)
	}},
}
