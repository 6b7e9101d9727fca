package form

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recipe is a small format of its own, to test the reader without Seedbed.
type recipe struct {
	Title  string         `yaml:"title" form:"required" doc:"What is cooked. Shown on the cover."`
	Serves int            `yaml:"serves" form:"min=1,max=12" doc:"People at the table."`
	Heat   string         `yaml:"heat" enum:"low medium high"`
	Vegan  bool           `yaml:"vegan"`
	Steps  []recipeStep   `yaml:"steps"`
	Stock  map[string]int `yaml:"stock"`
	Oven   *oven          `yaml:"oven"`
	Temp   celsius        `yaml:"temp"`
	Uses   []tool         `yaml:"uses"`
}

type recipeStep struct {
	Do    string `yaml:"do" form:"required,short" doc:"What to do."`
	Times int    `yaml:"times"`
	Place Place
}

type oven struct {
	Fan bool `yaml:"fan"`
}

type celsius int

func (c *celsius) ParseText(text string) error {
	if _, err := fmt.Sscanf(text, "%dC", (*int)(c)); err != nil {
		return fmt.Errorf("%q is not a temperature such as 180C", text)
	}
	return nil
}

func (celsius) Syntax() Syntax {
	return Syntax{Doc: "a temperature such as 180C", Pattern: "^[0-9]+C$"}
}

type tool string

func (tool) Refers() string { return "tool" }

