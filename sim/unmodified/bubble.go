package unmodified

import (
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// bubble is one run. The engine and everything that is called by it run on the bubble's
// first goroutine; programs run on others, and reach it through what mu guards.
type bubble struct {
	wake chan struct{} // one token: something has come to a gate

	mu    sync.Mutex
	calls []*call // at the gates
	acts  []act

	// stimuli let goroutines of programs go on. They wait until the engine has stopped.
	stimuli []func()

	programs sync.WaitGroup
	engine   *engine.Engine
	server   *apiserver.Server // for what is no request to the API
	began    time.Time
}

// patience is how long, in virtual time, programs may take to end once they are told.
const patience = 10 * time.Minute

// run makes one run in a bubble of t.
func (b *bubble) run(t *testing.T, run func(func(*sim.World) engine.Result)) {
	synctest.Test(t, func(t *testing.T) {
		b.wake = make(chan struct{}, 1) // here, or to wait for it would not count as waiting
		cryptotest.SetGlobalRandom(t, 1)
		rand.Seed(1) //nolint:staticcheck // it is the programs that use the global source
		run(b.drive)
		b.stimulate() // the processes have been killed, and the programs are to know
		ended := make(chan struct{})
		go func() {
			b.programs.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("a program has not ended 10 minutes after its context: Start must return then")
		}
		// What programs leave behind may need its time to notice that it is over.
		time.Sleep(patience)
	})
}

// drive lets the time of the world pass, in the bubble and in the engine alike.
func (b *bubble) drive(w *sim.World) engine.Result {
	horizon := w.Horizon()
	for {
		synctest.Wait()
		b.admit()
		now := min(time.Since(b.began), horizon)
		res := b.engine.RunTo(now)
		switch {
		case b.engine.Err() != nil:
			return res
		case b.stimulate():
		case now == horizon:
			return res
		default:
			b.idle(horizon)
		}
	}
}

// start is called before the world is built.
func (b *bubble) start(w *sim.World) {
	b.engine, b.server, b.began = w.Engine(), w.Instances()[0].Server(), time.Now()
}

// stimulate lets goroutines of programs go on, one after the other. It reports whether
// there were any.
func (b *bubble) stimulate() bool {
	stimuli := b.stimuli
	b.stimuli = nil
	for _, stimulus := range stimuli {
		stimulus()
		synctest.Wait()
	}
	return len(stimuli) > 0
}

// idle waits until there is something to do: in the engine, at a gate, or at the end.
func (b *bubble) idle(horizon time.Duration) {
	until := horizon
	if next, ok := b.engine.Next(); ok {
		until = min(until, next)
	}
	d := until - time.Since(b.began)
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b.wake:
	case <-timer.C:
	}
}

// admit lets what has come to the gates into the engine, in an order of its own.
func (b *bubble) admit() {
	b.mu.Lock()
	calls, acts := b.calls, b.acts
	b.calls, b.acts = nil, nil
	b.mu.Unlock()
	slices.SortStableFunc(acts, func(a, b act) int { return strings.Compare(a.order, b.order) })
	for _, a := range acts {
		b.engine.After(0, func(any) { a.do() }, nil)
	}
	slices.SortStableFunc(calls, func(a, b *call) int { return strings.Compare(a.order, b.order) })
	for _, c := range calls {
		b.engine.After(0, func(any) { c.to.admit(c) }, nil)
	}
}

// park leaves a call at its gate.
func (b *bubble) park(c *call) {
	b.mu.Lock()
	b.calls = append(b.calls, c)
	b.mu.Unlock()
	b.stir()
}

// act is something that a program has done other than to make a request.
type act struct {
	order string // among those of the same instant
	do    func()
}

// act has something done in the engine.
func (b *bubble) act(order string, do func()) {
	b.mu.Lock()
	b.acts = append(b.acts, act{order, do})
	b.mu.Unlock()
	b.stir()
}

func (b *bubble) stir() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
