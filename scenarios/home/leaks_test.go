package home

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/report"
)

// TestEveryWayToShowATokenIsFound shows a token in every way in which it may get into
// a text.
func TestEveryWayToShowATokenIsFound(t *testing.T) {
	const token = "0123456789abcdef-ghijklmnopqrstuvwxyz-ABCDEFGHIJK"
	var x leakIndex
	x.add("a token", token)
	x.addGrant("head.payload." + token)
	for how, text := range map[string]string{
		"as it is": token, "quoted": fmt.Sprintf("%q", token), "in Go syntax": fmt.Sprintf("%#v", []string{token}),
		"in hexadecimal": hex.EncodeToString([]byte(token)), "in base64": base64.StdEncoding.EncodeToString([]byte(token)),
		"in base64 after 1": base64.StdEncoding.EncodeToString([]byte("x" + token)),
		"in base64 after 2": base64.StdEncoding.EncodeToString([]byte("xy" + token)),
		"a part of it":      token[5 : 5+2*piece],
	} {
		if x.find([]byte("says: "+text+"!")) == nil {
			t.Errorf("the token is not found %s in %q", how, text)
		}
	}
	for _, text := range []string{"", "head.payload.", token[:piece-1], "a piece of a token"} {
		if err := x.find([]byte(text)); err != nil {
			t.Errorf("%v in %q", err, text)
		}
	}
}

// witness is the system with somebody who keeps the state of each run, and so knows
// all its tokens.
type witness struct {
	states []*State
	leaks  bool // the system also has a step and a property that show a token
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
		system.Steps = append(system.Steps, scenarios.NewStep("blurt", "Tells a token.", "home.blurt:", blurt))
		system.Properties = append(system.Properties, scenarios.NewProperty("blurted", "It tells a token.", blurted))
	}
	r, err := scenarios.New(system)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// find says what a text shows of the tokens of any run.
func (w *witness) find(text []byte) error {
	for _, s := range w.states {
		if err := s.leaks.find(text); err != nil {
			return err
		}
	}
	return nil
}

func blurt(st *scenarios.Story, s *State, _ RotateKeyArgs) error {
	st.Tell("token", "the token is %s", s.slots[0].pod.volumes.token)
	return nil
}

func blurted(_ *scenarios.World, s *State) scenarios.Check {
	return scenarios.Check{Finally: func() error { return fmt.Errorf("the token is %s", s.slots[0].pod.volumes.token) }}
}

// runAndTell runs a file that ends in a violation on one seed, and collects what is
// told of it.
func runAndTell(t *testing.T, r *scenarios.Registry, file *scenarios.File) map[string][]byte {
	t.Helper()
	o, records := r.TraceSeed(file, 1)
	var trace, line bytes.Buffer
	var story strings.Builder
	scenarios.WriteStory(&story, records, 0)
	if err := errors.Join(report.WriteRecords(&trace, records), o.WriteJSON(&line)); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{"trace": trace.Bytes(), "story": []byte(story.String()), "line": line.Bytes()}
	bad := r.RunSeed(file, 1)
	if bad.Result != scenarios.Violated {
		t.Fatalf("the run is %s: %s %v", bad.Result, bad.Found, bad.Err)
	}
	failure, err := r.Investigate(bad, sim.Budget{Runs: 2}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if all["replay file"], err = os.ReadFile(failure.Replay); err != nil {
		t.Fatal(err)
	}
	style := scenarios.Style{}
	all["report"] = []byte(style.Failure(failure, "again"))
	all["replayed story"] = []byte(style.Replay(failure))
	return all
}

const doomed = "\nproperties:\n  - {name: doomed, why: To see what a failure tells., never: 'elapsed > duration(\"55s\")'}\n"

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
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := r.Parse(path, bytes.Replace(text, []byte("\nproperties:\n"), []byte(doomed), 1))
			if err != nil {
				t.Fatal(err)
			}
			all := runAndTell(t, r, file)
			if len(w.states) == 0 || len(w.states[0].leaks.pieces) == 0 {
				t.Fatal("the run has no token that could be shown")
			}
			for what, text := range all {
				if len(text) < 100 {
					t.Errorf("the %s tells nothing: %q", what, text)
				}
				if err := w.find(text); err != nil {
					t.Errorf("the %s shows %v", what, err)
				}
			}
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
	all := runAndTell(t, r, file)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if w.find(all[what]) == nil {
			t.Errorf("the token is not found in the %s", what)
		}
	}
	encoded, err := json.Marshal(w.states[0].slots[0].pod.volumes.token)
	if err != nil || w.find(encoded) == nil {
		t.Errorf("the token is not found in JSON: %v", err)
	}
}
