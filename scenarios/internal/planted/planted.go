package planted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/mutant"
)

// Bug is a bug, what catches it, and where it shows.
type Bug struct {
	mutant.Mutant
	Bug      string // what somebody got wrong
	Property string // the one that catches it, without its system; or scenarios.StoryCompletes or CoreConverges
	Scenario string // the file that shows it, from the folder of the test
	Seeds    int    // in which it must be caught
	Drawn    bool   // its run is shrunk and drawn as well, among the artifacts of the test
}

// System is a system of scenarios with bugs to plant. Its tests run in its folder, two
// below the root of the module.
type System struct {
	Name     string
	Registry *scenarios.Registry
	Bugs     []Bug

	// Samples are files that run on SampleSeeds seeds with no bug switched on, to make
	// sure that planting changes nothing but what it says.
	Samples     []string
	SampleSeeds int
}

// Catch builds a program once with every planted bug in it, and runs for each bug the
// scenario that shows it, until it is violated: by the property that is to catch the
// bug, and no other. The code as it is passes the same scenario on the same seeds.
//
// The list of what was caught, and how fast, is logged, and written to the file
// mutants.txt among the artifacts (go test -artifacts).
func (s *System) Catch(t *testing.T) {
	runner := s.build(t)
	rows := make([]string, len(s.Bugs))
	t.Run("bug", func(t *testing.T) {
		for i, b := range s.Bugs {
			t.Run(b.Name, func(t *testing.T) {
				t.Parallel()
				folder := ""
				if b.Drawn {
					folder = t.ArtifactDir()
				}
				needed, err := s.hunt(runner, &b, folder)
				if err != nil {
					t.Fatalf("%s: %v", b.Bug, err)
				}
				if b.Drawn {
					s.drawn(t, folder, &b)
				}
				s.passes(t, b.Scenario, needed)
				rows[i] = fmt.Sprintf("%-32s %-62s %-36s %5d", b.Property, b.Bug, strings.TrimSuffix(b.Scenario, ".yaml"), needed)
			})
		}
	})
	table := fmt.Sprintf("%-32s %-62s %-36s %5s\n%s\n", "PROPERTY", "PLANTED BUG THAT IT CATCHES", "IN SCENARIO", "SEEDS", strings.Join(rows, "\n"))
	t.Logf("planted bugs and what catches them\n%s", table)
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "mutants.txt"), []byte(table), 0o644); err != nil {
		t.Error(err)
	}
	t.Run("none", func(t *testing.T) { s.sameAsWritten(t, runner) })
}

func (s *System) build(t *testing.T) (runner string) {
	t.Helper()
	mutants := make([]mutant.Mutant, len(s.Bugs))
	for i, b := range s.Bugs {
		mutants[i] = b.Mutant
	}
	runner, err := mutant.Build(filepath.Join("..", ".."), t.TempDir(), "./scenarios/internal/mutant/runner", mutants)
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

// hunt runs the scenario with the bug until a run goes wrong, and returns how many
// seeds that took.
func (s *System) hunt(runner string, b *Bug, folder string) (needed int, err error) {
	lines, err := runLines(runner, b.Name, b.Scenario, b.Seeds, folder)
	if err != nil {
		return 0, err
	}
	property := b.Property
	if property != scenarios.StoryCompletes && property != scenarios.CoreConverges {
		property = s.Name + "." + property
	}
	last := lines[len(lines)-1]
	switch {
	case last.Expected:
		return 0, fmt.Errorf("%s holds on all %d seeds of %s", property, len(lines), b.Scenario)
	case last.Property != property:
		return 0, fmt.Errorf("seed %d of %s is to violate %s, but is %s: %s: %s%s",
			last.Seed, b.Scenario, property, last.Result, last.Property, last.Found, last.Error)
	}
	return len(lines), nil
}

// drawn makes sure that there is a page about the bug that names what it violates.
func (s *System) drawn(t *testing.T, folder string, b *Bug) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(folder, "*.html"))
	if err != nil || len(pages) != 1 {
		t.Fatalf("%s: there are %d pictures, error %v", b.Bug, len(pages), err)
	}
	text, err := os.ReadFile(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 2<<20 || !bytes.Contains(text, []byte(s.Name+"."+b.Property)) {
		t.Errorf("%s: the picture has %d bytes, and names %s.%s: %t", b.Bug, len(text), s.Name, b.Property, bytes.Contains(text, []byte(b.Property)))
	}
}

// runLines runs a scenario with a bug in a process of its own, and has the run that is
// violated drawn in a folder, if one is given.
func runLines(runner, bug, scenario string, seeds int, folder string) ([]scenarios.Line, error) {
	args := []string{scenario, fmt.Sprint(seeds)}
	if folder != "" {
		args = append(args, folder)
	}
	cmd := exec.Command(runner, args...)
	cmd.Env = append(os.Environ(), mutant.Env+"="+bug)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("%w\n%s", err, stderr.String())
	}
	var lines []scenarios.Line
	for decoder := json.NewDecoder(&stdout); decoder.More(); {
		var line scenarios.Line
		if err := decoder.Decode(&line); err != nil {
			return nil, fmt.Errorf("read the runs: %w", err)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil, errors.New("nothing was run")
	}
	return lines, nil
}

// runHere runs a scenario as the code is, in this process.
func (s *System) runHere(t *testing.T, scenario string, seeds int) []scenarios.Line {
	t.Helper()
	files, err := s.Registry.Read(scenario)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]scenarios.Line, seeds)
	for seed := range lines {
		lines[seed] = s.Registry.RunSeed(files[0], uint64(seed)).Line()
	}
	return lines
}

func (s *System) passes(t *testing.T, scenario string, seeds int) {
	t.Helper()
	for _, line := range s.runHere(t, scenario, seeds) {
		if !line.Expected {
			t.Errorf("without the bug, seed %d of %s is %s: %s: %s%s", line.Seed, scenario, line.Result, line.Property, line.Found, line.Error)
		}
	}
}

// sameAsWritten makes sure that with no bug switched on, runs are those of the code as
// it is.
func (s *System) sameAsWritten(t *testing.T, runner string) {
	t.Helper()
	for _, scenario := range s.Samples {
		lines, err := runLines(runner, "", scenario, s.SampleSeeds, "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.runHere(t, scenario, s.SampleSeeds), lines); diff != "" {
			t.Errorf("%s (-as written +planted):\n%s", scenario, diff)
		}
	}
}

// Cover fails the test unless each property has a bug that it catches, but for those
// that are named: a property that no bug violates says nothing.
func (s *System) Cover(t *testing.T, properties []scenarios.Property, without ...string) {
	t.Helper()
	catches := map[string]bool{scenarios.StoryCompletes: true, scenarios.CoreConverges: true}
	for _, p := range properties {
		catches[p.Name] = false
	}
	for _, b := range s.Bugs {
		if _, known := catches[b.Property]; !known {
			t.Errorf("a bug is planted for %s, which is no property", b.Property)
		}
		catches[b.Property] = true
	}
	for _, p := range properties {
		if exempt := slices.Contains(without, p.Name); catches[p.Name] == exempt {
			t.Errorf("%s: a planted bug violates it: %t; listed as one without: %t", p.Name, catches[p.Name], exempt)
		}
	}
}
