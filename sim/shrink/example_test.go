package shrink_test

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/shrink"
)

// A run with forty lost messages, of which one matters.
func Example() {
	var bad engine.Schedule
	for i := range uint64(40) {
		bad.Picks = append(bad.Picks, engine.Pick{Label: "fault/drop/node-1>api", Nth: i, Value: 1})
	}
	fails := func(s engine.Schedule) bool {
		for _, p := range s.Picks {
			if p.Nth == 23 {
				return true
			}
		}
		return false
	}
	small := shrink.Shrink(bad, fails, shrink.Budget{Runs: 500})
	fmt.Println(small.Schedule.Picks, small.Complete)
	// Output: [{fault/drop/node-1>api 23 1}] true
}
