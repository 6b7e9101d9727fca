package form

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Decoder collects what one file says and what is wrong with it.
type Decoder struct {
	Doc      *Document
	Refs     []Ref // in the order of the file
	forms    *Forms
	homes    map[string][]string
	problems Problems
	private  int // depth inside values that may hold secrets
}

// Ref is one use of a name that is defined elsewhere.
type Ref struct {
	Kind  string
	Name  string
	Place Place
}

// Decode fills out, a pointer to the root type, from doc. It returns the decoder
// for checks that need more than one field; [Decoder.Problems] has the mistakes.
func (f *Forms) Decode(doc *Document, out any) *Decoder {
	v := reflect.ValueOf(out).Elem()
	d := &Decoder{Doc: doc, forms: f, homes: map[string][]string{}}
	f.collectHomes(v.Type(), "", d.homes, map[reflect.Type]bool{})
	d.Into(Place{Node: doc.Root}, v)
	return d
}

// Into decodes the value at a place by the Go type of out, which is settable.
func (d *Decoder) Into(at Place, out reflect.Value) {
	d.forms.ShapeOf(out.Type()).Decode(d, at, out)
}

// Problems returns the mistakes so far, in the order of the file.
func (d *Decoder) Problems() Problems { return d.problems.sorted() }

// Fail records a mistake at a place.
func (d *Decoder) Fail(at Place, format string, args ...any) {
	d.add(d.Doc.Problem(at, format, args...))
}

// FailName records that a name is not among the allowed ones.
func (d *Decoder) FailName(at Place, got string, allowed []string, format string, args ...any) {
	p := d.Doc.Problem(at, format, args...)
	p.Nearest, p.Allowed = Nearest(got, allowed), allowed
	d.add(p)
}

// FailNear is FailName for names that are too many, or too well known, to list.
func (d *Decoder) FailNear(at Place, got string, names []string, format string, args ...any) {
	p := d.Doc.Problem(at, format, args...)
	p.Nearest = Nearest(got, names)
	d.add(p)
}

// Private runs decode for a value that may hold secrets: problems found in it
// do not show source lines.
func (d *Decoder) Private(decode func()) {
	d.private++
	defer func() { d.private-- }()
	decode()
}

func (d *Decoder) add(p Problem) {
	if d.private > 0 {
		p.Excerpt = ""
	}
	d.problems = append(d.problems, p)
}

// Failed reports whether something is known to be wrong with the value at a
// place: what was read from it means nothing then.
func (d *Decoder) Failed(at Place) bool {
	return slices.ContainsFunc(d.problems, func(p Problem) bool { return p.Path == at.Path && p.Line == at.Node.Line })
}

// Secret reports whether the decoder is inside a value that may hold secrets;
// such values are not quoted in messages.
func (d *Decoder) Secret() bool { return d.private > 0 }

// Mapping calls each for every field of the mapping at a place, in the order of
// the file, with the place of the key and of the value. It reports false, with
// a problem recorded, when there is no mapping.
func (d *Decoder) Mapping(at Place, want string, each func(name string, key, value Place)) bool {
	if at.Node.Kind != yaml.MappingNode {
		d.wrongType(at, want)
		return false
	}
	for i := 0; i+1 < len(at.Node.Content); i += 2 {
		key, value := at.Node.Content[i], at.Node.Content[i+1]
		each(key.Value, at.Field(key.Value, key), at.Field(key.Value, value))
	}
	return true
}

// wrongType says what was found where something else belongs.
func (d *Decoder) wrongType(at Place, want string) {
	if empty(at.Node) {
		d.Fail(at, "the value is missing: expected %s", want)
		return
	}
	d.Fail(at, "expected %s, got %s", want, d.found(at.Node))
}

func (d *Decoder) found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	value := n.Value
	if d.Secret() {
		value = ""
	} else if short := []rune(value); len(short) > 40 {
		value = string(short[:40]) + "…"
	}
	quoted := fmt.Sprintf(" %q", value)
	if value == "" {
		quoted = ""
	}
	switch n.ShortTag() {
	case "!!null":
		return "null"
	case "!!bool":
		return "the truth value " + value
	case "!!int", "!!float":
		return "the number " + value
	case "!!timestamp":
		return "the date " + value
	}
	return "the text" + quoted
}

func (s structShape) Decode(d *Decoder, at Place, out reflect.Value) {
	if s.place != nil {
		out.FieldByIndex(s.place).Set(reflect.ValueOf(at))
	}
	if s.short >= 0 && at.Node.Kind != yaml.MappingNode {
		field := s.fields[s.short]
		field.shape.Decode(d, at, out.FieldByIndex(field.index))
		if !empty(at.Node) {
			s.checkRequired(d, at, map[string]bool{field.name: true})
		}
		return
	}
	seen := map[string]bool{}
	ok := d.Mapping(at, "a mapping with "+joinNames(s.names()), func(name string, key, value Place) {
		for _, field := range s.fields {
			if field.name == name {
				seen[name] = true
				field.shape.Decode(d, value, out.FieldByIndex(field.index))
				return
			}
		}
		d.UnknownField(key, name, s.names())
	})
	if ok {
		s.checkRequired(d, at, seen)
	}
}

func (s structShape) checkRequired(d *Decoder, at Place, seen map[string]bool) {
	for _, field := range s.fields {
		if field.required && !seen[field.name] {
			p := d.Doc.Problem(at, "the field %q is missing", field.name)
			if field.doc != "" {
				p.Message += ": " + firstSentence(field.doc)
			}
			d.add(p)
		}
	}
}

// UnknownField records a field that does not belong where it stands, and where
// it does belong if the format knows it elsewhere.
func (d *Decoder) UnknownField(key Place, name string, allowed []string) {
	p := d.Doc.Problem(key, "unknown field %q", name)
	p.Allowed = allowed
	if near := Nearest(name, allowed); near != "" {
		p.Nearest = near
	} else if homes := d.homes[name]; len(homes) > 0 {
		p.Message = fmt.Sprintf("the field %q does not belong here; it is written as %s", name, strings.Join(homes, " or "))
	}
	d.add(p)
}

// collectHomes notes for each field name of the static part of a format where
// it is written.
func (f *Forms) collectHomes(t reflect.Type, path string, homes map[string][]string, seen map[reflect.Type]bool) {
	if _, custom := f.custom[t]; !custom && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		f.collectHomes(t.Elem(), path, homes, seen)
		return
	}
	shape, ok := f.ShapeOf(t).(structShape)
	if !ok || seen[t] {
		return
	}
	seen[t] = true
	for _, field := range shape.fields {
		here := strings.TrimPrefix(path+"."+field.name, ".")
		homes[field.name] = append(homes[field.name], here)
		if lazy, ok := field.shape.(lazyShape); ok {
			f.collectHomes(lazy.goType, here, homes, seen)
		}
	}
}

func firstSentence(s string) string {
	sentence, _, _ := strings.Cut(s, ". ")
	return strings.TrimSuffix(sentence, ".")
}

func joinNames(names []string) string {
	switch len(names) {
	case 0:
		return "no fields"
	case 1:
		return names[0]
	}
	if len(names) > 6 {
		return strings.Join(names[:6], ", ") + ", …"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
