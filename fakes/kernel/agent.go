package kernel

import (
	"context"

	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/clock"
)

// eventsMax is how many events wait for an agent; more are lost.
const eventsMax = 1024

// agent is the data plane as one agent has it.
type agent struct {
	*Kernel
	came clock.Signal
}

// Plane returns the data plane for an agent with a clock. Events go to the latest one.
func (k *Kernel) Plane(c clock.Clock) plane.Plane {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ready = c.NewSignal()
	return &agent{Kernel: k, came: k.ready}
}

// NextEvent implements plane.Events.
func (a *agent) NextEvent(ctx context.Context) (plane.Event, error) {
	for {
		if e, ok := a.take(); ok {
			return e, nil
		}
		if err := a.came.Wait(ctx); err != nil {
			return plane.Event{}, err
		}
	}
}

func (k *Kernel) take() (plane.Event, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.events) == 0 {
		return plane.Event{}, false
	}
	e := k.events[0]
	k.events = k.events[1:]
	return e, true
}

// emit adds an event, unless too many wait already.
func (k *Kernel) emit(e plane.Event) {
	if len(k.events) >= eventsMax {
		return
	}
	k.events = append(k.events, e)
	if k.ready != nil {
		k.ready.Send()
	}
}
