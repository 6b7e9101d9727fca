package gossipkeys_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/mutant"
)

// root is the folder of the module.
var root = filepath.Join("..", "..")

// TestPropertiesCatchPlantedBugs builds the program once with every planted bug
// in it, and runs for each bug the scenario that shows it, until it is violated:
// by the property that is to catch the bug, and no other. The code as it is
// passes the same scenario on the same seeds.
func TestPropertiesCatchPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	var mutants []mutant.Mutant
	for _, p := range plantedBugs {
		mutants = append(mutants, p.Mutant)
	}
	runner, err := mutant.Build(root, t.TempDir(), "./scenarios/internal/mutant/runner", mutants)
	if err != nil {
		t.Fatal(err)
	}
	caught := make([]string, len(plantedBugs))
	t.Run("each", func(t *testing.T) {
		for i, p := range plantedBugs {
			t.Run(p.Name, func(t *testing.T) {
				t.Parallel()
				seeds, err := p.hunt(runner)
				if err != nil {
					t.Fatalf("%s: %v", p.bug, err)
				}
				caught[i] = fmt.Sprintf("%-32s %-64s %5d", p.property, p.bug, seeds)
			})
		}
	})
	t.Logf("property -> planted bug that it catches -> seeds needed\n%s", strings.Join(caught, "\n"))
}

// hunt runs the scenario with the bug until a run goes wrong, and returns how
// many seeds that took.
func (p *planted) hunt(runner string) (seeds int, err error) {
	lines, err := runLines(runner, p.Name, p.scenario, p.seeds)
	if err != nil {
		return 0, err
	}
	want := p.property
	if want != scenarios.StoryCompletes {
		want = "gossipkeys." + want
	}
	switch last := lines[len(lines)-1]; {
	case last.Expected:
		return 0, fmt.Errorf("%s is held in all %d seeds of %s", want, len(lines), p.scenario)
	case last.Property != want:
		return 0, fmt.Errorf("%s, seed %d, is to violate %s but is %s %s: %s%s", p.scenario, last.Seed, want, last.Result, last.Property, last.Found, last.Error)
	}
	return len(lines), nil
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
