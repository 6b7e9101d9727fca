package gossipkeys_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// wallClock is the port on the standard library. Inside a synctest bubble it
// runs in the bubble's time.
type wallClock struct{}

func (wallClock) Now() time.Time                  { return time.Now() }
func (wallClock) Since(t time.Time) time.Duration { return time.Since(t) }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sleep: %w", ctx.Err())
	}
}

func (wallClock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

func (wallClock) WithCancel(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func (wallClock) Monotonic() time.Duration { return time.Since(wallBegan) }

var wallBegan = time.Now()

func (wallClock) NewGroup(ctx context.Context) clock.Group { return &wallGroup{ctx: ctx} }
func (wallClock) NewSignal() clock.Signal                  { return make(wallSignal, 1) }

type wallGroup struct {
	sync.WaitGroup
	ctx context.Context
}

func (g *wallGroup) Go(_ string, f func(context.Context)) {
	g.WaitGroup.Go(func() { f(g.ctx) })
}

type wallSignal chan struct{}

func (s wallSignal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

func (s wallSignal) Wait(ctx context.Context) error {
	select {
	case <-s:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	}
}