func TestDecodeFillsTheGoValue(t *testing.T) {
	text := `
title: Soup
serves: 4
heat: low
vegan: true
steps:
  - chop
  - do: stir
    times: 3
stock: {salt: 1, pepper: 2}
oven:
  fan: true
temp: 90C
uses: [knife]
`
	doc, problems := Parse("soup.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got recipe
	d := NewForms().Decode(doc, &got)
	if problems := d.Problems(); len(problems) > 0 {
		t.Fatal(problems)
	}
	if line := got.Steps[1].Place.Node.Line; line != 8 {
		t.Errorf("the second step was placed at line %d, want 8", line)
	}
	for i := range got.Steps {
		got.Steps[i].Place = Place{}
	}
	want := recipe{Title: "Soup", Serves: 4, Heat: "low", Vegan: true, Steps: []recipeStep{{Do: "chop"}, {Do: "stir", Times: 3}},
		Stock: map[string]int{"salt": 1, "pepper": 2}, Oven: &oven{Fan: true}, Temp: 90, Uses: []tool{"knife"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(d.Refs) != 1 || d.Refs[0].Kind != "tool" || d.Refs[0].Name != "knife" || d.Refs[0].Place.Path != "uses[0]" {
		t.Errorf("references: %+v", d.Refs)
	}
}

func TestEveryMistakeIsToldAtItsPlace(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown field", "title: x\nserve: 2", `f:2:1: serve: unknown field "serve"; did you mean "serves"?`},
		{"field of another place", "title: x\ntimes: 2", `f:2:1: times: the field "times" does not belong here; it is written as steps[].times`},
		{"misplaced field", "title: x\nfan: true", `f:2:1: fan: the field "fan" does not belong here; it is written as oven.fan`},
		{"missing field", "serves: 2", `f:1:1: the field "title" is missing: What is cooked`},
		{"number for text", "title: 12", `f:1:8: title: expected text, got the number 12; put it in quotes`},
		{"text for number", "title: x\nserves: two", `f:2:9: serves: expected a whole number from 1 to 12, got the text "two"`},
		{"number too large", "title: x\nserves: 13", `f:2:9: serves: expected a whole number from 1 to 12, got 13`},
		{"fraction for number", "title: x\nserves: 1.5", `f:2:9: serves: expected a whole number from 1 to 12, got the number 1.5`},
		{"list for number", "title: x\nserves: [1]", `f:2:9: serves: expected a whole number from 1 to 12, got a list`},
		{"text for bool", "title: x\nvegan: \"yes\"", `f:2:8: vegan: expected true or false, got the text "yes"`},
		{"not in the enum", "title: x\nheat: hihg", `f:2:7: heat: "hihg" is not a value of this field; did you mean "high"?`},
		{"mapping for list", "title: x\nsteps: {do: x}", `f:2:8: steps: expected a list, got a mapping`},
		{"nothing for list", "title: x\nsteps:", `f:2:7: steps: the value is missing: expected a list`},
		{"syntax of a scalar", "title: x\ntemp: 20K", `f:2:7: temp: "20K" is not a temperature such as 180C`},
		{"list for a scalar", "title: x\ntemp: []", `f:2:7: temp: expected a temperature such as 180C, got a list`},
		{"inside a list", "title: x\nsteps:\n  - do: a\n  - do: b\n    tims: 2", `f:5:5: steps[1].tims: unknown field "tims"; did you mean "times"?`},
		{"inside a map", "title: x\nstock: {salt: much}", `f:2:15: stock.salt: expected a whole number, got the text "much"`},
		{"two at once", "title: 1\nheat: x", "f:1:8: title: expected text, got the number 1; put it in quotes\n" +
			`f:2:7: heat: "x" is not a value of this field`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			doc, problems := Parse("f", []byte(test.text))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var out recipe
			got := NewForms().Decode(doc, &out).Problems().Error()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefusesWhatHidesTheMeaning(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "f: the file is empty; it must hold one document"},
		{"comments only", "# nothing\n", "f: the file is empty; it must hold one document"},
		{"two documents", "a: 1\n---\nb: 2\n", "f:2:1: a second document starts here; write each scenario to a file of its own"},
		{"anchor", "a: &x 1\nb: *x\n", "f:1:4: a: anchor &x: anchors and aliases are not used in scenarios; write the value out\n" +
			"f:2:4: b: alias *x: anchors and aliases are not used in scenarios; write the value out"},
		{"merge key", "a: {<<: {b: 1}}\n", "f:1:5: a.<<: merge keys are not used in scenarios; write the fields out"},
		{"tag", "a: !!binary aGk=\n", "f:1:4: a: tag !!binary: YAML tags are not used in scenarios"},
		{"own tag", "a: !secret x\n", "f:1:4: a: tag !secret: YAML tags are not used in scenarios"},
		{"duplicate key", "a: 1\nb:\n  c: 1\n  c: 2\n", `f:4:3: b.c: the key "c" is already given on line 3`},
		{"complex key", "? [a]\n: 1\n", "f:1:3: a key must be plain text"},
		{"tabs", "a:\n\tb: 1\n  \tc: 1\n", "f:2:1: a tab is used for indentation; write spaces\n" +
			"f:3:3: a tab is used for indentation; write spaces"},
		{"not YAML", "a: [1\n", "f:1:1: not valid YAML: did not find expected ',' or ']'"},
		{"not UTF-8", "a: 1\nb: \xff\n", "f:2:1: the line is not valid UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Parse("f", []byte(test.text))
			if diff := cmp.Diff(test.want, problems.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefusesHugeFiles(t *testing.T) {
	_, problems := Parse("f", []byte(strings.Repeat("# filler\n", maxFileSize/8)))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "at most 1048576 are read") {
		t.Error(problems)
	}
}

// FuzzDecode looks for texts that make the reader panic.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("title: Soup\nsteps: [chop, {do: stir}]\n"))
	f.Add([]byte("? a\n: &b *b\n"))
	f.Add([]byte("title: |\n  a\n\tb\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		doc, problems := Parse("f", text)
		if len(problems) > 0 {
			_ = problems.Report()
			return
		}
		var out recipe
		_ = NewForms().Decode(doc, &out).Problems().Report()
	})
}

func TestReportShowsThePlaceAndTheAllowedNames(t *testing.T) {
	doc, _ := Parse("f", []byte("title: x\nserve: 2"))
	var out recipe
	got := NewForms().Decode(doc, &out).Problems().Report()
	want := `f:2:1: serve: unknown field "serve"; did you mean "serves"?
    2 | serve: 2
      | ^
  allowed: title, serves, heat, vegan, steps, stock, oven, temp, uses
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPrivateProblemsShowNoSource(t *testing.T) {
	doc, _ := Parse("f", []byte("serves: hunter2"))
	var out recipe
	d := NewForms().Decode(doc, &recipe{})
	d.Private(func() { d.Into(Place{Node: doc.Root.Content[1]}, reflect.ValueOf(&out.Serves).Elem()) })
	got := d.problems[len(d.problems)-1]
	if strings.Contains(got.Error()+got.Excerpt, "hunter2") {
		t.Errorf("a private value is shown: %+v", got)
	}
}

func TestNearestFindsWhatWasMeant(t *testing.T) {
	names := []string{"crash", "restart", "partition", "startFault", "stopFault", "gossipkeys.rotate"}
	for got, want := range map[string]string{
		"crsh": "crash", "start-fault": "startFault", "StopFault": "stopFault", "partitoin": "partition", "rotate": "gossipkeys.rotate",
		"banana": "", "": "", "xy": "",
	} {
		if near := Nearest(got, names); near != want {
			t.Errorf("Nearest(%q) = %q, want %q", got, near, want)
		}
	}
}

func TestInsideFindsTheCharacterOfEveryStyle(t *testing.T) {
	tests := []struct{ name, text string }{
		{"plain", "e: a + §b"},
		{"single quoted", "e: 'it''s + §b'"},
		{"double quoted", `e: "a \"x\" + §b"`},
		{"literal", "e: |\n  a +\n    §b"},
		{"folded", "e: >-\n  a\n\n  + §b"},
		{"plain over lines", "e: a\n  + §b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var line, column int
			for i, l := range strings.Split(test.text, "\n") {
				if at := strings.Index(l, "§"); at >= 0 {
					line, column = i+1, len([]rune(l[:at]))+1
				}
			}
			doc, problems := Parse("f", []byte(strings.ReplaceAll(test.text, "§", "")))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			node := doc.Root.Content[1]
			offset := strings.LastIndex(node.Value, "b")
			if gotLine, gotColumn := doc.Inside(Place{Node: node}, offset); gotLine != line || gotColumn != column {
				t.Errorf("got %d:%d, want %d:%d", gotLine, gotColumn, line, column)
			}
		})
	}
}

func TestSchemaDescribesTheSameTypes(t *testing.T) {
	text, err := json.MarshalIndent(NewForms().Schema(reflect.TypeFor[recipe]()), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	properties := got["properties"].(map[string]any)
	want := map[string]any{"type": "integer", "minimum": 1.0, "maximum": 12.0, "description": "People at the table."}
	if diff := cmp.Diff(want, properties["serves"]); diff != "" {
		t.Error(diff)
	}
	step := got["$defs"].(map[string]any)["recipeStep"].(map[string]any)
	if _, ok := step["anyOf"]; !ok {
		t.Errorf("a step may be written short, but the schema says: %v", step)
	}
	if diff := cmp.Diff([]any{"title"}, got["required"]); diff != "" {
		t.Error(diff)
	}
}
