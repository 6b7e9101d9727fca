package library_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/library"
)

func read(t *testing.T) (*scenarios.Registry, []*scenarios.File) {
	t.Helper()
	r, err := scenarios.New(library.Systems()...)
	if err != nil {
		t.Fatal(err)
	}
	files, err := library.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	return r, files
}

// TestWhatMustFail: each scenario of the folder negative fails in the way that it says.
func TestWhatMustFail(t *testing.T) {
	r, _ := read(t)
	files, err := r.Read("../negative")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	verdicts, err := r.Run(t.Context(), scenarios.Plan{Files: files, Each: func(o *scenarios.Outcome) {
		got[o.File.Metadata.Name] = o.Property
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range verdicts {
		if verdicts[i].OK() {
			t.Errorf("%s is in order, and it must not be", verdicts[i].File.Path)
		}
	}
	want := map[string]string{
		"canary": "gossipkeys.all-nodes-understand-each-other", "never-in-time": "made-by-nobody",
		"not-at-all-times": "away", "not-unsafe": "", "story-without-end": scenarios.StoryCompletes,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("what fails (-want +got):\n%s", d)
	}
}

// TestEveryBuiltInScenarioFitsTheSchema makes sure that an editor has nothing to
// say against the files that people learn from.
func TestEveryBuiltInScenarioFitsTheSchema(t *testing.T) {
	r, files := read(t)
	text, err := r.Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource(scenarios.SchemaID, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(scenarios.SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var value any
		if err := yaml.Unmarshal(file.Text, &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", file.Path, err)
		}
	}
}

// TestSomeBuiltInScenariosShowViolations: a library in which nothing ever fails
// proves little.
func TestSomeBuiltInScenariosShowViolations(t *testing.T) {
	_, files := read(t)
	if !slices.ContainsFunc(files, func(f *scenarios.File) bool { return f.Expect.Violates != "" }) {
		t.Error("no built-in scenario shows a violation")
	}
}

// TestTheExampleInTheReadmeRuns keeps the first file that a reader copies alive.
func TestTheExampleInTheReadmeRuns(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README has no example")
	}
	r, _ := read(t)
	file, err := r.Parse("README.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		if o := r.RunSeed(file, seed); o.Result != scenarios.Held {
			t.Errorf("seed %d: %s %s: %s %v", seed, o.Result, o.Property, o.Found, o.Err)
		}
	}
}
