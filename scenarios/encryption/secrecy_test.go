package encryption

import (
	"fmt"
	"os"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
)

// traced are the scenarios whose traces are searched in every test run with all that is
// drawn of them, and with what has become a secret later; with SEEDBED_SEEDS those of all
// scenarios are. What is in words is searched in every run: see keys-stay-secret.
var traced = []string{"preflight/x06-credential-is-replaced.yaml", "operator/x27-key-spoilt-material.yaml"}

// TestTracesShowNoSecrets: whoever is sent a trace of a run, with all its details, must
// not learn any key or credential from it.
func TestTracesShowNoSecrets(t *testing.T) {
	var last *State
	system := System()
	system.Build = scenarios.BuildWith(func(w *scenarios.World, c Config) (*State, error) {
		s, err := build(w, c)
		last = s
		return s, err
	})
	r, err := scenarios.New(system)
	if err != nil {
		t.Fatal(err)
	}
	names := traced
	if os.Getenv(sim.EnvSeeds) != "" {
		names = []string{"."}
	}
	files, err := r.Read(names...)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		o, records := r.TraceSeed(file, 1)
		if last.leaks.Empty() || len(records) == 0 {
			t.Errorf("%s: %s, with %d secrets, after %d records: nothing to search", file.Path, o.Result, len(last.secrets), len(records))
		}
		for i := range records {
			e := &records[i]
			if e.Kind == "step" {
				continue // names of tasks and of what they ask for, which the request shows too
			}
			if found := last.leaks.Find(fmt.Appendf(nil, "%s %s %s %s", e.Actor, e.Verb, e.Object, e.Detail)); found != "" {
				t.Errorf("%s: step %d, %s of %s, shows a piece of %s", file.Path, e.Step, e.Verb, e.Actor, found)
			}
		}
	}
}
