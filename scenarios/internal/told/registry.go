package told

import (
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// Registry is one of a system alone that adds the state of each run to states: it knows
// all that must not be shown. Build is that of the system.
func Registry[C, S any](t testing.TB, system scenarios.System, build func(*scenarios.World, C) (S, error), states *[]S) *scenarios.Registry {
	t.Helper()
	system.Build = scenarios.BuildWith(func(world *scenarios.World, c C) (S, error) {
		state, err := build(world, c)
		*states = append(*states, state)
		return state, err
	})
	r, err := scenarios.New(system)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
