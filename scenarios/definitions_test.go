package scenarios_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
)

// TestDefinitionsInAFileSystem: paths lead from the scenario through the file system
// that it is read from, and not out of it.
func TestDefinitionsInAFileSystem(t *testing.T) {
	definition, err := os.ReadFile("testdata/crds/widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scenario := func(path string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: test, description: A test.}\n" +
			"cluster: {crds: [" + path + "]}\nsystems: {mirror: }\nproperties: [mirror.*]\n" +
			"given: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}}\n")}
	}
	files := fstest.MapFS{"stories/a.yaml": scenario("../bases"), "bases/widgets.yml": {Data: definition}}
	r := registry(t)
	read, err := r.ReadFS(files, "embedded")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.RunSeed(read[0], 1); got.Result != scenarios.Held {
		t.Errorf("the run ends with %v: %v", got.Result, got)
	}
	files["stories/a.yaml"] = scenario("../../bases")
	_, err = r.ReadFS(files, "embedded")
	var problems scenarios.Problems
	if !errors.As(err, &problems) || problems[0].Message != "../../bases: it is outside of the folder that is read" {
		t.Errorf("got %v", err)
	}
}

// TestAReplayHoldsItsDefinitions: the replay file alone is enough, although the
// scenario reads other files.
func TestAReplayHoldsItsDefinitions(t *testing.T) {
	folder := t.TempDir()
	definition, err := os.ReadFile("testdata/crds/widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	bases := filepath.Join(folder, "widgets.yaml")
	if err := os.WriteFile(bases, definition, 0o600); err != nil {
		t.Fatal(err)
	}
	r := registry(t)
	file, err := r.Parse(filepath.Join(folder, "story.yaml"), []byte("apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: test, description: A test.}\n"+
		"cluster: {crds: [widgets.yaml]}\nsystems: {mirror: }\nproperties: [mirror.*]\n"+
		"steps: [apply: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, spec: {size: 0}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	failure, err := r.Investigate(r.RunSeed(file, 1), sim.Budget{}, folder)
	if err != nil || failure.Unsaved != nil {
		t.Fatal(err, failure)
	}
	if err := os.Remove(bases); err != nil {
		t.Fatal(err)
	}
	again, err := r.Replay(failure.Replay)
	if err != nil {
		t.Fatal(err)
	}
	if again.Found == "" || again.Found != failure.Found {
		t.Errorf("the replay found %q, not %q", again.Found, failure.Found)
	}
}
