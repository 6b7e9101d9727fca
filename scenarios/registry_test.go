package scenarios_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/mirror"
)

// choosy is a system that refuses some configurations.
type choosyConfig struct {
	Copies int    `yaml:"copies" form:"min=0,max=9" doc:"How many."`
	Colour string `yaml:"colour" enum:"red green" doc:"Which colour."`
}

func choosy() scenarios.System {
	return scenarios.System{
		Name: "choosy", Doc: "Refuses more copies than nodes.",
		Config: choosyConfig{Copies: 2, Colour: "red"},
		Check: scenarios.CheckWith(func(c choosyConfig, cl scenarios.Cluster) error {
			if c.Copies > cl.NodeCount() {
				return errors.New("there are fewer nodes than copies")
			}
			return nil
		}),
		Build: scenarios.BuildWith(func(_ *scenarios.World, c choosyConfig) (choosyConfig, error) {
			if c.Colour == "green" {
				return c, errors.New("green is sold out")
			}
			return c, nil
		}),
	}
}

func TestSystemsThatDoNotFitAreRefusedTogether(t *testing.T) {
	named := func(change func(*scenarios.System)) scenarios.System {
		s := choosy()
		change(&s)
		return s
	}
	property := func(name, meaning string) scenarios.Property {
		return scenarios.NewProperty(name, meaning, func(*scenarios.World, choosyConfig) scenarios.Check { return scenarios.Check{} })
	}
	step := func(name, doc string) scenarios.StepKind {
		return scenarios.NewStep(name, doc, "", func(*scenarios.Story, choosyConfig, struct{}) error { return nil })
	}
	tests := []struct {
		name   string
		system scenarios.System
		want   string
	}{
		{"no name", named(func(s *scenarios.System) { s.Name = "" }), `system "": the name must be lower-case letters and digits: CEL uses it as an identifier`},
		{"a name that is no identifier", named(func(s *scenarios.System) { s.Name = "my-system" }), `system "my-system": the name must be lower-case letters and digits`},
		{"a name of CEL", named(func(s *scenarios.System) { s.Name = "nodes" }), `system "nodes": the name already means something in CEL`},
		{"a name that is taken", named(func(s *scenarios.System) { s.Name = "mirror" }), `system "mirror": the name is taken`},
		{"no doc", named(func(s *scenarios.System) { s.Doc = "" }), `system "choosy": the doc is missing`},
		{"no build", named(func(s *scenarios.System) { s.Build = scenarios.Builder{} }), `system "choosy": the build function is missing`},
		{"a bad step", named(func(s *scenarios.System) { s.Steps = []scenarios.StepKind{step("Do-It", "x")} }), `step "Do-It": it needs a camelCase name, a doc and a function`},
		{"a step twice", named(func(s *scenarios.System) { s.Steps = []scenarios.StepKind{step("go", "x"), step("go", "x")} }), `step "choosy.go": the name is taken`},
		{"a bad property", named(func(s *scenarios.System) { s.Properties = []scenarios.Property{property("x", "")} }), `property "x": it needs a name of lower-case words`},
		{"a property twice", named(func(s *scenarios.System) { s.Properties = []scenarios.Property{property("x", "x"), property("x", "x")} }), `property "choosy.x": the name is taken`},
		{"a default that cannot be written", named(func(s *scenarios.System) { s.Config = choosyConfig{Copies: 2, Colour: "blue"} }),
			`system "choosy": configuration: the default "blue" of colour is not one of red, green`},
	}
	all := []scenarios.System{mirror.System()}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := scenarios.New(mirror.System(), test.system)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
		all = append(all, test.system)
	}
	if _, err := scenarios.New(all...); err == nil || strings.Count(err.Error(), "\n") != len(tests)-1 {
		t.Errorf("not every mistake is told: %v", err)
	}
}

func TestConfigurationsAreDecodedOverDefaultsAndChecked(t *testing.T) {
	r := scenarios.MustNew(choosy())
	file := parse(t, r, "systems: {choosy: {colour: green}}\nproperties: [no-panic]")
	if diff := cmp.Diff(&choosyConfig{Copies: 2, Colour: "green"}, file.Systems[0].Config); diff != "" {
		t.Error(diff)
	}
	o := r.RunSeed(file, 0)
	if o.Result != scenarios.Failed || !strings.Contains(o.Err.Error(), "build the system choosy: green is sold out") {
		t.Errorf("%s: %v", o.Result, o.Err)
	}
	if again := parse(t, r, "systems: {choosy: }\nproperties: [no-panic]"); again.Systems[0].Config.(*choosyConfig).Colour != "red" {
		t.Error("the default was changed")
	}
	_, err := r.Parse("x.yaml", []byte("apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x, description: x}\n"+
		"cluster: {nodes: 1}\nsystems: {choosy: }\nproperties: [no-panic]\n"))
	if err == nil || err.Error() != "x.yaml:5:11: systems.choosy: there are fewer nodes than copies" {
		t.Error(err)
	}
	if list := r.ListSystems(); !strings.Contains(list, "colour  Which colour. One of red, green. Default: red.") {
		t.Error(list)
	}
}

func TestFoldersAreSearchedForScenarios(t *testing.T) {
	r := registry(t)
	text, err := os.ReadFile("testdata/good/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string]string{
		"b.yaml": string(text), "sub/a.yaml": strings.Replace(string(text), "name: everything", "name: other", 1),
		"testdata/bad.yaml": "nonsense", ".hidden/bad.yaml": "nonsense", "notes.txt": "nonsense",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := r.Read(folder, filepath.Join(folder, "b.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range files {
		got = append(got, file.Metadata.Name)
	}
	if diff := cmp.Diff([]string{"everything", "other"}, got); diff != "" {
		t.Error(diff)
	}
	embedded, err := r.ReadFS(os.DirFS(folder), "library")
	if err != nil {
		t.Fatal(err)
	}
	if len(embedded) != 2 || embedded[0].Path != "library/b.yaml" || embedded[1].Path != "library/sub/a.yaml" {
		t.Errorf("a file system is searched otherwise: %v", embedded)
	}
	if _, err := r.Read(filepath.Join(folder, ".hidden", "..", "sub"), filepath.Join(folder, "nothing")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
	if _, err := r.Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds no scenario files: their names end in .yaml") {
		t.Error(err)
	}
}

func TestTwoScenariosOfOneNameAreRefused(t *testing.T) {
	text, err := os.ReadFile("testdata/good/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = registry(t).ReadFS(fstest.MapFS{"a.yaml": {Data: text}, "b.yaml": {Data: text}}, "library")
	if err == nil || err.Error() != `library/b.yaml: metadata.name: the name "everything" is already used by library/a.yaml` {
		t.Error(err)
	}
}
