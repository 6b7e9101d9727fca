package encryption_test

import (
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/encryption"
)

// TestScenarios runs every scenario of the library on a few seeds.
func TestScenarios(t *testing.T) {
	r, err := scenarios.New(encryption.System())
	if err != nil {
		t.Fatal(err)
	}
	scenarios.RunFiles(t, r, "*/*.yaml")
}
