package cloak

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/told"
)

// witness is the system with somebody who keeps the state of each run, and so knows all
// its values.
type witness struct {
	states []*State
	leaks  bool // the system also has a step and a property that show a value
}

func (w *witness) registry(t testing.TB) *scenarios.Registry {
	t.Helper()
	system := System()
	if w.leaks {
		system.Steps = append(system.Steps, scenarios.NewStep("blurt", "Tells a value.", "cloak.blurt:", blurt))
		system.Properties = append(system.Properties, scenarios.NewProperty("blurted", "It tells a value.", blurted))
	}
	return told.Registry(t, system, build, &w.states)
}

// find says what a text shows of the values of any run.
func (w *witness) find(text []byte) string {
	for _, s := range w.states {
		if found := s.leaks.Find(text); found != "" {
			return found
		}
	}
	return ""
}

func (s *State) anyValue() string { return string(s.values[s.config.Secrets[0].Value]) }

func blurt(st *scenarios.Story, s *State, _ HostArgs) error {
	st.Tell("value", "the value is %s", s.anyValue())
	return nil
}

func blurted(_ *scenarios.World, s *State) scenarios.Check {
	return scenarios.Check{Finally: func() error { return errBlurted(s.anyValue()) }}
}

// errBlurted is an error that shows a value.
type errBlurted string

func (e errBlurted) Error() string { return "the value is " + string(e) }

// toldOf are the stories whose runs are read: those in which values are in the most places.
var toldOf = []string{"22-http2", "47-a-rule-that-cannot-be-read", "49-a-pod-that-is-broken-into"}

// TestNothingToldOfARunShowsAValue reads traces with all their details, stories, logs
// (which are part of both), reports and replay files.
func TestNothingToldOfARunShowsAValue(t *testing.T) {
	for _, name := range toldOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w witness
			r := w.registry(t)
			files, err := r.Read(name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			all := told.Of(t, r, files[0], 1)
			if len(w.states) == 0 || w.states[0].leaks.Empty() {
				t.Fatal("the run has no value that could be shown")
			}
			all.Hides(t, w.find)
		})
	}
}

// TestWhatShowsAValueIsFoundOut: with a step and a property that show a value, it is found
// wherever it is told. This is what the other test relies on.
func TestWhatShowsAValueIsFoundOut(t *testing.T) {
	w := witness{leaks: true}
	r := w.registry(t)
	file, err := r.Parse("blurt.yaml", []byte(`apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: blurt, description: Somebody tells a value.}
cluster: {nodes: 1}
systems:
  cloak:
    secrets: [{name: db, value: V1}]
    pods: [{name: web, uses: [db], host: a.example.com}]
steps:
  - sleep: 10s
  - cloak.blurt: x
properties:
  - cloak.blurted
`))
	if err != nil {
		t.Fatal(err)
	}
	told.Of(t, r, file, 1).Shows(t, w.find)
}

// TestSameHash: a run on a seed is the same run each time, also if it is traced, and
// another on another seed.
func TestSameHash(t *testing.T) {
	var w witness
	r := w.registry(t)
	hashes := map[uint64]bool{}
	for _, path := range []string{"15-a-storm.yaml", "55-the-data-plane-fails.yaml"} {
		files, err := r.Read(filepath.Clean(path))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(2) {
			a, b := r.RunSeed(files[0], seed), r.RunSeed(files[0], seed)
			traced, _ := r.TraceSeed(files[0], seed)
			if a.Hash != b.Hash || a.Hash != traced.Hash || a.Steps != b.Steps {
				t.Errorf("%s, seed %d: %x after %d steps, then %x after %d; traced it is %x", strings.TrimSuffix(path, ".yaml"), seed, a.Hash, a.Steps, b.Hash, b.Steps, traced.Hash)
			}
			hashes[a.Hash] = true
		}
	}
	if len(hashes) != 4 {
		t.Errorf("four runs have %d hashes", len(hashes))
	}
}
