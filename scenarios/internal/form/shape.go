package form

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// Shape is one way to write a value: it decodes the value and describes it.
type Shape interface {
	// Decode fills out, which is settable, from the value at a place. Mistakes
	// go to d; out keeps what could be read.
	Decode(d *Decoder, at Place, out reflect.Value)

	// Schema describes every text that Decode accepts, as closely as JSON
	// Schema can.
	Schema(g *Generator) *jsonschema.Schema
}

// Text is implemented by pointers to scalar types with a syntax of their own.
type Text interface {
	// ParseText reads the scalar. The error says what to write instead, in
	// lower case; it is shown after the field's path.
	ParseText(text string) error
}

// Described adds a syntax to a type that implements [Text] or [Reference].
type Described interface {
	Syntax() Syntax
}

// Syntax describes a scalar for people and editors.
type Syntax struct {
	Doc      string
	Pattern  string // regular expression, anchored
	Examples []string
	Names    []string // the only texts allowed, if there is such a list
}

// Reference is implemented by string types that name something defined
// elsewhere: the decoder collects them, and the caller checks them when the
// whole file is known.
type Reference interface {
	// Refers says what kind of thing is named.
	Refers() string
}

// Raw keeps a value as it stands in the file.
type Raw struct{ Place }

// Forms holds the shapes that a format is made of. It is built once, is not
// changed afterwards, and may then be used by several goroutines.
type Forms struct {
	custom map[reflect.Type]Shape
}

// NewForms returns Forms that know only what Go types say.
func NewForms() *Forms {
	return &Forms{custom: map[reflect.Type]Shape{}}
}

// Set makes shape the way to write values of type t.
func (f *Forms) Set(t reflect.Type, shape Shape) { f.custom[t] = shape }

var (
	textType      = reflect.TypeFor[Text]()
	referenceType = reflect.TypeFor[Reference]()
	placeType     = reflect.TypeFor[Place]()
	rawType       = reflect.TypeFor[Raw]()
)

// ShapeOf returns the shape of a Go type. It panics on a type that has no
// written form: that is a mistake in the program, not in a file.
func (f *Forms) ShapeOf(t reflect.Type) Shape {
	if shape, ok := f.custom[t]; ok {
		return shape
	}
	switch {
	case t == rawType:
		return rawShape{}
	case reflect.PointerTo(t).Implements(textType):
		return textShape{t}
	case t.Implements(referenceType) && t.Kind() == reflect.String:
		return referenceShape{t}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return pointerShape{t.Elem()}
	case reflect.Struct:
		return f.structOf(t)
	case reflect.Slice:
		return listShape{t.Elem()}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapShape{t.Elem()}
		}
	case reflect.String:
		return stringShape{}
	case reflect.Bool:
		return boolShape{}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return intShape{}
	}
	panic(fmt.Sprintf("form: %v cannot be written in a file", t))
}

// structShape is a mapping with known fields.
type structShape struct {
	goType reflect.Type
	fields []structField
	short  int   // index of the field that a non-mapping stands for; -1 for none
	place  []int // of a field that takes the struct's own place, or nil
}

type structField struct {
	name     string
	doc      string
	index    []int
	required bool
	shape    Shape
}

func (f *Forms) structOf(t reflect.Type) structShape {
	s := structShape{goType: t, short: -1}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Type == placeType {
			s.place = field.Index
			continue
		}
		name := strings.Split(field.Tag.Get("yaml"), ",")[0]
		if field.Anonymous && name == "" {
			embedded := f.structOf(field.Type)
			for _, inner := range embedded.fields {
				inner.index = append([]int{i}, inner.index...)
				s.fields = append(s.fields, inner)
			}
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		option := parseOptions(t, field)
		entry := structField{name: name, doc: field.Tag.Get("doc"), index: []int{i}, required: option.required}
		switch {
		case field.Tag.Get("enum") != "":
			entry.shape = enumShape{parseEnum(t, field)}
		case option.min != nil || option.max != nil:
			entry.shape = intShape{option.min, option.max}
		default:
			entry.shape = lazyShape{f, field.Type}
		}
		if option.short {
			s.short = len(s.fields)
		}
		s.fields = append(s.fields, entry)
	}
	return s
}

// parseEnum reads the values that a field may have. It panics on a tag that
// separates them by commas: the whole of it would be one value.
func parseEnum(t reflect.Type, field reflect.StructField) []string {
	text := field.Tag.Get("enum")
	if strings.ContainsAny(text, ",;|") {
		panic(fmt.Sprintf("form: %v.%s: enum %q: values are separated by spaces", t, field.Name, text))
	}
	return strings.Fields(text)
}

type fieldOptions struct {
	required, short bool
	min, max        *int64
}

func parseOptions(t reflect.Type, field reflect.StructField) fieldOptions {
	var o fieldOptions
	for _, word := range strings.Split(field.Tag.Get("form"), ",") {
		name, value, _ := strings.Cut(word, "=")
		number := func() *int64 {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				panic(fmt.Sprintf("form: %v.%s: %q is not a number", t, field.Name, word))
			}
			return &n
		}
		switch name {
		case "":
		case "required":
			o.required = true
		case "short":
			o.short = true
		case "min":
			o.min = number()
		case "max":
			o.max = number()
		default:
			panic(fmt.Sprintf("form: %v.%s: unknown option %q", t, field.Name, word))
		}
	}
	return o
}

func (s structShape) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// lazyShape finds the shape of a type when it is needed, so that types may
// refer to themselves.
type lazyShape struct {
	forms  *Forms
	goType reflect.Type
}

func (s lazyShape) Decode(d *Decoder, at Place, out reflect.Value) {
	s.forms.ShapeOf(s.goType).Decode(d, at, out)
}

func (s lazyShape) Schema(g *Generator) *jsonschema.Schema { return g.Of(s.goType) }
