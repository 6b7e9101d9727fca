package live

import (
	"context"
	"errors"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// State is where a live run has come to.
type State struct {
	Now      time.Time     // virtual
	Elapsed  time.Duration // virtual, since the start of the run
	Speed    Speed
	Paused   bool
	Behind   time.Duration // virtual time that the run was too slow for
	Steps    uint64
	Hash     uint64
	Requests uint64 // from outside, watches included
	Revision uint64 // of the store
}

// State returns where the run has come to.
func (d *Driver) State(ctx context.Context) (s State, err error) {
	err = d.post(ctx, func() { s = d.state() })
	return s, err
}

func (d *Driver) state() State {
	return State{
		Now: d.eng.Now(), Elapsed: d.eng.Elapsed(), Speed: d.pace.speed, Paused: d.pace.paused, Behind: d.pace.behind,
		Steps: d.eng.Steps(), Hash: d.eng.Hash(), Requests: d.requests, Revision: d.c.Store().Revision(),
	}
}

// Summary is the State after Run has returned.
func (d *Driver) Summary() State {
	<-d.done
	return d.state()
}

// Pause lets virtual time stand still. Clients are answered all the same.
func (d *Driver) Pause(ctx context.Context) error {
	return d.post(ctx, func() { d.pace.paused = true })
}

// Resume lets virtual time pass again.
func (d *Driver) Resume(ctx context.Context) error {
	return d.post(ctx, func() {
		d.pace.paused = false
		d.pace.anchor(d.eng.Elapsed(), d.wall())
	})
}

// SetSpeed changes the speed. It does not end a pause.
func (d *Driver) SetSpeed(ctx context.Context, s Speed) error {
	return d.post(ctx, func() {
		d.pace.speed = s
		d.pace.anchor(d.eng.Elapsed(), d.wall())
	})
}

// longestStep keeps virtual time within what a duration can hold.
const longestStep = 10 * 365 * 24 * time.Hour

// ErrLongStep says that a step is too long.
var ErrLongStep = errors.New("a step is at most ten years")

// Step lets virtual time pass by by, as fast as it can, and returns when it has. It
// goes on if ctx ends. Steps of several callers come one after the other.
func (d *Driver) Step(ctx context.Context, by time.Duration) error {
	if by > longestStep {
		return ErrLongStep
	}
	done := make(chan struct{})
	err := d.post(ctx, func() {
		at := max(d.eng.Elapsed(), d.pace.stepTo) + by
		d.pace.stepTo = at
		d.steppers = append(d.steppers, stepper{at, done})
	})
	if err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-d.done:
		return ErrEnded
	}
}

// Inject switches a fault on; see [cluster.Cluster.Inject]. It is an input.
func (d *Driver) Inject(ctx context.Context, f cluster.Fault) (on cluster.ActiveFault, err error) {
	in := &Input{Inject: &f}
	if failed := d.enter(ctx, in); failed != nil {
		return on, failed
	}
	return in.fault, in.err
}

// Clear switches a fault off and reports whether there was one of that number. It is
// an input.
func (d *Driver) Clear(ctx context.Context, id int) (was bool, err error) {
	in := &Input{Clear: &id}
	err = d.enter(ctx, in)
	return in.cleared, err
}
