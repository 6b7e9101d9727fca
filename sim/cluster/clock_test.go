package cluster

import (
	"context"
	"testing"

	"github.com/seedbed-sim/seedbed/core/clock/clocktest"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// TestClockConformance runs the table that the real clock passes as well, each
// case on several schedules.
func TestClockConformance(t *testing.T) {
	clocktest.Run(t, func(t *testing.T, body clocktest.Body) {
		for seed := range uint64(20) {
			eng := engine.New(engine.Config{Source: engine.NewSeed(seed)})
			p := eng.Process("under test")
			p.Start(func(ctx context.Context) { body(ctx, processClock{p}) })
			if r := eng.Run(); r.Err != nil {
				t.Errorf("seed %d: %v", seed, r.Err)
			}
			if err := eng.Close(); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	})
}
