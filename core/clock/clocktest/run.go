package clocktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// Body is one case: the code of a process whose clock is c and whose life is
// ctx.
type Body func(ctx context.Context, c clock.Clock)

// Run runs each case as a subtest. run executes the body and returns when it
// and every task that it started have ended.
func Run(t *testing.T, run func(t *testing.T, body Body)) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"Sleep", sleeps},
		{"Context", contexts},
		{"Group", groups},
		{"Signal", signals},
	} {
		for _, c := range group.cases {
			t.Run(group.name+"/"+c.name, func(t *testing.T) {
				ended := false
				run(t, func(ctx context.Context, clk clock.Clock) {
					c.body(&env{t: t, ctx: ctx, clock: clk, start: clk.Now()})
					ended = true
				})
				if !ended {
					t.Error("the body did not run to its end")
				}
			})
		}
	}
}

type testCase struct {
	name string
	body func(e *env)
}

// env is what a case works with.
type env struct {
	t     *testing.T
	ctx   context.Context
	clock clock.Clock
	start time.Time
}

// elapsed checks how much time has passed since the case began.
func (e *env) elapsed(when string, want time.Duration) {
	e.t.Helper()
	if got := e.clock.Since(e.start); got != want {
		e.t.Errorf("%s: %v have passed, want %v", when, got, want)
	}
}

// ends checks the error of a call; nil means that there must be none.
func (e *env) ends(call string, err, want error) {
	e.t.Helper()
	if !errors.Is(err, want) {
		e.t.Errorf("%s returned %v, want %v", call, err, want)
	}
}

// sleep is a Sleep that nothing may interrupt.
func (e *env) sleep(d time.Duration) {
	e.t.Helper()
	e.ends("Sleep", e.clock.Sleep(e.ctx, d), nil)
}

// after runs f in a task of its own once d has passed.
func (e *env) after(d time.Duration, f func()) {
	e.clock.NewGroup(e.ctx).Go("after", func(ctx context.Context) {
		e.ends("Sleep", e.clock.Sleep(ctx, d), nil)
		f()
	})
}
