package home_test

import (
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/home"
	"github.com/seedbed-sim/seedbed/scenarios/internal/planted"
)

func plantedIn(t *testing.T) *planted.System {
	t.Helper()
	r, err := scenarios.New(home.System())
	if err != nil {
		t.Fatal(err)
	}
	return &planted.System{
		Name: "home", Registry: r, Bugs: plantedBugs,
		Samples: []string{"grants/01-normal-start.yaml", "scope/35-slow-handler.yaml"}, SampleSeeds: 3,
	}
}

// TestPropertiesCatchPlantedBugs; see [planted.System.Catch].
func TestPropertiesCatchPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; make test does, without -short")
	}
	plantedIn(t).Catch(t)
}

func TestEveryPropertyHasAPlantedBug(t *testing.T) { plantedIn(t).Cover(t, home.System().Properties) }
