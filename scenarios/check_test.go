package scenarios_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/mirror"
)

var update = flag.Bool("update", false, "write the golden files anew")

// registry is what the tests of this package know.
func registry(t testing.TB) *scenarios.Registry {
	t.Helper()
	r, err := scenarios.New(mirror.System())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// golden compares a text with a file, or writes the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run with -update if the change is wanted):\n%s", path, diff)
	}
}

// TestBadFilesAreRefusedWithWordsToActOn reads each bad file and compares the
// report with the golden file beside it.
func TestBadFilesAreRefusedWithWordsToActOn(t *testing.T) {
	paths, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d bad files: %v", len(paths), err)
	}
	r := registry(t)
	var faults []string
	for _, f := range r.Faults() {
		faults = append(faults, f.Name)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			files, err := r.Read(path)
			var problems scenarios.Problems
			if !errors.As(err, &problems) || files != nil {
				t.Fatalf("want problems, got %d files and error %v", len(files), err)
			}
			for i := range problems {
				// So that a new kind of fault does not change the golden files.
				if slices.Equal(problems[i].Allowed, faults) {
					problems[i].Allowed = []string{"(the registered faults)"}
				}
			}
			report := problems.Report()
			for _, secret := range []string{"hunter2", "aHVudGVyMg"} {
				if strings.Contains(report, secret) {
					t.Errorf("the report shows the secret %s", secret)
				}
			}
			for line := range strings.Lines(report) {
				if !strings.HasPrefix(line, "testdata") && len([]rune(line)) > 81 {
					t.Errorf("wider than 80 columns: %s", line)
				}
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", report)
		})
	}
}

// TestEveryExampleOfAStepIsValid checks what `seedbed list steps` shows. Names in
// the examples are replaced by those that exist here.
func TestEveryExampleOfAStepIsValid(t *testing.T) {
	r := registry(t)
	for _, kind := range r.Steps() {
		usage := strings.ReplaceAll(kind.Usage, "controller", "mirror")
		usage = "  - " + strings.ReplaceAll(usage, "\n", "\n    ")
		text := "apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x, description: x}\nsystems: {mirror: }\n" +
			"properties: [mirror.*]\nsteps:\n" + usage + "\n"
		if _, err := r.Parse(kind.Name, []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
