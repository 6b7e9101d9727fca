package encryption_test

import (
	"os"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/encryption"
	hunt "github.com/seedbed-sim/seedbed/scenarios/internal/planted"
	"github.com/seedbed-sim/seedbed/sim"
)

func plantedIn(t *testing.T) *hunt.System {
	t.Helper()
	r, err := scenarios.New(encryption.System())
	if err != nil {
		t.Fatal(err)
	}
	system := &hunt.System{
		Name: "encryption", Registry: r,
		Samples: []string{"rotation/01-aescbc.yaml", "preflight/x01-configuration-changes-before-the-key.yaml"}, SampleSeeds: 1,
	}
	for _, p := range plantedBugs {
		system.Bugs = append(system.Bugs, hunt.Bug{Mutant: p.Mutant, Bug: p.bug, Property: p.property, Scenario: p.scenario, Seeds: p.seeds})
	}
	return system
}

// TestPropertiesCatchPlantedBugs; see package planted.
func TestPropertiesCatchPlantedBugs(t *testing.T) {
	if testing.Short() || os.Getenv(sim.EnvSeeds) == "" {
		t.Skip("builds a program and simulates days; make planted runs it")
	}
	plantedIn(t).Catch(t)
}

// unplanted are the properties that no bug of the table violates.
var unplanted = []string{
	"one-cycle-at-a-time",
	"keys-are-dropped-when-nothing-needs", "keys-in-use-are-kept", "everything-stays-readable", "servers-read-each-other", "runs-count-only-under-one-key",
	"configurations-are-valid", "conditions-have-one-writer", "one-check-at-a-time", "plugin-data-agrees", "quiet-when-all-is-done",
	"checks-do-not-block-the-next", "successful-checks-are-cleaned-up", "turning-off-ends-in-plain-text", "the-policy-is-met",
}

// TestPropertiesHavePlantedBugs: a property that no bug violates says nothing.
func TestPropertiesHavePlantedBugs(t *testing.T) {
	plantedIn(t).Cover(t, encryption.System().Properties, unplanted...)
}
