package cloak_test

import (
	"os"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/cloak"
	"github.com/seedbed-sim/seedbed/sim"
)

func registry(t testing.TB) *scenarios.Registry {
	t.Helper()
	r, err := scenarios.New(cloak.System())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestScenarios runs every story of the library on a few seeds: enough to notice a
// mistake. Many are run by seedbed run scenarios/cloak.
func TestScenarios(t *testing.T) {
	if os.Getenv(sim.EnvSeeds) == "" && os.Getenv(sim.EnvSeed) == "" {
		t.Setenv(sim.EnvSeeds, "1")
	}
	scenarios.RunFiles(t, registry(t), "*.yaml")
}
