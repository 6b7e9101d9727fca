package encryption_test

import (
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

// untold are the scenarios of the specification that no file tells, and why.
var untold = map[string]string{
	"x22": "told by the tests of core/encryption/deployer",
	"x32": "sidecars end after the API server in the kubelet's model by construction",
	"x36": "told by the tests of core/encryption/migration",
	"x41": "the CustomResourceDefinition refuses an empty list",
	"x42": "told by the tests of core/encryption/config",
	"x43": "told by the tests of core/encryption/nodeagent and fakes/apiserver/encryption",
	"x44": "told by the tests of core/encryption/deployer",
	"x47": "told by the tests of fakes/apiserver",
}

// TestEveryScenarioOfTheSpecificationIsTold: number 7 of the specification is told by
// x07….yaml in some folder, or there is a reason.
func TestEveryScenarioOfTheSpecificationIsTold(t *testing.T) {
	told := map[string]bool{}
	paths, err := filepath.Glob("*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`^x\d\d`)
	for _, p := range paths {
		told[number.FindString(filepath.Base(p))] = true
	}
	const specified = 48
	for n := 1; n <= specified; n++ {
		name := "x" + string(rune('0'+n/10)) + string(rune('0'+n%10))
		if _, reason := untold[name]; told[name] == reason {
			t.Errorf("scenario %s: told %v, reason not to tell it %v", name, told[name], reason)
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
