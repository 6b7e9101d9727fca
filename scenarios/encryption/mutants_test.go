package encryption_test

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
	"github.com/seedbed-sim/seedbed/scenarios/encryption"
	"github.com/seedbed-sim/seedbed/scenarios/internal/mutant"
	"github.com/seedbed-sim/seedbed/sim"
)

// TestPropertiesCatchPlantedBugs builds a program once with every planted bug in
// it, and runs for each bug the scenario that shows it, until it is violated: by
// the property that is to catch the bug, and no other. The code as it is passes
// the same scenario on the same seeds.
//
// The list of what was caught, and how fast, is logged, and written to the file
// mutants.txt among the artifacts (go test -artifacts).
func TestPropertiesCatchPlantedBugs(t *testing.T) {
	if testing.Short() || os.Getenv(sim.EnvSeeds) == "" {
		t.Skip("builds a program and simulates days; make planted runs it")
	}
	runner := buildRunner(t)
	rows := make([]string, len(plantedBugs))
	t.Run("bug", func(t *testing.T) {
		for i, p := range plantedBugs {
			t.Run(p.Name, func(t *testing.T) {
				t.Parallel()
				needed, err := p.hunt(runner)
				if err != nil {
					t.Fatalf("%s: %v", p.bug, err)
				}
				passes(t, p.scenario, needed)
				rows[i] = fmt.Sprintf("%-32s %-62s %-36s %5d", p.property, p.bug, strings.TrimSuffix(p.scenario, ".yaml"), needed)
			})
		}
	})
	table := fmt.Sprintf("%-32s %-62s %-36s %5s\n%s\n", "PROPERTY", "PLANTED BUG THAT IT CATCHES", "IN SCENARIO", "SEEDS", strings.Join(rows, "\n"))
	t.Logf("planted bugs and what catches them\n%s", table)
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "mutants.txt"), []byte(table), 0o644); err != nil {
		t.Error(err)
	}
	t.Run("none", func(t *testing.T) { sameAsWritten(t, runner) })
}

func buildRunner(t *testing.T) string {
	var mutants []mutant.Mutant
	for _, p := range plantedBugs {
		mutants = append(mutants, p.Mutant)
	}
	runner, err := mutant.Build(filepath.Join("..", ".."), t.TempDir(), "./scenarios/internal/mutant/runner", mutants)
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

// hunt runs the scenario with the bug until a run goes wrong, and returns how
// many seeds that took.
func (p *planted) hunt(runner string) (needed int, err error) {
	lines, err := runLines(runner, p.Name, p.scenario, p.seeds)
	if err != nil {
		return 0, err
	}
	last := lines[len(lines)-1]
	switch {
	case last.Expected:
		return 0, fmt.Errorf("%s holds on all %d seeds of %s", p.full(), len(lines), p.scenario)
	case last.Property != p.full():
		return 0, fmt.Errorf("seed %d of %s is to violate %s, but is %s: %s: %s%s",
			last.Seed, p.scenario, p.full(), last.Result, last.Property, last.Found, last.Error)
	}
	return len(lines), nil
}

// full is the name of the property as scenarios know it.
func (p *planted) full() string {
	if p.property == scenarios.StoryCompletes {
		return p.property
	}
	return "encryption." + p.property
}

// runLines runs a scenario with a bug in a process of its own.
func runLines(runner, bug, scenario string, seeds int) ([]scenarios.Line, error) {
	cmd := exec.Command(runner, scenario, fmt.Sprint(seeds))
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
func runHere(t *testing.T, scenario string, seeds int) []scenarios.Line {
	t.Helper()
	r, files := read(t, scenario)
	lines := make([]scenarios.Line, seeds)
	for seed := range lines {
		lines[seed] = r.RunSeed(files[0], uint64(seed)).Line()
	}
	return lines
}

func passes(t *testing.T, scenario string, seeds int) {
	t.Helper()
	for _, line := range runHere(t, scenario, seeds) {
		if !line.Expected {
			t.Errorf("without the bug, seed %d of %s is %s: %s: %s%s", line.Seed, scenario, line.Result, line.Property, line.Found, line.Error)
		}
	}
}

// sameAsWritten makes sure that planting changes nothing but what it says: with
// no bug switched on, runs are those of the code as it is.
func sameAsWritten(t *testing.T, runner string) {
	for _, scenario := range []string{"rotation/01-aescbc.yaml", "preflight/x01-configuration-changes-before-the-key.yaml"} {
		lines, err := runLines(runner, "", scenario, 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(runHere(t, scenario, 1), lines); diff != "" {
			t.Errorf("%s (-as written +planted):\n%s", scenario, diff)
		}
	}
}

// unplanted are the properties that no bug of the table violates.
var unplanted = []string{
	"one-cycle-at-a-time",
	"keys-are-dropped-when-nothing-needs", "keys-in-use-are-kept", "everything-stays-readable", "servers-read-each-other", "runs-count-only-under-one-key",
	"configurations-are-valid", "conditions-have-one-writer", "one-check-at-a-time", "plugin-data-agrees", "quiet-when-all-is-done",
	"checks-do-not-block-the-next", "successful-checks-are-cleaned-up", "turning-off-ends-in-plain-text", "the-policy-is-met",
}

// TestPropertiesHavePlantedBugs: a property that no bug violates says nothing.
func TestPropertiesHavePlantedBugs(t *testing.T) {
	caught := map[string]bool{}
	for _, p := range plantedBugs {
		caught[p.property] = true
	}
	for _, property := range encryption.System().Properties {
		if without := slices.Contains(unplanted, property.Name); caught[property.Name] == without {
			t.Errorf("%s: planted bugs %v, listed as without %v", property.Name, caught[property.Name], without)
		}
	}
}
