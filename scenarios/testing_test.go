package scenarios_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// childEnv marks this test binary run again, to see what a failing test says.
const childEnv = "SEEDBED_TEST_CHILD"

func TestAFailingScenarioTellsHowToRepeatIt(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		scenarios.RunFiles(t, registry(t), "../cmd/seedbed/testdata/breaks.yaml", "../cmd/seedbed/testdata/holds.yaml")
		return
	}
	folder := t.TempDir()
	replay := filepath.Join(folder, "breaks-seed0.replay.json")
	run := func(env string, want ...string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), childEnv+"=1", env)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: the test passes", env)
		}
		for _, part := range want {
			if !strings.Contains(string(out), part) {
				t.Errorf("%s: %q is not said:\n%s", env, part, out)
			}
		}
	}
	run(scenarios.EnvArtifacts+"="+folder, "FAIL breaks, seed 0: mirror.no-orphans", "--- PASS: "+t.Name()+"/holds",
		"SEEDBED_REPLAY="+replay+" go test -run '^"+t.Name()+"$/^breaks$'")
	run("SEEDBED_REPLAY="+replay, "violates mirror.no-orphans", `writes "one" into the original a`,
		"--- SKIP: "+t.Name()+"/holds", replay+" is a run of breaks")

	text, err := os.ReadFile(replay)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(text), "value: one", "value: eins", 1)
	if err := os.WriteFile(replay, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	run("SEEDBED_REPLAY="+replay, "has changed since the run was recorded")

	blocked := filepath.Join(replay, "folder") // a file is in the way
	run(scenarios.EnvArtifacts+"="+blocked, "FAIL breaks, seed 0: mirror.no-orphans", "there is no replay file",
		"SEEDBED_SEED=0 go test -run '^"+t.Name()+"$/^breaks$'")
}
