package kernel

import (
	"context"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/clock"
)

// eventsMax is how many events wait for an agent; more are lost.
const eventsMax = 1024

// agent is the data plane as one agent has it.
type agent struct {
	*Kernel
	came clock.Signal
}

// Layout is the version of the maps that an agent works with.
type Layout int

// Plane returns the data plane for an agent with a clock. Events go to the latest one.
func (k *Kernel) Plane(c clock.Clock) plane.Plane { return k.PlaneOf(0, c) }

// PlaneOf returns the data plane for an agent whose maps have a layout. Those of another
// layout are left behind with what is in them, but for the virtual IPs and the real
// addresses, which Pods know: these move. What an agent of before has attached goes on, one
// program at a time being replaced.
func (k *Kernel) PlaneOf(layout Layout, c clock.Clock) plane.Plane {
	k.mu.Lock()
	defer k.mu.Unlock()
	if layout != k.layout {
		k.layout = layout
		k.entries, k.grants, k.trusted = map[placeholder.Key]plane.Entry{}, map[policy.Grant]bool{}, nil
		k.index()
	}
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
