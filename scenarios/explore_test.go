package scenarios

import (
	"context"
	"strings"
	"testing"
)

// nothingAtAll is a scenario of the system that idle registers.
const nothingAtAll = "apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x, description: x}\n" +
	"systems: {idle: }\nproperties: [no-panic]\n"

// idle registers a system that does nothing but to be built.
func idle(build func(w *World, _ struct{}) (int, error)) *Registry {
	return MustNew(System{Name: "idle", Doc: "Does nothing.", Build: BuildWith(build)})
}

// TestAPanicOfTheSimulatorIsTheOutcomeOfItsRun: the scenario and the seed are
// named, and the other runs are made.
func TestAPanicOfTheSimulatorIsTheOutcomeOfItsRun(t *testing.T) {
	r := idle(func(*World, struct{}) (int, error) { return 0, nil })
	file, err := r.Parse("x.yaml", []byte(nothingAtAll))
	if err != nil {
		t.Fatal(err)
	}
	broken := *file
	broken.systems = nil // so that looking at its first system panics
	o := r.guarded(job{file: nil, seed: 7}, false)
	if o.Result != Failed || o.Seed != 7 || !strings.Contains(o.Err.Error(), "panic in the simulator: ") || !strings.Contains(o.Err.Error(), "explore_test.go") {
		t.Errorf("%+v", o)
	}
	verdicts, err := r.Run(context.Background(), Plan{Files: []*File{&broken, file}, Seeds: 2})
	if err != nil || len(verdicts) != 2 || verdicts[0].Bad == nil || verdicts[0].Bad.Result != Failed || verdicts[1].Bad != nil {
		t.Errorf("%+v %v", verdicts, err)
	}
}
