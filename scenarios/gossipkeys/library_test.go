package gossipkeys_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/gossipkeys"
)

// read reads scenario files of this folder, all of them if none is named.
func read(t testing.TB, names ...string) (*scenarios.Registry, []*scenarios.File) {
	t.Helper()
	r, err := scenarios.New(gossipkeys.System())
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	files, err := r.Read(names...)
	if err != nil {
		t.Fatal(err)
	}
	return r, files
}

// TestScenarios runs every scenario of the library on a few seeds.
func TestScenarios(t *testing.T) {
	r, err := scenarios.New(gossipkeys.System())
	if err != nil {
		t.Fatal(err)
	}
	scenarios.RunFiles(t, r, "*.yaml")
}

// TestEveryScenarioOfTheSpecificationIsTold counts the files: number 7 of the
// specification is told by 07-….yaml.
func TestEveryScenarioOfTheSpecificationIsTold(t *testing.T) {
	const specified = 27
	for n := 1; n <= specified; n++ {
		found, err := filepath.Glob(fmt.Sprintf("%02d-*.yaml", n))
		if err != nil || len(found) != 1 {
			t.Errorf("scenario %d is told by %d files: %v", n, len(found), err)
		}
	}
}

// TestMostScenariosCheckEverything: leaving a property out needs a reason, which
// few stories have.
func TestMostScenariosCheckEverything(t *testing.T) {
	_, files := read(t)
	all := 0
	for _, file := range files {
		if slices.ContainsFunc(file.Properties, func(p scenarios.PropertyUse) bool {
			return p.Library == "gossipkeys.*" && len(p.Except) == 0
		}) {
			all++
		}
	}
	if all < len(files)/2 {
		t.Errorf("only %d of %d files check every property", all, len(files))
	}
}

// hashes are the hashes of some runs of every scenario, as text.
func hashes(t testing.TB, workers int) string {
	t.Helper()
	r, files := read(t)
	var b strings.Builder
	_, err := r.Run(context.Background(), scenarios.Plan{
		Files: files, Seeds: 2, First: 100, Workers: workers,
		Each: func(o *scenarios.Outcome) {
			fmt.Fprintf(&b, "%s %d %016x %d %s\n", o.File.Metadata.Name, o.Seed, o.Hash, o.Steps, o.Property)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHashesDoNotDependOnWorkers(t *testing.T) {
	if diff := cmp.Diff(hashes(t, 1), hashes(t, 8)); diff != "" {
		t.Errorf("8 workers (-1 worker +8 workers):\n%s", diff)
	}
}

// workersEnv asks this test binary, run again, to print hashes made with so many
// workers.
const workersEnv = "SEEDBED_TEST_WORKERS"

func TestHashesAreTheSameInAnotherProcess(t *testing.T) {
	if text := os.Getenv(workersEnv); text != "" {
		workers, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Print(hashes(t, workers))
		return
	}
	want := hashes(t, 2)
	for _, env := range [][]string{{workersEnv + "=1", "GOMAXPROCS=1"}, {workersEnv + "=8", "GOGC=20"}} {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := bytes.Cut(out, []byte("PASS\n"))
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("with %v (-here +there):\n%s", env, diff)
		}
	}
}
