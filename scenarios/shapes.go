package scenarios

import (
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// The shapes in this file are the parts of the format that depend on what is
// registered: steps, systems, faults and names of properties.

type (
	exprShape    struct{}
	expectShape  struct{}
	stepShape    struct{ registry *Registry }
	systemsShape struct{ registry *Registry }
	faultShape   struct {
		registry *Registry
		step     bool // the fault is switched on by a step
	}
	nameShape struct {
		goType reflect.Type
		doc    string
		names  []string
	}
)

// Decode keeps the text of a condition; it is compiled once the file is known.
func (exprShape) Decode(d *form.Decoder, at form.Place, out reflect.Value) {
	if at.Node.Kind != yaml.ScalarNode || at.Node.ShortTag() == "!!null" {
		d.Fail(at, `expected a condition in CEL, such as exists("Secret", "namespace/name")`)
		return
	}
	out.Set(reflect.ValueOf(Expr{Source: at.Node.Value, Place: at}))
}

// Schema describes CEL as text.
func (exprShape) Schema(*form.Generator) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Examples: []any{`exists("Secret", "namespace/name")`}}
}

// Decode reads pass, or a mapping with violates.
func (expectShape) Decode(d *form.Decoder, at form.Place, out reflect.Value) {
	const want = "pass, or a mapping such as {violates: some-property}"
	expect := Expect{Place: at}
	switch {
	case at.Node.Kind == yaml.ScalarNode && at.Node.Value == "pass":
	case at.Node.Kind == yaml.MappingNode:
		d.Mapping(at, want, func(name string, key, value form.Place) {
			if name != "violates" {
				d.UnknownField(key, name, []string{"violates"})
				return
			}
			var property PropertyName
			d.Into(value, reflect.ValueOf(&property).Elem())
			expect.Violates, expect.Place = string(property), value
		})
		if len(at.Node.Content) == 0 {
			d.Fail(at, "expected %s", want)
		}
	default:
		d.FailName(at, at.Node.Value, []string{"pass"}, "expected %s", want)
	}
	out.Set(reflect.ValueOf(expect))
}

// Schema describes the two forms.
func (expectShape) Schema(g *form.Generator) *jsonschema.Schema {
	object := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: []string{"violates"}, AdditionalProperties: jsonschema.FalseSchema}
	object.Properties.Set("violates", form.WithDoc(g.Of(reflect.TypeFor[PropertyName]()), "The property that at least one of the seeds run must violate."))
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Enum: []any{"pass"}}, object}}
}

// Decode reads one step: at most one verb, and a note.
func (s stepShape) Decode(d *form.Decoder, at form.Place, out reflect.Value) {
	step := Step{Place: at}
	problems := false
	ok := d.Mapping(at, "a step: a mapping with one of "+shortList(s.registry.stepNames()), func(name string, key, value form.Place) {
		if name == "note" {
			d.Into(value, reflect.ValueOf(&step.Note).Elem())
			return
		}
		kind := s.registry.step(name)
		switch {
		case kind == nil:
			problems = true
			d.FailName(key, name, append(s.registry.stepNames(), "note"), "unknown step %q", name)
			return
		case step.Verb != "":
			problems = true
			d.Fail(key, "a step does one thing: %s and %s are two steps", step.Verb, name)
			return
		}
		step.Verb = name
		args := reflect.New(kind.args)
		if !kind.optional || !nothing(value.Node) {
			d.Into(value, args.Elem())
		}
		step.Args = args.Interface()
	})
	if ok && step.Verb == "" && step.Note == "" && !problems {
		d.Fail(at, "the step says nothing; it has a note, or does one thing, or both")
	}
	out.Set(reflect.ValueOf(step))
}

// nothing reports whether a value was left out: a key with nothing behind it.
func nothing(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// Schema describes a step as an object with at most one verb.
func (s stepShape) Schema(g *form.Generator) *jsonschema.Schema {
	return g.Define(reflect.TypeFor[Step](), func() *jsonschema.Schema {
		step := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
		step.Properties.Set("note", &jsonschema.Schema{Type: "string", Description: "Told in the story when the step begins."})
		one := &jsonschema.Schema{MaxProperties: ptr(uint64(2)), MinProperties: ptr(uint64(1))}
		for _, kind := range s.registry.steps {
			args := g.Of(kind.args)
			if kind.optional {
				args = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, args}}
			}
			step.Properties.Set(kind.Name, form.WithDoc(args, kind.Doc))
			one.OneOf = append(one.OneOf, &jsonschema.Schema{Required: []string{kind.Name}})
		}
		one.OneOf = append(one.OneOf, &jsonschema.Schema{MaxProperties: ptr(uint64(1)), Required: []string{"note"}})
		step.MinProperties, step.MaxProperties, step.OneOf = one.MinProperties, one.MaxProperties, one.OneOf
		return step
	})
}

