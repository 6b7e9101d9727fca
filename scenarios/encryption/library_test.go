package encryption_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/encryption"
	"github.com/seedbed-sim/seedbed/sim"
)

// read reads scenario files of this folder, all of them if none is named.
func read(t testing.TB, names ...string) (*scenarios.Registry, []*scenarios.File) {
	t.Helper()
	r, err := scenarios.New(encryption.System())
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	files, err := r.Read(names...)
	if err != nil {
		t.Fatal(err)
	}
	return r, files
}

// few are the scenarios that run in every test run: each theme has one. A cycle takes
// hours of virtual time, so all of them run only when SEEDBED_SEEDS says how often.
var few = []string{
	"rotation/01-aescbc.yaml", "kms/x13-broken-on-one-node.yaml", "preflight/x01-configuration-changes-before-the-key.yaml",
	"nodes/x19-node-lost-in-the-write-phase.yaml", "operator/x24-managed-emptied.yaml", "migrations/x33-one-resource-cannot-be-rewritten.yaml",
}

// TestScenarios runs scenarios of the library: a few once, or with SEEDBED_SEEDS all of
// them on so many seeds.
func TestScenarios(t *testing.T) {
	r, _ := read(t) // all of them are free of mistakes
	files := few
	if os.Getenv(sim.EnvSeeds) == "" && os.Getenv(sim.EnvSeed) == "" && os.Getenv(sim.EnvReplay) == "" {
		t.Setenv(sim.EnvSeeds, "1")
	} else {
		files = []string{"*/*.yaml"}
	}
	scenarios.RunFiles(t, r, files...)
}

// TestEveryScenarioOfTheSpecificationIsTold: number 7 of the specification is told by
// x07….yaml in some folder.
func TestEveryScenarioOfTheSpecificationIsTold(t *testing.T) {
	_, files := read(t)
	told := map[string]bool{}
	number := regexp.MustCompile(`^x\d\d`)
	for _, file := range files {
		told[number.FindString(filepath.Base(file.Path))] = true
	}
	const specified = 48
	for n := 1; n <= specified; n++ {
		if name := fmt.Sprintf("x%02d", n); !told[name] {
			t.Errorf("no file tells scenario %s: write one into the folder of its theme", name)
		}
	}
}

// TestScenariosCheckEverything: leaving a property out needs a reason, which no story
// has.
func TestScenariosCheckEverything(t *testing.T) {
	_, files := read(t)
	for _, file := range files {
		if !slices.ContainsFunc(file.Properties, func(p scenarios.PropertyUse) bool { return p.Library == "encryption.*" && len(p.Except) == 0 }) {
			t.Errorf("%s does not check every property", file.Path)
		}
	}
}
