package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// A process sleeps for an hour, which takes no time.
func Example() {
	e := engine.New(engine.Config{Source: engine.NewSeed(1)})
	defer e.Close()
	p := e.Process("node-1")
	p.Start(func(ctx context.Context) {
		fmt.Println("started", p.Now().Format(time.DateTime))
		_ = p.Sleep(ctx, time.Hour)
		fmt.Println("woke at", p.Now().Format(time.DateTime))
	})
	r := e.Run()
	fmt.Println("error:", r.Err, "steps:", r.Steps)
	// Output:
	// started 2030-01-01 00:00:00
	// woke at 2030-01-01 01:00:00
	// error: <nil> steps: 3
}

var errLost = errors.New("an update was lost")

// increments is a program with a race: two processes read a counter from a server and
// write it back, each with a latency chosen by the source.
func increments(src engine.Source) engine.Result {
	e := engine.New(engine.Config{Source: src, Record: true})
	defer e.Close()
	counter, done := 0, 0
	for _, name := range []string{"a", "b"} {
		p, latency := e.Process(name), e.Stream("delay", name)
		call := func(ctx context.Context, verb string, act func()) {
			op := engine.Op{Verb: verb, Key: "counter", Write: verb == "update"}
			_ = p.Await(ctx, op, func(w *engine.Wait) {
				e.After(latency.Duration(engine.Dist{Mean: 10 * time.Millisecond}), func(any) {
					act() // the server, a callback
					w.Done()
				}, nil)
			})
		}
		p.Start(func(ctx context.Context) {
			var seen int
			_ = p.Sleep(ctx, latency.Duration(engine.Dist{Mean: time.Second}))
			call(ctx, "get", func() { seen = counter })
			call(ctx, "update", func() { counter = seen + 1 })
			if done++; done == 2 && counter != 2 {
				e.Stop(errLost)
			}
		})
	}
	return e.Run()
}

// Seeds find the race; the schedule of the failing run replays it, also after a trip
// through a file.
func ExampleNewReplay() {
	seed := uint64(0)
	for increments(engine.NewSeed(seed)).Err == nil {
		seed++
	}
	bad := increments(engine.NewSeed(seed))
	file, _ := json.Marshal(bad.Schedule)

	var s engine.Schedule
	_ = json.Unmarshal(file, &s)
	again := increments(engine.NewReplay(s))
	fmt.Println(again.Err, again.Hash == bad.Hash, again.Diverged)
	fmt.Println("without any delay:", increments(engine.NewReplay(engine.Schedule{})).Err)
	// Output:
	// an update was lost true false
	// without any delay: an update was lost
}

// A crash: the deferred function runs, but what it does has no effect.
func ExampleProcess_Crash() {
	e := engine.New(engine.Config{Source: engine.NewSeed(1)})
	defer e.Close()
	p := e.Process("agent")
	p.OnExit(func(x engine.Exit) {
		fmt.Println(e.Elapsed(), "crashed:", x.Crashed)
	})
	p.Start(func(ctx context.Context) {
		defer func() {
			fmt.Println("the deferred function runs")
			_ = p.Sleep(ctx, time.Second)
			fmt.Println("but is ended by the first call of the engine")
		}()
		for {
			_ = p.Sleep(ctx, time.Minute)
		}
	})
	e.After(90*time.Second, func(any) { p.Crash() }, nil)
	e.Run()
	// Output:
	// 1m30s crashed: true
	// the deferred function runs
}

// A property that is checked after every step in which something changed.
func ExampleEngine_OnTouched() {
	e := engine.New(engine.Config{Source: engine.NewSeed(1), Horizon: time.Minute})
	defer e.Close()
	leaders := map[string]bool{}
	e.OnTouched(func() error {
		if len(leaders) > 1 {
			return errors.New("two leaders")
		}
		return nil
	})
	for i, name := range []string{"a", "b"} {
		p := e.Process(name)
		p.Start(func(ctx context.Context) {
			_ = p.Sleep(ctx, time.Duration(i+1)*time.Second)
			leaders[name] = true
			e.Touch()
		})
	}
	r := e.Run()
	fmt.Println(r.Elapsed, r.Err)
	// Output: 2s two leaders
}

// CheckReplay finds code that depends on something other than its choices; here, on a
// counter that outlives the run.
func ExampleCheckReplay() {
	runs := 0
	run := func() engine.Result {
		runs++
		e := engine.New(engine.Config{Source: engine.NewSeed(1), Trace: engine.TraceFull})
		defer e.Close()
		p := e.Process("p")
		p.Start(func(ctx context.Context) {
			_ = p.Sleep(ctx, time.Duration(runs)*time.Second)
		})
		return e.Run()
	}
	var n *engine.NondeterminismError
	if errors.As(engine.CheckReplay(run, 1), &n) {
		fmt.Println("they part at", n.Other.Records[n.At], "- the first run had", n.First.Records[n.At])
	}
	// Output: they part at [2 2s step] event 1 - the first run had [2 1s step] event 1
}
