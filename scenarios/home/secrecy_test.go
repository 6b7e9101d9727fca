package home

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/told"
)

// witness is the system with somebody who keeps the state of each run, and so knows
// all its tokens.
type witness struct {
	states []*State
	leaks  bool // the system also has a step and a property that show a token
}

func (w *witness) registry(t testing.TB) *scenarios.Registry {
	t.Helper()
	system := System()
	if w.leaks {
		system.Steps = append(system.Steps, scenarios.NewStep("blurt", "Tells a token.", "home.blurt:", blurt))
		system.Properties = append(system.Properties, scenarios.NewProperty("blurted", "It tells a token.", blurted))
	}
	return told.Registry(t, system, build, &w.states)
}

// find says what a text shows of the tokens of any run.
func (w *witness) find(text []byte) string {
	for _, s := range w.states {
		if found := s.leaks.Find(text); found != "" {
			return found
		}
	}
	return ""
}

func blurt(st *scenarios.Story, s *State, _ RotateKeyArgs) error {
	st.Tell("token", "the token is %s", s.slots[0].pod.volumes.token)
	return nil
}

func blurted(_ *scenarios.World, s *State) scenarios.Check {
	return scenarios.Check{Finally: func() error { return fmt.Errorf("the token is %s", s.slots[0].pod.volumes.token) }}
}

// TestNothingToldOfARunShowsAToken reads traces with all their details, stories, logs
// (which are part of both), reports and replay files of runs of every story.
func TestNothingToldOfARunShowsAToken(t *testing.T) {
	paths, err := filepath.Glob("[a-gi-z]*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(path, ".yaml"), func(t *testing.T) {
			t.Parallel()
			var w witness
			r := w.registry(t)
			files, err := r.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			all := told.Of(t, r, files[0], 1)
			if len(w.states) == 0 || w.states[0].leaks.Empty() {
				t.Fatal("the run has no token that could be shown")
			}
			all.Hides(t, w.find)
		})
	}
}

// TestWhatShowsATokenIsFoundOut: with a step and a property that show a token, it is
// found wherever it is told. This is what the other test relies on.
func TestWhatShowsATokenIsFoundOut(t *testing.T) {
	w := witness{leaks: true}
	r := w.registry(t)
	file, err := r.Parse("blurt.yaml", []byte(`apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: blurt, description: Somebody tells a token.}
cluster: {nodes: 1, nodeObjects: true, rbac: true}
systems: {home: {pods: 1}}
steps:
  - sleep: 10s
  - home.blurt:
properties:
  - home.blurted
`))
	if err != nil {
		t.Fatal(err)
	}
	told.Of(t, r, file, 1).Shows(t, w.find)
	encoded, err := json.Marshal(w.states[0].slots[0].pod.volumes.token)
	if err != nil || w.find(encoded) == "" {
		t.Errorf("the token is not found in JSON: %v", err)
	}
}
