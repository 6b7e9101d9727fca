package cloak_test

import (
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios/cloak"
	"github.com/seedbed-sim/seedbed/scenarios/internal/planted"
)

func plantedIn(t *testing.T) *planted.System {
	t.Helper()
	return &planted.System{
		Name: "cloak", Registry: registry(t), Bugs: plantedBugs,
		Samples: []string{"01-a-value-arrives.yaml", "14-the-runtime-hangs-up.yaml"}, SampleSeeds: 2,
	}
}

// TestPropertiesCatchPlantedBugs; see [planted.System.Catch].
func TestPropertiesCatchPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; make test does, without -short")
	}
	plantedIn(t).Catch(t)
}

func TestEveryPropertyHasAPlantedBug(t *testing.T) {
	plantedIn(t).Cover(t, cloak.System().Properties)
}
