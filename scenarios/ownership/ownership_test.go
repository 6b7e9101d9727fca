package ownership_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/mutant"
	"github.com/seedbed-sim/seedbed/scenarios/ownership"
)

// TestScenarios runs every scenario of the library on a few seeds.
func TestScenarios(t *testing.T) {
	scenarios.RunFiles(t, scenarios.MustNew(ownership.System()), "*.yaml")
}

func TestNothingIsTestedWithoutACollector(t *testing.T) {
	r := scenarios.MustNew(ownership.System())
	const head = "apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x, description: x}\n"
	for shape, ok := range map[string]bool{
		"{}": false, `{controllers: [namespace-controller]}`: false, `{controllers: ["*", -garbage-collector-controller]}`: false,
		`{controllers: ["*"]}`: true, `{controllers: [garbage-collector-controller]}`: true,
	} {
		_, err := r.Parse("x.yaml", []byte(head+"cluster: "+shape+"\nsystems: {ownership: }\nproperties: [ownership.*]\n"))
		if (err == nil) != ok {
			t.Errorf("cluster %s: %v", shape, err)
		}
	}
}

// planted is a bug, the property that catches it, and where it shows.
type planted struct {
	mutant.Mutant
	bug      string
	property string
	scenario string
	seeds    int // in which it must be caught
}

const (
	calm  = "01-calm-garden.yaml"
	storm = "02-garden-in-a-storm.yaml"
	model = "fakes/controllermanager/"
)

var plantedBugs = []planted{
	{
		bug: "an object with one owner that lives counts as unowned", property: "live-owners-keep", scenario: calm, seeds: 10,
		Mutant: mutant.Mutant{Name: "oneIsNone", File: model + "collector.go", Old: "case o.solid > 0:", New: "case o.solid > 1:"},
	},
	{
		bug: "the last dependent that blocks is not waited for", property: "owners-go-last", scenario: calm, seeds: 50,
		Mutant: mutant.Mutant{Name: "notTheLast", File: model + "collector.go", Old: "if len(blocking) == 0 {", New: "if len(blocking) <= 1 {"},
	},
	{
		bug: "only dependents that block are orphaned", property: "orphans-stay", scenario: calm, seeds: 20,
		Mutant: mutant.Mutant{Name: "orphanBlocking", File: model + "collector.go", Old: "for _, d := range n.sorted() {", New: "for _, d := range n.blocking() {"},
	},
	{
		bug: "dependents are not looked at when their owner goes", property: "dependents-go", scenario: calm, seeds: 10,
		Mutant: mutant.Mutant{
			Name: "forgetDependents", File: model + "graph.go",
			Old: "\t\tg.absent.add(id)\n\t}\n\tg.deleteAll(n.sorted())", New: "\t\tg.absent.add(id)\n\t}",
		},
	},
	{
		bug: "an owner is not looked at again when its last dependent goes", property: "deletions-end", scenario: calm, seeds: 50,
		Mutant: mutant.Mutant{Name: "forgetOwner", File: model + "graph.go", Old: "owner != nil && owner.deletingDependents", New: "owner != nil && owner.virtual"},
	},
	{
		bug: "orphaning that a crash interrupts is forgotten", property: scenarios.CoreConverges, scenario: storm, seeds: 200,
		Mutant: mutant.Mutant{
			Name: "forgetOrphaning", File: model + "graph.go",
			Old: "case begins(old, new, metav1.FinalizerOrphanDependents):", New: "case old != nil && begins(old, new, metav1.FinalizerOrphanDependents):",
		},
	},
	{
		bug: "a namespace in which something is held is not tried again", property: "namespaces-end", scenario: calm, seeds: 50,
		Mutant: mutant.Mutant{
			Name: "tryOnce", File: model + "namespaces.go",
			Old: "return reconcile.Result{RequeueAfter: time.Duration(estimate/2+1) * time.Second}, nil", New: "return reconcile.Result{}, nil",
		},
	},
}

// TestPropertiesCatchPlantedBugs builds a program once with every planted bug in it,
// and runs for each the scenario that shows it, until the property that is to catch
// it does.
func TestPropertiesCatchPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; make test does, without -short")
	}
	var mutants []mutant.Mutant
	for _, p := range plantedBugs {
		mutants = append(mutants, p.Mutant)
	}
	runner, err := mutant.Build(filepath.Join("..", ".."), t.TempDir(), "./scenarios/internal/mutant/runner", mutants)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plantedBugs {
		t.Run(p.Name, func(t *testing.T) {
			lines := runLines(t, runner, p)
			last := lines[len(lines)-1]
			want := p.property
			if want != scenarios.CoreConverges {
				want = "ownership." + want
			}
			if last.Property != want {
				t.Fatalf("%s: after %d seeds %q is violated, want %s: %s%s", p.bug, len(lines), last.Property, want, last.Found, last.Error)
			}
			t.Logf("%-16s %-62s %-24s %3d seeds", p.property, p.bug, strings.TrimSuffix(p.scenario, ".yaml"), len(lines))
		})
	}
}

// runLines runs a scenario with a bug in a process of its own.
func runLines(t *testing.T, runner string, p planted) []scenarios.Line {
	t.Helper()
	cmd := exec.Command(runner, p.scenario, strconv.Itoa(p.seeds))
	cmd.Env = append(os.Environ(), mutant.Env+"="+p.Name)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var lines []scenarios.Line
	for decoder := json.NewDecoder(&stdout); decoder.More(); {
		var line scenarios.Line
		if err := decoder.Decode(&line); err != nil {
			t.Fatalf("read the runs: %v", err)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		t.Fatal("nothing was run")
	}
	return lines
}

// TestEveryPropertyHasAPlantedBug: a property that no bug violates says nothing.
func TestEveryPropertyHasAPlantedBug(t *testing.T) {
	caught := map[string]bool{}
	for _, p := range plantedBugs {
		caught[p.property] = true
	}
	for _, property := range ownership.System().Properties {
		if !caught[property.Name] {
			t.Errorf("no planted bug violates %s", property.Name)
		}
	}
}
