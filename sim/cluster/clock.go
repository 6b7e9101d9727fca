package cluster

import (
	"context"
	"time"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// processClock is core/clock.Clock for one process. All of it is the engine's;
// only the types differ.
type processClock struct{ p *engine.Process }

var _ clock.Clock = processClock{}

func (c processClock) Now() time.Time                  { return c.p.Now() }
func (c processClock) Since(t time.Time) time.Duration { return c.p.Since(t) }

func (c processClock) Monotonic() time.Duration { return c.p.Monotonic() }

func (c processClock) Sleep(ctx context.Context, d time.Duration) error { return c.p.Sleep(ctx, d) }

func (c processClock) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return c.p.WithTimeout(parent, d)
}

func (c processClock) WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	return c.p.WithCancel(parent)
}

func (c processClock) NewSignal() clock.Signal { return c.p.NewSignal() }

func (c processClock) NewGroup(ctx context.Context) clock.Group { return &group{p: c.p, ctx: ctx} }

// group is clock.Group on the engine's tasks.
type group struct {
	p     *engine.Process
	ctx   context.Context
	tasks []*engine.Task
}

func (g *group) Go(name string, f func(ctx context.Context)) {
	g.tasks = append(g.tasks, g.p.Go(g.ctx, name, f))
}

// Wait joins every task, those started meanwhile included.
func (g *group) Wait() {
	for len(g.tasks) > 0 {
		t := g.tasks[0]
		t.Join()
		if len(g.tasks) > 0 && g.tasks[0] == t { // unless another waiter was faster
			g.tasks = g.tasks[1:]
		}
	}
}

// trueClock is the clock of the API servers: always right.
type trueClock struct{ eng *engine.Engine }

func (c trueClock) Now() time.Time                  { return c.eng.Now() }
func (c trueClock) Since(t time.Time) time.Duration { return c.eng.Now().Sub(t) }
