package gossipkeys_test

import (
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/gossipkeys"
	"github.com/seedbed-sim/seedbed/scenarios/internal/planted"
)

func plantedIn(t *testing.T) *planted.System {
	t.Helper()
	r, err := scenarios.New(gossipkeys.System())
	if err != nil {
		t.Fatal(err)
	}
	return &planted.System{
		Name: "gossipkeys", Registry: r, Bugs: plantedBugs,
		Samples: []string{"16-safe-rotation.yaml", "22-shut-down-during-delivery.yaml"}, SampleSeeds: 3,
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
	plantedIn(t).Cover(t, gossipkeys.System().Properties)
}
