package engine

import (
	"context"
	"testing"
	"time"
)

// What counts as waiting for too long, in a run in which something always
// happens. Each row's process waits from second one on; patience is a minute.
func TestPatience(t *testing.T) {
	forever := func(*Wait) {}
	get := func(p *Process, ctx context.Context) { _ = p.Await(ctx, opGet, forever) }
	table := map[string]struct {
		main    func(p *Process, ctx context.Context)
		excused func(w *world) bool
		want    string // "" for no error
	}{
		"a call that is never answered": {
			main: get,
			want: `deadlock at 1m4s: task p#1/main.1 waits at "get secrets/ns/name" since 0s`,
		},
		"a call that is never answered, but the world is to blame": {
			main:    get,
			excused: func(*world) bool { return true },
		},
		"excused for five minutes": {
			main:    get,
			excused: func(w *world) bool { return w.Elapsed() <= 5*time.Minute },
			want:    `deadlock at 6m8s: task p#1/main.1 waits at "get secrets/ns/name" since 0s`,
		},
		"a call with a deadline": {
			main: func(p *Process, ctx context.Context) {
				ctx, cancel := p.WithTimeout(ctx, 9*time.Minute)
				defer cancel()
				get(p, ctx)
				_ = p.Sleep(ctx, time.Hour)
			},
		},
		"sleeping": {main: func(p *Process, ctx context.Context) { _ = p.Sleep(ctx, time.Hour) }},
		"an idle server": {
			main: func(p *Process, ctx context.Context) { _ = p.NewSignal().Wait(ctx) },
		},
		"joining an idle worker": {
			main: func(p *Process, ctx context.Context) {
				p.Go(ctx, "worker", func(ctx context.Context) { _ = p.NewSignal().Wait(ctx) }).Join()
			},
		},
		"joining one that waits for ever": {
			main: func(p *Process, ctx context.Context) {
				p.Go(ctx, "worker", func(ctx context.Context) { get(p, ctx) }).Join()
			},
			want: `deadlock at 1m4s: task p#1/main.1 waits at "join worker" since 0s, task p#1/worker.1 waits at "get secrets/ns/name" since 0s`,
		},
		"two locks in opposite order": {
			main: func(p *Process, ctx context.Context) {
				a, b := p.NewMutex(), p.NewMutex()
				p.Go(ctx, "other", func(ctx context.Context) {
					b.Lock()
					_ = p.Sleep(ctx, second)
					a.Lock()
				})
				a.Lock()
				_ = p.Sleep(ctx, second)
				b.Lock()
			},
			want: `deadlock at 8s: task p#1/main.1 waits at "lock" since 1s, task p#1/other.1 waits at "lock" since 1s`,
		},
		"a lock whose holder sleeps": {
			main: func(p *Process, ctx context.Context) {
				m := p.NewMutex()
				p.Go(ctx, "other", func(context.Context) { m.Lock() })
				m.Lock()
				_ = p.Sleep(ctx, time.Hour)
			},
		},
	}
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			var w *world
			w = newWorld(t, func(c *Config) {
				c.Patience, c.Horizon = time.Minute, 10*time.Minute
				if row.excused != nil {
					c.Excused = func() bool { return row.excused(w) }
				}
			})
			var again func(any)
			again = func(any) { w.After(second, again, nil) }
			again(nil)
			w.process("p", row.main)
			got := ""
			if err := w.Run().Err; err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("error %q\n want %q", got, row.want)
			}
		})
	}
}

// The last look is at the horizon; a paused process is not looked at.
func TestPatienceAtTheHorizon(t *testing.T) {
	run := func(pause bool) error {
		w := newWorld(t, func(c *Config) { c.Patience, c.Horizon = time.Minute, 61*time.Second })
		p := w.process("p", func(p *Process, ctx context.Context) { _ = p.Await(ctx, opGet, func(*Wait) {}) })
		w.at(2*time.Minute, func() {})
		if pause {
			w.at(second, p.Pause)
		}
		return w.Run().Err
	}
	const want = `deadlock at 1m1s: task p#1/main.1 waits at "get secrets/ns/name" since 0s`
	if err := run(false); err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
	if err := run(true); err != nil {
		t.Errorf("paused: %v", err)
	}
}
