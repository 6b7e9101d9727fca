package shrink

import (
	"fmt"
	"slices"
	"testing"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// The default mixture of strategies finds the race within 60 seeds in the median,
// however much noise there is and however far apart the operations are.
func TestSeedsToFindTheRace(t *testing.T) {
	const trials, target = 21, 60
	for _, r := range []race{{8, 0, 0}, {8, 0, 50}, {40, 0, 0}, {40, 0, 50}, {40, 4, 0}} {
		t.Run(fmt.Sprintf("padding=%d,window=%d,noise=%d", r.padding, r.window, r.noise), func(t *testing.T) {
			var seeds []int
			for trial := range uint64(trials) {
				n := 1
				for r.run(engine.NewSeed(trial<<32+uint64(n))).Err == nil && n < 10*target {
					n++
				}
				seeds = append(seeds, n)
			}
			slices.Sort(seeds)
			t.Logf("seeds needed: median %d, largest %d", seeds[trials/2], seeds[trials-1])
			if seeds[trials/2] > target {
				t.Errorf("median %d seeds, want at most %d", seeds[trials/2], target)
			}
		})
	}
}
