package home_test

import (
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/home"
)

// read reads scenario files of this folder, all of them if none is named.
func read(t testing.TB, names ...string) (*scenarios.Registry, []*scenarios.File) {
	t.Helper()
	r, err := scenarios.New(home.System())
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

// TestScenarios runs every scenario of the library on a few seeds.
func TestScenarios(t *testing.T) {
	r, err := scenarios.New(home.System())
	if err != nil {
		t.Fatal(err)
	}
	scenarios.RunFiles(t, r, "*/*.yaml")
}
