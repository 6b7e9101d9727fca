package form

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// Generator turns shapes into JSON Schema. Named struct types become shared
// definitions.
type Generator struct {
	forms       *Forms
	definitions jsonschema.Definitions
	names       map[reflect.Type]string
}

// Schema describes every file that [Forms.Decode] accepts for a root type, in
// JSON Schema 2020-12. The output depends on the Go types alone, so it is
// stable.
func (f *Forms) Schema(root reflect.Type) *jsonschema.Schema {
	g := &Generator{forms: f, definitions: jsonschema.Definitions{}, names: map[reflect.Type]string{}}
	schema := *g.structSchema(f.ShapeOf(root).(structShape))
	schema.Version = jsonschema.Version
	schema.Definitions = g.definitions
	return &schema
}

// Of returns the schema of a type, as a reference when the type has a name.
func (g *Generator) Of(t reflect.Type) *jsonschema.Schema {
	shape, ok := g.forms.ShapeOf(t).(structShape)
	if !ok {
		return g.forms.ShapeOf(t).Schema(g)
	}
	return g.Define(t, func() *jsonschema.Schema { return shape.Schema(g) })
}

// Define puts a schema among the shared definitions under the name of t, once,
// and returns a reference to it.
func (g *Generator) Define(t reflect.Type, describe func() *jsonschema.Schema) *jsonschema.Schema {
	name, known := g.names[t]
	if !known {
		name = g.freeName(t)
		g.names[t] = name
		g.definitions[name] = describe()
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

func (g *Generator) freeName(t reflect.Type) string {
	taken := func(name string) bool {
		for _, other := range g.names {
			if other == name {
				return true
			}
		}
		return false
	}
	name := t.Name()
	if !taken(name) {
		return name
	}
	path := strings.Split(t.PkgPath(), "/")
	name = path[len(path)-1] + "." + name
	for n := 2; taken(name); n++ {
		name += strconv.Itoa(n)
	}
	return name
}

func (s structShape) Schema(g *Generator) *jsonschema.Schema {
	object := g.structSchema(s)
	if s.short < 0 {
		return object
	}
	short := s.fields[s.short].shape.Schema(g)
	for _, field := range s.fields {
		if field.required && field.name != s.fields[s.short].name {
			return object
		}
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{short, object}}
}

func (g *Generator) structSchema(s structShape) *jsonschema.Schema {
	object := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, field := range s.fields {
		object.Properties.Set(field.name, WithDoc(field.shape.Schema(g), field.doc))
		if field.required {
			object.Required = append(object.Required, field.name)
		}
	}
	return object
}

// WithDoc returns the schema with a description, without changing its argument.
func WithDoc(schema *jsonschema.Schema, doc string) *jsonschema.Schema {
	if doc == "" {
		return schema
	}
	described := *schema
	described.Description = doc
	return &described
}

// Names is the schema of a text that is one of the given names.
func Names(names []string) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "string"}
	for _, name := range names {
		schema.Enum = append(schema.Enum, name)
	}
	return schema
}

func (rawShape) Schema(*Generator) *jsonschema.Schema    { return &jsonschema.Schema{} }
func (stringShape) Schema(*Generator) *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }
func (boolShape) Schema(*Generator) *jsonschema.Schema   { return &jsonschema.Schema{Type: "boolean"} }
func (s enumShape) Schema(*Generator) *jsonschema.Schema { return Names(s.names) }
func (s pointerShape) Schema(g *Generator) *jsonschema.Schema {
	return g.Of(s.elem)
}

func (s intShape) Schema(*Generator) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "integer"}
	if s.min != nil {
		schema.Minimum = json.Number(strconv.FormatInt(*s.min, 10))
	}
	if s.max != nil {
		schema.Maximum = json.Number(strconv.FormatInt(*s.max, 10))
	}
	return schema
}

func (s textShape) Schema(*Generator) *jsonschema.Schema      { return scalarSchema(s.goType) }
func (s referenceShape) Schema(*Generator) *jsonschema.Schema { return scalarSchema(s.goType) }

func scalarSchema(t reflect.Type) *jsonschema.Schema {
	syntax, ok := syntaxOf(t)
	if !ok {
		return &jsonschema.Schema{Type: "string"}
	}
	schema := Names(slices.Clone(syntax.Names))
	schema.Description, schema.Pattern = syntax.Doc, syntax.Pattern
	for _, example := range syntax.Examples {
		schema.Examples = append(schema.Examples, example)
	}
	return schema
}

func (s listShape) Schema(g *Generator) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: g.Of(s.elem)}
}

func (s mapShape) Schema(g *Generator) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: g.Of(s.elem)}
}
