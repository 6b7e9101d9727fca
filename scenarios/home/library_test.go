package home_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/home"
	"github.com/seedbed-sim/seedbed/sim"
)

// read reads scenario files of this folder.
func read(t testing.TB, names ...string) (*scenarios.Registry, []*scenarios.File) {
	t.Helper()
	r, err := scenarios.New(home.System())
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.Read(names...)
	if err != nil {
		t.Fatal(err)
	}
	return r, files
}

// few lets a test run so many seeds, unless the environment says otherwise: enough to
// notice a mistake. Many are run by seedbed run scenarios/home.
func few(t *testing.T, seeds string) {
	if os.Getenv(sim.EnvSeeds) == "" && os.Getenv(sim.EnvSeed) == "" {
		t.Setenv(sim.EnvSeeds, seeds)
	}
}

// TestScenarios runs every story of the library on a few seeds.
func TestScenarios(t *testing.T) {
	few(t, "2")
	r, err := scenarios.New(home.System())
	if err != nil {
		t.Fatal(err)
	}
	scenarios.RunFiles(t, r, "grants/*.yaml", "health/*.yaml", "readiness/*.yaml", "scope/*.yaml")
}

// TestHostileWorld runs six hostile hours, twice with the same choices.
func TestHostileWorld(t *testing.T) {
	few(t, "1")
	r, err := scenarios.New(home.System())
	if err != nil {
		t.Fatal(err)
	}
	scenarios.RunFiles(t, r, "hostile/*.yaml")
}

// TestAHostileWorldIsWellWhenItSaysSo: what began last and ends by itself has ended, too.
func TestAHostileWorldIsWellWhenItSaysSo(t *testing.T) {
	r, err := scenarios.New(home.System())
	if err != nil {
		t.Fatal(err)
	}
	for _, harm := range []string{"api-cut", "api-down", "api-slow", "node-crash", "disk-error"} {
		file, err := r.Parse("well.yaml", fmt.Appendf(nil, `apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: well, description: Harm is done for a moment.}
cluster: {nodes: 1, nodeObjects: true, rbac: true}
systems: {home: {pods: 1}}
steps:
- wait: {for: 'home.pods.all(p, p.ready)', within: 1m}
- home.hostile: {for: 10s, every: 2s..5s, only: [%s]}
- sleep: 1m
- assert: home.pods.all(p, p.home.running && p.home.healthy)
properties: [home.*]
explore: {horizon: 1h}
`, harm))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(5) {
			if o := r.RunSeed(file, seed); !o.Line().Expected {
				t.Errorf("%s, seed %d: %s %s", harm, seed, o.Line().Found, o.Line().Error)
			}
		}
	}
}

// rows are the 41 rows of the specification's table, by who tells them: scenario files by
// their number, and tests of core/home by their name, and by the name of the case in their
// table if they have many.
var rows = map[int][]string{
	6: {"TestAStepOfTheClockIsNoticed"}, 17: {"TestNewRetriesUntilAGrantComes/it does not know the Pod yet"},
	18: {"TestNewRetriesUntilAGrantComes/it is broken"}, 19: {"TestNewMakesDoWithAGrantOfThisPodThatIsThere/its own"},
	20: {"TestNewMakesDoWithAGrantOfThisPodThatIsThere/an expired one", "TestNewMakesDoWithAGrantOfThisPodThatIsThere/an earlier Pod's"},
	21: {"TestNewEndsWithItsContext"}, 22: {"TestNewRetriesUntilAGrantComes/half a token"},
	23: {"TestNewRetriesUntilAGrantComes/slow", "TestNewRetriesUntilAGrantComes/too slow"},
	24: {"TestNewRetriesUntilAGrantComes/a redirect"}, 27: {"TestALaneShowsEveryFileAtAnyMoment"},
	28: {"TestLane/it changes, with as many bytes"}, 38: {"TestRunRunsOnce", "TestEndpointHost/it is closed meanwhile", "TestEndpointHost/it is closed already"},
	39: {"TestEndpointHost/the kubelet has not written it yet", "TestEndpointHost/there is none of that family"},
}

// fileless are the rows that only tests of core/home tell.
var fileless = []int{21, 24, 27, 28, 38}

// TestEveryRowIsTold looks for the file of each row, such as 07-….yaml, and for the tests.
func TestEveryRowIsTold(t *testing.T) {
	tests := testsOf(t, filepath.Join("..", "..", "core", "home"))
	for n := range 41 {
		n++
		found, err := filepath.Glob(fmt.Sprintf("[ghrs][^o]*/%02d-*.yaml", n)) // not hostile/
		if err != nil {
			t.Fatal(err)
		}
		if want := !slices.Contains(fileless, n); len(found) > 1 || (len(found) == 1) != want {
			t.Errorf("row %d is told by the files %v", n, found)
		}
		if len(found)+len(rows[n]) == 0 {
			t.Errorf("nobody tells row %d", n)
		}
		for _, name := range rows[n] {
			test, subtest, _ := strings.Cut(name, "/")
			if body, there := tests[test]; !there || !strings.Contains(body, strconv.Quote(subtest)) && subtest != "" {
				t.Errorf("row %d is to be told by %s, which is not there", n, name)
			}
		}
	}
}

// testsOf returns the texts of the tests in a folder by their names.
func testsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				tests[f.Name.Name] = string(src[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset])
			}
		}
	}
	return tests
}
