package gossipkeys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/report"
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
	system.Build = scenarios.BuildWith(func(world *scenarios.World, c Config) (*State, error) {
		state, err := build(world, c)
		w.states = append(w.states, state)
		return state, err
	})
	if w.leaks {
		system.Steps = append(system.Steps, scenarios.NewStep("blurt", "Tells a key.", "gossipkeys.blurt:", blurt))
		system.Properties = append(system.Properties, scenarios.NewProperty("blurted", "It tells a key.", blurted))
	}
	r, err := scenarios.New(system)
	if err != nil {
		t.Fatal(err)
	}
	return r
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

// told is everything that a run leaves behind for people and machines to read.
type told map[string][]byte

// runAndTell runs a file on one seed and collects what is told of it: while it
// holds, and once more with a property that no run keeps, so that there is a
// failure to report, to shrink and to replay.
func runAndTell(t *testing.T, r *scenarios.Registry, file *scenarios.File, seed uint64) told {
	t.Helper()
	o, records := r.TraceSeed(file, seed)
	var trace, line bytes.Buffer
	var story strings.Builder
	scenarios.WriteStory(&story, records, 0)
	if err := errors.Join(report.WriteRecords(&trace, records), o.WriteJSON(&line)); err != nil {
		t.Fatal(err)
	}
	all := told{"trace": trace.Bytes(), "story": []byte(story.String()), "line": line.Bytes()}

	failing, err := r.Parse(file.Path, bytes.Replace(file.Text, []byte("\nproperties:\n"), []byte("\nproperties:\n"+doomed), 1))
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := r.Run(context.Background(), scenarios.Plan{Files: []*scenarios.File{failing}, First: seed, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	bad := verdicts[0].Bad
	if bad == nil {
		bad = verdicts[0].First // the violation that the scenario is written to show comes first
	}
	if bad == nil || bad.Result != scenarios.Violated {
		t.Fatalf("%s fails without a violation: %v", file.Path, verdicts[0].Err)
	}
	failure, err := r.Investigate(bad, sim.Budget{Runs: 3}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if all["replay file"], err = os.ReadFile(failure.Replay); err != nil {
		t.Fatal(err)
	}
	style := scenarios.Style{}
	all["report"] = []byte(style.Failure(failure, "seedbed replay "+failure.Replay) + style.Verdict(&verdicts[0]) + style.Summary(scenarios.Summarise(verdicts)))
	all["replayed story"] = []byte(style.Replay(failure))
	var junit bytes.Buffer
	if err := scenarios.WriteJUnit(&junit, verdicts, map[string]string{file.Metadata.Name: string(all["report"])}); err != nil {
		t.Fatal(err)
	}
	all["junit"] = junit.Bytes()
	return all
}

// doomed is a property that no run keeps for long.
const doomed = "  - {name: doomed, why: To see what a failure tells., never: 'elapsed > duration(\"75s\")'}\n"

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
				all := runAndTell(t, r, files[0], seed)
				x := w.index()
				if x.Empty() {
					t.Fatal("the run has no key that could be shown")
				}
				for what, text := range all {
					if len(text) < 100 {
						t.Errorf("the %s tells nothing: %q", what, text)
					}
					if piece := x.Find(text); piece != "" {
						t.Errorf("seed %d: the %s shows a piece of the %s", seed, what, piece)
					}
				}
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
	all := runAndTell(t, r, file, 1)
	x := w.index()
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if x.Find(all[what]) == "" {
			t.Errorf("the key is not found in the %s:\n%s", what, all[what])
		}
	}
}
