package form

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

type (
	rawShape       struct{}
	stringShape    struct{}
	boolShape      struct{}
	intShape       struct{ min, max *int64 }
	enumShape      struct{ names []string }
	textShape      struct{ goType reflect.Type }
	referenceShape struct{ goType reflect.Type }
	pointerShape   struct{ elem reflect.Type }
	listShape      struct{ elem reflect.Type }
	mapShape       struct{ elem reflect.Type }
)

func (rawShape) Decode(_ *Decoder, at Place, out reflect.Value) {
	out.Set(reflect.ValueOf(Raw{at}))
}

// scalar returns the text of a scalar with one of the given tags.
func (d *Decoder) scalar(at Place, want string, tags ...string) (string, bool) {
	if at.Node.Kind != yaml.ScalarNode || !slices.Contains(tags, at.Node.ShortTag()) {
		d.wrongType(at, want)
		return "", false
	}
	return at.Node.Value, true
}

func (stringShape) Decode(d *Decoder, at Place, out reflect.Value) {
	if at.Node.Kind == yaml.ScalarNode && slices.Contains([]string{"!!int", "!!float", "!!bool", "!!timestamp"}, at.Node.ShortTag()) {
		d.Fail(at, "expected text, got %s; put it in quotes", d.found(at.Node))
		return
	}
	if text, ok := d.scalar(at, "text", "!!str"); ok {
		out.SetString(text)
	}
}

func (boolShape) Decode(d *Decoder, at Place, out reflect.Value) {
	if text, ok := d.scalar(at, "true or false", "!!bool"); ok {
		out.SetBool(strings.EqualFold(text, "true"))
	}
}

func (s intShape) Decode(d *Decoder, at Place, out reflect.Value) {
	want := "a whole number" + s.bounds()
	text, ok := d.scalar(at, want, "!!int")
	if !ok {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	unsigned := out.CanUint() && n < 0
	if err != nil || unsigned || !s.within(n) || out.CanInt() && out.OverflowInt(n) {
		d.Fail(at, "expected %s, got %s", want, text)
		return
	}
	if out.CanUint() {
		out.SetUint(uint64(n))
	} else {
		out.SetInt(n)
	}
}

func (s intShape) within(n int64) bool {
	return (s.min == nil || n >= *s.min) && (s.max == nil || n <= *s.max)
}

func (s intShape) bounds() string {
	switch {
	case s.min != nil && s.max != nil:
		return fmt.Sprintf(" from %d to %d", *s.min, *s.max)
	case s.min != nil:
		return fmt.Sprintf(" of at least %d", *s.min)
	case s.max != nil:
		return fmt.Sprintf(" of at most %d", *s.max)
	}
	return ""
}

func (s enumShape) Decode(d *Decoder, at Place, out reflect.Value) {
	text, ok := d.scalar(at, "one of "+strings.Join(s.names, ", "), "!!str", "!!bool")
	if !ok {
		return
	}
	if !slices.Contains(s.names, text) {
		d.FailName(at, text, s.names, "%q is not a value of this field", text)
		return
	}
	out.SetString(text)
}

func (s textShape) Decode(d *Decoder, at Place, out reflect.Value) {
	if at.Node.Kind != yaml.ScalarNode || at.Node.ShortTag() == "!!null" {
		want := "text"
		if syntax, ok := syntaxOf(s.goType); ok {
			want = syntax.want()
		}
		d.wrongType(at, want)
		return
	}
	if err := out.Addr().Interface().(Text).ParseText(at.Node.Value); err != nil {
		d.Fail(at, "%v", err)
	}
}

func (s referenceShape) Decode(d *Decoder, at Place, out reflect.Value) {
	kind := reflect.Zero(s.goType).Interface().(Reference).Refers()
	text, ok := d.scalar(at, "the name of a "+kind, "!!str")
	if !ok {
		return
	}
	out.SetString(text)
	d.Refs = append(d.Refs, Ref{Kind: kind, Name: text, Place: at})
}

func (s pointerShape) Decode(d *Decoder, at Place, out reflect.Value) {
	v := reflect.New(s.elem)
	d.Into(at, v.Elem())
	out.Set(v)
}

func (s listShape) Decode(d *Decoder, at Place, out reflect.Value) {
	if at.Node.Kind != yaml.SequenceNode {
		d.wrongType(at, "a list")
		return
	}
	list := reflect.MakeSlice(out.Type(), len(at.Node.Content), len(at.Node.Content))
	for i, item := range at.Node.Content {
		d.Into(at.Index(i, item), list.Index(i))
	}
	out.Set(list)
}

func (s mapShape) Decode(d *Decoder, at Place, out reflect.Value) {
	m := reflect.MakeMap(out.Type())
	ok := d.Mapping(at, "a mapping", func(name string, _, value Place) {
		v := reflect.New(s.elem).Elem()
		d.Into(value, v)
		m.SetMapIndex(reflect.ValueOf(name).Convert(out.Type().Key()), v)
	})
	if ok {
		out.Set(m)
	}
}

func syntaxOf(t reflect.Type) (Syntax, bool) {
	described, ok := reflect.New(t).Interface().(Described)
	if !ok {
		return Syntax{}, false
	}
	return described.Syntax(), true
}

// want is the syntax as the object of "expected …".
func (s Syntax) want() string {
	if s.Doc == "" {
		return "text"
	}
	return s.Doc
}
