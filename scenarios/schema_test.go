package scenarios_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// compileSchema returns the schema of a registry, ready to validate.
func compileSchema(t *testing.T, r *scenarios.Registry) *validator.Schema {
	t.Helper()
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
	return schema
}

// valueOf reads a YAML file as an editor's language server does.
func valueOf(t *testing.T, path string) (any, error) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	err = yaml.Unmarshal(text, &value)
	return value, err
}

func TestSchemaIsStable(t *testing.T) {
	first, err := registry(t).Schema()
	if err != nil {
		t.Fatal(err)
	}
	second, err := registry(t).Schema()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Error(diff)
	}
	golden(t, "testdata/schema.golden.json", withoutFaults(t, first))
}

// withoutFaults leaves out what follows from the registered kinds of fault, so
// that the golden file pins the format and not the list of faults.
func withoutFaults(t *testing.T, schema []byte) string {
	t.Helper()
	names := []any{}
	for _, f := range registry(t).Faults() {
		names = append(names, f.Name)
	}
	var value any
	if err := json.Unmarshal(schema, &value); err != nil {
		t.Fatal(err)
	}
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				strip(item)
			}
		case map[string]any:
			for key, item := range v {
				if cmp.Equal(item, any(names)) {
					v[key] = []any{"(the registered faults)"}
				}
				strip(item)
			}
		}
	}
	strip(value)
	definitions := value.(map[string]any)["$defs"].(map[string]any)
	definitions["FaultUse"] = "(made from the registered faults)"
	definitions["StartFaultArgs"] = "(made from the registered faults)"
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func TestSchemaCompletesEveryFault(t *testing.T) {
	text, err := registry(t).Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range registry(t).Faults() {
		if !strings.Contains(string(text), `"`+f.Name+`": {`) {
			t.Errorf("the schema does not know the fault %s", f.Name)
		}
	}
}

func TestSchemaAcceptsWhatTheDecoderAccepts(t *testing.T) {
	schema := compileSchema(t, registry(t))
	paths, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		value, err := valueOf(t, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := registry(t).Read(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestSchemaRefusesMistakesOfForm makes sure that an editor marks what it can
// know; names that depend on the rest of the file are the decoder's.
func TestSchemaRefusesMistakesOfForm(t *testing.T) {
	schema := compileSchema(t, registry(t))
	for _, name := range []string{"misplaced-fields", "missing", "unknown-names", "wrong-types", "wrong-units"} {
		value, err := valueOf(t, "testdata/bad/"+name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		err = schema.Validate(value)
		if err == nil {
			t.Errorf("%s: the schema accepts it", name)
		} else if !strings.Contains(err.Error(), "jsonschema validation failed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
