package home_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/home"
	"github.com/seedbed-sim/seedbed/sim"
)

// read reads scenario files of this folder.
func read(t testing.TB, names ...string) (*scenarios.Registry, []*scenarios.File) {
	t.Helper()
	r, err := scenarios.New(home.System())
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.Read(names...)
	if err != nil {
		t.Fatal(err)
	}
	return r, files
}

// few lets a test run so many seeds, unless the environment says otherwise: enough to
// notice a mistake. Many are run by seedbed run scenarios/home.
func few(t *testing.T, seeds string) {
	if os.Getenv(sim.EnvSeeds) == "" && os.Getenv(sim.EnvSeed) == "" {
		t.Setenv(sim.EnvSeeds, seeds)
	}
}

// TestScenarios runs every story of the library on a few seeds.
func TestScenarios(t *testing.T) {
	few(t, "2")
	r, err := scenarios.New(home.System())
	if err != nil {
		t.Fatal(err)
	}
	scenarios.RunFiles(t, r, "grants/*.yaml", "health/*.yaml", "readiness/*.yaml", "scope/*.yaml")
}

// TestHostileWorld runs six hostile hours, twice with the same choices.
func TestHostileWorld(t *testing.T) {
	few(t, "1")
	r, err := scenarios.New(home.System())
	if err != nil {
		t.Fatal(err)
	}
	scenarios.RunFiles(t, r, "hostile/*.yaml")
}

// told are the rows of the specification's table that a scenario tells; the others are
// told by tests of core/home, as the package comment says.
var told = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 25, 26, 29, 30, 31, 32, 33, 34, 35, 36, 37, 39, 40, 41}

// TestEveryRowIsTold counts the files: row 7 is told by 07-….yaml.
func TestEveryRowIsTold(t *testing.T) {
	for _, n := range told {
		found, err := filepath.Glob(fmt.Sprintf("*/%02d-*.yaml", n))
		if n == 1 {
			found, err = filepath.Glob("grants/01-*.yaml")
		}
		if err != nil || len(found) != 1 {
			t.Errorf("row %d is told by %d files: %v", n, len(found), err)
		}
	}
}
