package clock

import (
	"context"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// New returns the clock of this machine. The value has no state: any number of
// them are the same clock.
func New() clock.Clock { return system{} }

// system is the real clock. Now and Since are those of package time, so they
// use the monotonic reading where there is one.
type system struct{ utilclock.RealClock }

// began is the fixed instant of Monotonic.
var began = time.Now()

func (system) Monotonic() time.Duration { return time.Since(began) }

// Sleep waits on a timer. A context that has ended already wins over a duration
// that has passed already, so a loop around Sleep always ends with its context.
func (system) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (system) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, d)
}

func (system) WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(parent)
}

func (system) NewGroup(ctx context.Context) clock.Group { return &group{ctx: ctx} }

func (system) NewSignal() clock.Signal { return make(signal, 1) }

// group starts each task as a goroutine. Names are for traces, which production
// does not keep.
type group struct {
	ctx  context.Context
	done sync.WaitGroup
}

func (g *group) Go(_ string, f func(ctx context.Context)) {
	g.done.Go(func() { f(g.ctx) })
}

func (g *group) Wait() { g.done.Wait() }

// signal holds the bit as the presence of an element in a channel of capacity
// one.
type signal chan struct{}

func (s signal) Send() {
	select {
	case s <- struct{}{}:
	default: // already set
	}
}

// Wait prefers the end of the context when both have happened; the signal then
// stays set for the next Wait.
func (s signal) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
