package serial_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/cloak/serial"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// inProcess runs body as a process, in virtual time and some order of its tasks.
func inProcess(t *testing.T, seed uint64, body func(ctx context.Context, c clock.Clock)) {
	t.Helper()
	c := cluster.New(cluster.Config{Nodes: 1, Engine: engine.Config{Source: engine.NewSeed(seed), Horizon: time.Hour, Idle: engine.IdleAllowed}})
	ended := false
	c.Node("node-1").Process(cluster.ProcessSpec{Name: "agent", Main: func(ctx context.Context, env *cluster.Env) {
		if !ended {
			body(ctx, env.Clock)
			ended = true
		}
		_ = env.Clock.Sleep(ctx, 2*time.Hour) // a process that ends is started again
	}})
	if res := c.Run(); res.Err != nil {
		t.Error(res.Err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Errorf("seed %d: the body did not run to its end", seed)
	}
}

// One at a time for each key, in the order in which they came, and keys do not wait for
// each other.
func TestOneAtATime(t *testing.T) {
	for seed := range uint64(20) {
		inProcess(t, seed, func(ctx context.Context, c clock.Clock) {
			lanes, group, began := serial.New(c), c.NewGroup(ctx), c.Monotonic()
			inside := map[string]int{}
			var order []string
			for i := range 4 {
				for _, key := range []string{"a", "b"} {
					group.Go("task", func(ctx context.Context) {
						_ = c.Sleep(ctx, time.Duration(i)*time.Millisecond)
						err := lanes.Do(ctx, key, func() error {
							if inside[key]++; inside[key] != 1 {
								t.Errorf("%d are in lane %s", inside[key], key)
							}
							if key == "a" {
								order = append(order, fmt.Sprint(i))
							}
							err := c.Sleep(ctx, time.Second)
							inside[key]--
							return err
						})
						if err != nil {
							t.Error(err)
						}
					})
				}
			}
			group.Wait()
			if diff := cmp.Diff([]string{"0", "1", "2", "3"}, order); diff != "" {
				t.Errorf("seed %d (-want +got):\n%s", seed, diff)
			}
			if took := c.Monotonic() - began; took != 4*time.Second {
				t.Errorf("seed %d: took %s", seed, took)
			}
		})
	}
}

// Who gives up lets the others pass, even if it was handed the lane in that moment.
func TestGivingUp(t *testing.T) {
	for seed := range uint64(20) {
		inProcess(t, seed, func(ctx context.Context, c clock.Clock) {
			lanes, group := serial.New(c), c.NewGroup(ctx)
			busy := func() error { return c.Sleep(ctx, time.Second) }
			group.Go("first", func(ctx context.Context) { _ = lanes.Do(ctx, "a", busy) })
			_ = c.Sleep(ctx, time.Millisecond)
			for _, patience := range []time.Duration{time.Millisecond, time.Second - time.Millisecond, time.Second} {
				group.Go("impatient", func(ctx context.Context) {
					short, cancel := c.WithTimeout(ctx, patience)
					defer cancel()
					err := lanes.Do(short, "a", func() error { return nil })
					if patience < 500*time.Millisecond && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("patience %s: %v", patience, err)
					}
				})
			}
			group.Wait()
			failed := errors.New("failed")
			if err := lanes.Do(ctx, "a", func() error { return failed }); !errors.Is(err, failed) {
				t.Error(err)
			}
			if err := lanes.Do(ctx, "a", func() error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
}

// strict is a clock as that of production is: whose signals prefer the end of the context
// if both have happened.
type strict struct{ clock.Clock }

func (c strict) NewSignal() clock.Signal { return strictSignal{c.Clock.NewSignal()} }

type strictSignal struct{ clock.Signal }

func (s strictSignal) Wait(ctx context.Context) error {
	if err := s.Signal.Wait(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// Who is handed the lane after it has given up, but before it has noticed, passes it on.
func TestHandedOverTooLate(t *testing.T) {
	for seed := range uint64(20) {
		inProcess(t, seed, func(ctx context.Context, c clock.Clock) {
			lanes, group := serial.New(strict{c}), c.NewGroup(ctx)
			short, cancel := c.WithCancel(ctx)
			group.Go("first", func(ctx context.Context) {
				_ = lanes.Do(ctx, "a", func() error {
					defer cancel() // in the same moment
					return c.Sleep(ctx, time.Second)
				})
			})
			_ = c.Sleep(ctx, time.Millisecond)
			group.Go("late", func(context.Context) {
				if err := lanes.Do(short, "a", func() error { return nil }); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			group.Wait()
			if err := lanes.Do(ctx, "a", func() error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
}