func ptr[T any](v T) *T { return &v }

// Decode reads the systems of a scenario.
func (s systemsShape) Decode(d *form.Decoder, at form.Place, out reflect.Value) {
	var uses []SystemUse
	d.Mapping(at, "a mapping from a system to its configuration: "+shortList(s.registry.systemNames()), func(name string, key, value form.Place) {
		system := s.registry.system(name)
		if system == nil {
			d.FailName(key, name, s.registry.systemNames(), "unknown system %q", name)
			return
		}
		config := system.newConfig()
		if !nothing(value.Node) {
			d.Into(value, config.Elem())
		}
		uses = append(uses, SystemUse{Name: name, Config: config.Interface(), Place: key})
	})
	out.Set(reflect.ValueOf(uses))
}

// Schema describes the systems as an object with a property for each.
func (s systemsShape) Schema(g *form.Generator) *jsonschema.Schema {
	object := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, system := range s.registry.systems {
		config := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, g.Of(system.newConfig().Type().Elem())}}
		object.Properties.Set(system.Name, form.WithDoc(config, system.Doc))
	}
	return object
}

// Decode reads one fault: a name alone, or a mapping from the name to its knobs.
func (s faultShape) Decode(d *form.Decoder, at form.Place, out reflect.Value) {
	use := FaultUse{Place: at}
	names := s.registry.faultNames()
	if at.Node.Kind == yaml.ScalarNode && !nothing(at.Node) {
		var name FaultName
		d.Into(at, reflect.ValueOf(&name).Elem())
		use.Name = string(name)
	} else {
		ok := d.Mapping(at, "a fault: its name, or a mapping from its name to its knobs", func(name string, key, value form.Place) {
			switch {
			case !slices.Contains(names, name):
				d.FailName(key, name, names, "unknown fault %q", name)
				return
			case use.Name != "":
				d.Fail(key, "one fault per entry: %s and %s are two entries", use.Name, name)
				return
			}
			use.Name = name
			if !nothing(value.Node) {
				s.registry.decodeKnobs(d, name, s.step, value, &use.Knobs)
			}
		})
		if ok && len(at.Node.Content) == 0 {
			d.Fail(at, "the fault has no name")
		}
	}
	out.Set(reflect.ValueOf(use).Convert(out.Type()))
}

// Schema describes the two forms of a fault.
func (s faultShape) Schema(g *form.Generator) *jsonschema.Schema {
	goType := reflect.TypeFor[FaultUse]()
	if s.step {
		goType = reflect.TypeFor[StartFaultArgs]()
	}
	return g.Define(goType, func() *jsonschema.Schema {
		object := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
			MinProperties: ptr(uint64(1)), MaxProperties: ptr(uint64(1))}
		for _, name := range s.registry.faultNames() {
			object.Properties.Set(name, s.registry.knobsSchema(g, name, s.step))
		}
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{form.Names(s.registry.faultNames()), object}}
	})
}

// Decode reads a name; it is checked once the whole file is known.
func (s nameShape) Decode(d *form.Decoder, at form.Place, out reflect.Value) {
	if at.Node.Kind != yaml.ScalarNode || at.Node.ShortTag() != "!!str" {
		d.Fail(at, "expected %s", s.doc)
		return
	}
	out.SetString(at.Node.Value)
	kind := reflect.Zero(s.goType).Interface().(form.Reference).Refers()
	d.Refs = append(d.Refs, form.Ref{Kind: kind, Name: at.Node.Value, Place: at})
}

// Schema lists the names that exist.
func (s nameShape) Schema(*form.Generator) *jsonschema.Schema { return form.Names(s.names) }

// shortList joins the first few names for a message.
func shortList(names []string) string {
	const most = 6
	text := ""
	for i, name := range names {
		if i == most {
			return text + ", …"
		}
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}
