package network

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// traffic runs processes that ask each other by datagram and by stream, with every
// fault there is, for ten seconds.
func traffic(src engine.Source) engine.Result {
	e := engine.New(engine.Config{Source: src, Record: true, Strict: true, Horizon: 10 * time.Second})
	defer e.Close()
	n := New(e, Quality{
		Delay: engine.Dist{Min: ms, Mean: 10 * ms, Max: time.Second},
		Loss:  50_000, Duplicate: 50_000, Reorder: 50_000,
	})
	names := []string{"a", "b", "c"}
	for i, name := range names {
		peer := names[(i+1)%len(names)]
		p := e.Process(name)
		pause := e.Stream("delay", name)
		start := func(ctx context.Context) {
			conn := n.Dial(name, peer)
			p.OnEnd(func() { conn.Close(name) })
			for round := 0; ; round++ {
				c, cancel := p.WithTimeout(ctx, 200*ms)
				err := p.Await(c, engine.Op{Verb: "ask", Key: peer}, func(w *engine.Wait) {
					answer := func(any) { n.Send(peer, name, func(any) { w.Done() }, nil) }
					if round%2 == 0 || conn.Send(name, answer, nil) != nil {
						n.Send(name, peer, answer, nil)
					}
				})
				cancel()
				e.Emit(engine.Event{Kind: "sys", Actor: name, Verb: fmt.Sprint(err), N: uint64(round)})
				_ = p.Sleep(ctx, pause.Duration(engine.Dist{Mean: 50 * ms, Max: time.Second}))
			}
		}
		p.OnExit(func(engine.Exit) { e.After(100*ms, func(any) { p.Start(start) }, nil) })
		p.Start(start)
	}
	disturb(e, n, names)
	return e.Run()
}

// disturb cuts, switches off and crashes as the choices say.
func disturb(e *engine.Engine, n *Network, names []string) {
	faults := e.Stream("fault/driver", "all")
	var again func(any)
	again = func(any) {
		name := names[faults.Intn(len(names))]
		later := func(fn func()) { e.After(faults.Duration(engine.Dist{Mean: 300 * ms}), func(any) { fn() }, nil) }
		switch {
		case faults.Hit(200_000):
			later(n.Isolate(name).Heal)
		case faults.Hit(200_000):
			later(n.PartitionOneWay([]string{name}, names[:2]).Heal)
		case faults.Hit(100_000):
			n.Host(name).SetUp(false)
			later(func() { n.Host(name).SetUp(true) })
		case faults.Hit(100_000):
			e.Process(name).Crash()
		}
		e.After(100*ms, again, nil)
	}
	again(nil)
}

// Runs with a network replay exactly.
func TestReplay(t *testing.T) {
	for seed := range uint64(100) {
		first := traffic(engine.NewSeed(seed))
		again := traffic(engine.NewReplay(first.Schedule))
		if first.Err != nil || first.Hash != again.Hash || again.Diverged {
			t.Fatalf("seed %d: %v, %x and %x, diverged %v", seed, first.Err, first.Hash, again.Hash, again.Diverged)
		}
	}
}
