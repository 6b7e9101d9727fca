package gossipkeys

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
	"github.com/seedbed-sim/seedbed/scenarios/internal/told"
)

// witness is the system with somebody who keeps the state of each run, and so
// knows all its keys.
type witness struct {
	states []*State
	leaks  bool // the system also has a step and a property that show keys
}

func (w *witness) registry(t *testing.T) *scenarios.Registry {
	t.Helper()
	system := System()
	if w.leaks {
		system.Steps = append(system.Steps, scenarios.NewStep("blurt", "Tells a key.", "gossipkeys.blurt:", blurt))
		system.Properties = append(system.Properties, scenarios.NewProperty("blurted", "It tells a key.", blurted))
	}
	return told.Registry(t, system, build, &w.states)
}

// index knows every key that any run has had: by the ledgers, and by what the
// Secret has held.
func (w *witness) index() *leaks.Index {
	var x leaks.Index
	for _, s := range w.states {
		for i, key := range s.ledger.keys {
			x.Add("key "+s.ledger.names[i], key.Bytes())
		}
		for _, v := range s.history.versions {
			for i, key := range v.keys {
				x.Add(fmt.Sprintf("key %d in the Secret", i+1), key.Bytes())
			}
		}
	}
	return &x
}

// TestNothingToldOfARunShowsAKey reads traces with all their details, stories,
// logs (which are part of both), reports, replay files and the output for
// machines, of runs of every scenario.
func TestNothingToldOfARunShowsAKey(t *testing.T) {
	seeds := uint64(2)
	if testing.Short() {
		seeds = 1
	}
	paths, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(path, ".yaml"), func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				var w witness
				r := w.registry(t)
				files, err := r.Read(path)
				if err != nil {
					t.Fatal(err)
				}
				all := told.Of(t, r, files[0], seed)
				x := w.index()
				if x.Empty() {
					t.Fatal("the run has no key that could be shown")
				}
				all.Hides(t, x.Find)
			}
		})
	}
}

// blurt makes the story tell a key.
func blurt(st *scenarios.Story, s *State, _ NoArgs) error {
	st.Tell("key", "the key is %s", text(s.history.last().keys))
	return nil
}

// blurted fails with a message that holds a key.
func blurted(_ *scenarios.World, s *State) scenarios.Check {
	return scenarios.Check{Finally: func() error {
		return fmt.Errorf("the key is %x", s.history.last().keys[0].Bytes())
	}}
}

// TestWhatShowsAKeyIsFoundOut: with a step and a property that show a key, it is
// found wherever it is told. This is what the other test relies on.
func TestWhatShowsAKeyIsFoundOut(t *testing.T) {
	w := witness{leaks: true}
	r := w.registry(t)
	file, err := r.Parse("blurt.yaml", []byte(`apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: blurt, description: Somebody tells a key.}
cluster: {nodes: 3, nodeObjects: true, rbac: true}
systems:
  gossipkeys: {keys: [K1/16]}
steps:
  - gossipkeys.blurt:
properties:
  - gossipkeys.blurted
`))
	if err != nil {
		t.Fatal(err)
	}
	all := told.Of(t, r, file, 1)
	all.Shows(t, w.index().Find)
}
