package encryption_test

import (
	"os"
	"slices"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/encryption"
	hunt "github.com/seedbed-sim/seedbed/scenarios/internal/planted"
	"github.com/seedbed-sim/seedbed/sim"
)

// plantedIn is the system with the bugs that are planted: all of them, or the quick ones.
func plantedIn(t *testing.T, all bool) *hunt.System {
	t.Helper()
	r, err := scenarios.New(encryption.System())
	if err != nil {
		t.Fatal(err)
	}
	system := &hunt.System{
		Name: "encryption", Registry: r,
		Samples: []string{"rotation/01-aescbc.yaml", "preflight/x01-configuration-changes-before-the-key.yaml"}, SampleSeeds: 1,
	}
	for _, p := range slices.Concat(plantedBugs, secrecyBugs, deadPluginBugs) {
		if all || p.quick {
			system.Bugs = append(system.Bugs, hunt.Bug{Mutant: p.Mutant, Bug: p.bug, Property: p.property, Scenario: p.scenario, Seeds: p.seeds, Drawn: p.drawn})
		}
	}
	return system
}

// TestPropertiesCatchPlantedBugs; see package planted. Only the quick bugs are planted
// unless SEEDBED_SEEDS is set, as make planted does each night.
func TestPropertiesCatchPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program and simulates days")
	}
	plantedIn(t, os.Getenv(sim.EnvSeeds) != "").Catch(t)
}

// TestPropertiesHavePlantedBugs: a property that no bug violates says nothing.
func TestPropertiesHavePlantedBugs(t *testing.T) {
	plantedIn(t, true).Cover(t, encryption.System().Properties)
}
