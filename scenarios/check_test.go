package scenarios_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/mirror"
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
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			files, err := r.Read(path)
			problems, ok := err.(scenarios.Problems)
			if !ok || files != nil {
				t.Fatalf("want problems, got %d files and error %v", len(files), err)
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
