package nri_test

import (
	"context"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// bubble is the clock of a synctest bubble.
type bubble struct {
	utilclock.RealClock
	began time.Time
}

func (b bubble) Monotonic() time.Duration { return time.Since(b.began) }

func (bubble) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (bubble) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

func (bubble) WithCancel(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func (bubble) NewGroup(ctx context.Context) clock.Group { return &group{ctx: ctx} }
func (bubble) NewSignal() clock.Signal                  { return make(signal, 1) }

type group struct {
	ctx context.Context
	wg  sync.WaitGroup
}

func (g *group) Go(_ string, f func(context.Context)) { g.wg.Go(func() { f(g.ctx) }) }
func (g *group) Wait()                                { g.wg.Wait() }

type signal chan struct{}

func (s signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

func (s signal) Wait(ctx context.Context) error {
	select {
	case <-s:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
