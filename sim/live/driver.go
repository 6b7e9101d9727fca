package live

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Options of a driver. The zero value keeps pace with real time.
type Options struct {
	// Speed at the start; zero means Real.
	Speed Speed

	// Paused lets time stand still at the start.
	Paused bool

	// Journal, if set, keeps what comes from outside.
	Journal *Journal

	// Wall is the clock of the real world; nil means time.Now.
	Wall func() time.Time
}

// Driver drives one cluster. Its methods are safe for concurrent use, but Run is
// called once.
type Driver struct {
	c       *cluster.Cluster
	eng     *engine.Engine
	wall    func() time.Time
	start   time.Time // the virtual clock at time zero
	journal *Journal

	jobs chan job
	done chan struct{} // closed when Run has returned
	now  atomic.Int64  // virtual time, for readers on other goroutines

	// What follows belongs to the goroutine of Run.
	pace     pace
	steppers []stepper
	requests uint64
	failed   error
}

// job is something to do between two pieces of the run.
type job struct {
	do   func()
	done chan struct{}
}

// stepper waits for a step to end.
type stepper struct {
	at   time.Duration
	done chan struct{}
}

// ErrEnded is what clients get when the run has ended.
var ErrEnded = errors.New("the simulated cluster has ended")

// New returns a driver of c, which nobody else may touch from now on. The engine of
// c must not mind an empty queue: see [sim.Open].
func New(c *cluster.Cluster, o Options) *Driver {
	if o.Speed == 0 {
		o.Speed = Real
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	d := &Driver{
		c: c, eng: c.Engine(), wall: o.Wall, start: c.Engine().Now().Add(-c.Engine().Elapsed()), journal: o.Journal,
		jobs: make(chan job), done: make(chan struct{}),
		pace: pace{speed: o.Speed, paused: o.Paused},
	}
	d.now.Store(int64(d.eng.Elapsed()))
	return d
}

// Run drives the cluster until ctx ends, and then returns nil; or until the run
// itself fails, and then returns why: a process has panicked, say. In either case it
// ends the journal.
func (d *Driver) Run(ctx context.Context) error {
	defer close(d.done)
	err := d.drive(ctx)
	if d.journal != nil {
		err = errors.Join(err, d.journal.write(closing{endOf(d.c)}))
	}
	return err
}

func (d *Driver) drive(ctx context.Context) error {
	d.pace.anchor(d.eng.Elapsed(), d.wall())
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		idle := d.advance()
		if err := d.eng.Err(); err != nil {
			return fmt.Errorf("after %v of virtual time: %w", d.eng.Elapsed(), err)
		}
		if d.failed != nil {
			return d.failed
		}
		if idle == 0 {
			select {
			case j := <-d.jobs:
				d.serve(j)
			case <-ctx.Done():
				return nil
			default:
			}
			continue
		}
		timer.Reset(idle)
		select {
		case j := <-d.jobs:
			d.advance() // to the present
			d.serve(j)
		case <-timer.C:
		case <-ctx.Done():
			d.advance() // time has passed, though nothing was due
			return nil
		}
	}
}

// advance runs one piece and returns how long in real time nothing will be due.
func (d *Driver) advance() (idle time.Duration) {
	elapsed, wall := d.eng.Elapsed(), d.wall()
	limit := d.pace.limit(elapsed, wall)
	next, due := d.eng.Next()
	switch {
	case due && next <= limit:
		d.runTo(min(limit, max(next, elapsed+slice)))
		d.pace.late(d.eng.Elapsed(), limit, d.wall())
	case limit == forever:
		idle = forever
	default:
		d.runTo(limit)
		if idle = forever; due {
			idle = d.pace.wait(limit, next)
		}
	}
	d.stepped()
	return idle
}

func (d *Driver) runTo(at time.Duration) {
	d.eng.RunTo(at)
	d.now.Store(int64(d.eng.Elapsed()))
}

// stepped tells those who wait for a step that it is done.
func (d *Driver) stepped() {
	for len(d.steppers) > 0 && d.steppers[0].at <= d.eng.Elapsed() {
		close(d.steppers[0].done)
		d.steppers = d.steppers[1:]
		d.pace.anchor(d.eng.Elapsed(), d.wall()) // a step is on top of the usual pace
	}
}

func (d *Driver) serve(j job) {
	j.do()
	close(j.done)
}

// Do runs f between two pieces of the run, where it may look at the cluster. It must
// not change the cluster: what does is an input.
func (d *Driver) Do(ctx context.Context, f func(c *cluster.Cluster)) error {
	return d.post(ctx, func() { f(d.c) })
}

// Gate runs f between two pieces of the run, for those who know nothing of the
// cluster. As with Do, f must not change it.
func (d *Driver) Gate(ctx context.Context, f func()) error { return d.post(ctx, f) }

// post hands f to the goroutine of Run and waits for it.
func (d *Driver) post(ctx context.Context, f func()) error {
	j := job{do: f, done: make(chan struct{})}
	select {
	case d.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.done:
		return ErrEnded
	}
	<-j.done // soon: Run has taken it
	return nil
}

// Done is closed when Run has returned.
func (d *Driver) Done() <-chan struct{} { return d.done }

// Now is the virtual time, by the clock of the cluster.
func (d *Driver) Now() time.Time { return d.start.Add(time.Duration(d.now.Load())) }

// Since is the virtual time that has passed since t; with Now it makes the driver a
// passive clock.
func (d *Driver) Since(t time.Time) time.Duration { return d.Now().Sub(t) }
