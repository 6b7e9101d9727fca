package scenarios

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// SchemaID is where the schema of scenario files is published.
const SchemaID = "https://seedbed.dev/schemas/scenario-v1alpha1.json"

// Schema returns the JSON Schema (2020-12) of scenario files, indented, ending
// with a newline. It is made from the Go types of the format and from what is
// registered, so an editor that knows it completes the names of systems, steps,
// faults and properties. Equal registries give equal bytes.
func (r *Registry) Schema() ([]byte, error) {
	schema := r.forms.Schema(reflect.TypeFor[Scenario]())
	schema.ID = SchemaID
	schema.Title = "Seedbed scenario"
	schema.Description = "A cluster, what runs on it, the story that is told, the trouble in the background, and what must hold meanwhile."
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return append(text, '\n'), nil
}
