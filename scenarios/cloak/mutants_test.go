package cloak_test

import (
	"os"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios/cloak"
	"github.com/seedbed-sim/seedbed/scenarios/internal/planted"
	"github.com/seedbed-sim/seedbed/sim"
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
	if testing.Short() || os.Getenv(sim.EnvSeeds) == "" {
		t.Skip("builds a program and runs it for each bug; make planted does")
	}
	plantedIn(t).Catch(t)
}

func TestEveryPropertyHasAPlantedBug(t *testing.T) {
	plantedIn(t).Cover(t, cloak.System().Properties)
}
