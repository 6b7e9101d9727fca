package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/sim"
)

// EnvArtifacts is the environment variable that names the folder in which
// [RunFiles] leaves replay files.
const EnvArtifacts = "SEEDBED_ARTIFACTS"

// fewSeeds is how many seeds of a scenario go test runs, unless told otherwise:
// enough to notice a mistake, few enough for every save of a file.
const fewSeeds = 5

// RunFiles runs the scenario files that match the patterns as subtests, one per
// file. Each runs a few seeds; a scenario that is written to show a violation
// runs until it has shown it, up to the seeds that it asks for itself. The first
// seed runs twice, to see that runs are repeatable.
//
// The environment steers it as it does sim.Check: SEEDBED_SEEDS sets the number
// of seeds, SEEDBED_SEED runs only one, SEEDBED_REPLAY repeats the run of a replay
// file and nothing else. A failure is shrunk, told in plain words, and left as a
// replay file in the folder that SEEDBED_ARTIFACTS names, or else in one below the
// system's folder for temporary files.
//
// Mistakes in any of the files fail the test before anything runs.
func RunFiles(t *testing.T, r *Registry, patterns ...string) {
	t.Helper()
	paths, err := expand(patterns)
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.Read(paths...)
	if err != nil {
		t.Fatal(explain(err))
	}
	for _, file := range files {
		t.Run(file.Metadata.Name, func(t *testing.T) { r.test(t, file) })
	}
}

// expand turns patterns into paths; a pattern that matches nothing is an error.
func expand(patterns []string) ([]string, error) {
	var paths []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no scenario file matches %q", pattern)
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no scenario files were named")
	}
	return paths, nil
}

// explain is the long form of problems in scenario files.
func explain(err error) string {
	var problems Problems
	if errors.As(err, &problems) {
		return "mistakes in scenario files:\n" + problems.Report()
	}
	return err.Error()
}

func (r *Registry) test(t *testing.T, file *File) {
	t.Helper()
	if path := os.Getenv(sim.EnvReplay); path != "" {
		r.testReplay(t, file, path)
		return
	}
	plan, err := testPlan(file)
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := r.Run(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	v := verdicts[0]
	switch {
	case v.Bad != nil && v.Bad.Result == Violated:
		failure, err := r.Investigate(v.Bad, sim.Budget{Time: 5 * time.Second}, artifacts(t))
		if err != nil {
			t.Fatal(Style{}.Unexplained(&v, err))
		}
		t.Error(Style{}.Failure(failure, repeat(t, failure)))
	case v.Err != nil:
		t.Error(v.Err)
	default:
		t.Logf("%s, %s simulated", Count(v.Runs, "run"), Roughly(v.Simulated))
	}
}

// repeat is the command that runs a failing run again.
func repeat(t *testing.T, f *Failure) string {
	which := fmt.Sprintf("%s=%d", sim.EnvSeed, f.Seed)
	if f.Replay != "" {
		which = sim.EnvReplay + "=" + f.Replay
	}
	return fmt.Sprintf("%s go test -run '^%s$'", which, strings.ReplaceAll(t.Name(), "/", "$/^"))
}

// testReplay repeats the run of a replay file, if it is one of this scenario, and
// tells its whole story. The scenario inside the replay file is what is run.
func (r *Registry) testReplay(t *testing.T, file *File, path string) {
	t.Helper()
	recorded, err := sim.LoadReplay(path)
	if err != nil {
		t.Fatal(err)
	}
	if recorded.Name != file.Metadata.Name {
		t.Skipf("%s is a run of %s", path, recorded.Name)
	}
	f, err := r.Replay(path)
	if f == nil {
		t.Fatal(err)
	}
	t.Log(Style{}.Replay(f))
	if string(f.File.Text) != string(file.Text) {
		t.Logf("%s has changed since the run was recorded; what was run is the scenario inside %s", file.Path, path)
	}
	switch {
	case err != nil:
		t.Error(err)
	case f.Result != Held && !f.Expected():
		t.Errorf("%s %s: %s %v", f.Result, f.Property, f.Found, f.Err)
	}
}

// testPlan says which seeds of a file go test runs.
func testPlan(file *File) (Plan, error) {
	plan := Plan{Files: []*File{file}, Seeds: fewSeeds, Twice: 1}
	if file.Expect.Violates != "" {
		plan.Seeds, plan.UntilShown = max(fewSeeds, file.Explore.Seeds), true
	}
	if text := os.Getenv(sim.EnvSeeds); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return plan, fmt.Errorf("%s=%q is not a number of seeds", sim.EnvSeeds, text)
		}
		plan.Seeds = n
	}
	if text := os.Getenv(sim.EnvSeed); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return plan, fmt.Errorf("%s=%q is not a seed", sim.EnvSeed, text)
		}
		plan.First, plan.Seeds, plan.UntilShown = seed, 1, false
	}
	return plan, nil
}

// artifacts is a folder that outlives the test: a replay file is of use only
// afterwards.
func artifacts(t *testing.T) string {
	if folder := os.Getenv(EnvArtifacts); folder != "" {
		return folder
	}
	return filepath.Join(os.TempDir(), "seedbed", strings.ReplaceAll(t.Name(), "/", "-"))
}
