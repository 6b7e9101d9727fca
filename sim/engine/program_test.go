package engine

import (
	"context"
	"fmt"
	"time"
)

// program is a random program for property tests: processes that yield, sleep,
// call a server, start tasks, lock, signal, and are crashed, paused and restarted
// by a driver. What it does is decided by code and by choices of the run alone.
type program struct {
	e       *Engine
	procs   []*Process
	entropy prng // decides the program's shape, not its choices
	server  uint64
}

func newProgram(shape uint64, cfg Config) *program {
	g := &program{e: New(cfg), entropy: prng(shape)}
	for i := range 2 + g.entropy.below(3) {
		p := g.e.Process(fmt.Sprintf("p%d", i))
		g.procs = append(g.procs, p)
		shape := g.entropy.next()
		p.OnExit(func(x Exit) {
			if x.Crashed {
				g.e.After(10*ms, func(any) { g.start(p, shape+uint64(x.Incarnation)) }, nil)
			}
		})
		g.start(p, shape)
	}
	g.drive()
	return g
}

// drive crashes and pauses processes as the choices say.
func (g *program) drive() {
	faults := g.e.Stream("fault/driver", "all")
	var again func(any)
	again = func(any) {
		p := g.procs[faults.Intn(len(g.procs))]
		switch {
		case faults.Hit(200_000):
			p.Crash()
		case faults.Hit(200_000):
			p.Pause()
			g.e.After(faults.Duration(Dist{Mean: 50 * ms, Max: second}), func(any) { p.Resume() }, nil)
		case faults.Hit(100_000):
			p.SetClock(faults.Duration(Dist{Max: second}), int64(faults.Intn(1000)))
		}
		g.e.After(20*ms, again, nil)
	}
	g.e.After(20*ms, again, nil)
}

func (g *program) start(p *Process, shape uint64) {
	if p.Alive() {
		return
	}
	p.Start(func(ctx context.Context) {
		rng := prng(shape)
		mu, s := p.NewMutex(), p.NewSignal()
		var tasks []*Task
		for i := range 1 + rng.below(4) {
			seed := rng.next()
			tasks = append(tasks, p.Go(ctx, fmt.Sprintf("w%d", i%2), func(ctx context.Context) {
				g.work(ctx, p, mu, s, prng(seed))
			}))
		}
		for _, t := range tasks {
			t.Join()
		}
	})
}

// work is the body of a task: a few random operations.
func (g *program) work(ctx context.Context, p *Process, mu *Mutex, s *Signal, rng prng) {
	delay := g.e.Stream("delay", p.Name())
	random := g.e.Entropy(p.Name())
	for range 3 + rng.below(10) {
		c, cancel := p.WithTimeout(ctx, time.Duration(rng.below(100))*ms)
		var err error
		switch rng.below(9) {
		case 0, 1:
			p.Yield(Op{Verb: "touch", Key: fmt.Sprint("key-", rng.below(3)), Write: true})
		case 2:
			err = p.Sleep(c, delay.Duration(Dist{Min: ms, Mean: 20 * ms, Max: second}))
		case 3, 4:
			err = p.Await(c, Op{Verb: "call", Key: "server"}, func(w *Wait) {
				g.e.After(delay.Duration(Dist{Mean: 30 * ms}), func(any) {
					g.server = mix(g.server, uint64(len(p.Name())))
					g.e.Emit(Event{Kind: "api", Actor: p.Name(), Verb: "call", N: g.server})
					g.e.After(delay.Duration(Dist{Mean: 30 * ms}), func(any) { w.Done() }, nil)
				}, nil)
			})
		case 5:
			mu.Lock()
			_ = p.Sleep(ctx, ms)
			mu.Unlock()
		case 6:
			s.Send()
		case 7:
			err = s.Wait(c)
		case 8:
			p.After(5*ms, func(any) { s.Send() }, nil)
		}
		g.e.Emit(Event{Kind: "sys", Actor: p.Name(), Verb: fmt.Sprint(err), N: random.Uint64()})
		cancel()
	}
}

// runProgram runs a random program to 1 s of virtual time.
func runProgram(shape uint64, cfg Config) Result {
	cfg.Horizon, cfg.Strict = second, true
	g := newProgram(shape, cfg)
	r := g.e.Run()
	if err := g.e.Close(); err != nil {
		r.Err = err
	}
	return r
}
