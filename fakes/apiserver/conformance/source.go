package conformance

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Mistake is one thing that is wrong with a case file.
type Mistake struct {
	File  string
	Line  int    // 0: the file as a whole
	Field string // such as steps[2].verb; empty where there is none
	Text  string
}

// Error implements error: file:line: field: what is wrong.
func (m Mistake) Error() string {
	s := m.File
	if m.Line > 0 {
		s += ":" + strconv.Itoa(m.Line)
	}
	if m.Field != "" {
		s += ": " + m.Field
	}
	return s + ": " + m.Text
}

// Mistakes is everything that is wrong with case files, in the order of the
// files and of their lines.
type Mistakes []Mistake

// Error implements error: one line for each mistake.
func (ms Mistakes) Error() string {
	lines := make([]string, len(ms))
	for i, m := range ms {
		lines[i] = m.Error()
	}
	return strings.Join(lines, "\n")
}

// source is a case file as it is written: where its fields are, and what has
// been found wrong.
type source struct {
	file      string
	lines     map[string]int // by field
	questions bool           // steps need no expectations
	mistakes  Mistakes
}

// readSource compares the outline of a document with the type it is meant for.
// The text must be YAML.
func readSource(file string, text []byte, into any) (*source, error) {
	s := &source{file: file, lines: map[string]int{}}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, Mistakes{syntaxMistake(file, err)}
	}
	if doc.Kind != yaml.DocumentNode {
		return nil, Mistakes{{File: file, Text: "the file is empty"}}
	}
	s.compare(doc.Content[0], reflect.TypeOf(into).Elem(), "")
	return s, nil
}

var yamlLine = regexp.MustCompile(`(?s)\bline (\d+): (.*)`)

// syntaxMistake takes the line out of the text of a YAML error.
func syntaxMistake(file string, err error) Mistake {
	m := Mistake{File: file, Text: "is no YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		if line, err := strconv.Atoi(found[1]); err == nil {
			m.Line, m.Text = line, "is no YAML: "+found[2]
		}
	}
	return m
}

func (s *source) add(field, format string, args ...any) {
	s.mistakes = append(s.mistakes, Mistake{File: s.file, Line: s.line(field), Field: field, Text: fmt.Sprintf(format, args...)})
}

// line of a field, or of what it should be in.
func (s *source) line(field string) int {
	for {
		if line, ok := s.lines[field]; ok {
			return line
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return s.lines[""]
		}
		field = field[:cut]
	}
}

// compare notes the line of every field below node, and what t does not take.
func (s *source) compare(node *yaml.Node, t reflect.Type, at string) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if _, known := s.lines[at]; !known {
		s.lines[at] = node.Line
	}
	if node.Tag == "!!null" {
		return // as if it were not there
	}
	switch t.Kind() {
	case reflect.Pointer:
		s.compare(node, t.Elem(), at)
	case reflect.Struct:
		s.members(node, t, at)
	case reflect.Slice:
		if node.Kind != yaml.SequenceNode {
			s.add(at, "must be a list, is %s", kindOf(node))
			return
		}
		for i, item := range node.Content {
			s.compare(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i))
		}
	case reflect.Map:
		if node.Kind != yaml.MappingNode {
			s.add(at, "must be a map, is %s", kindOf(node))
		}
	case reflect.Interface: // anything
	default:
		s.scalar(node, t.Kind(), at)
	}
}

func (s *source) members(node *yaml.Node, t reflect.Type, at string) {
	if node.Kind != yaml.MappingNode {
		s.add(at, "must be a map, is %s", kindOf(node))
		return
	}
	fields := fieldsOf(t)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		place := strings.TrimPrefix(at+"."+key.Value, ".")
		s.lines[place] = key.Line
		j := slices.IndexFunc(fields, func(f reflect.StructField) bool { return nameOf(f) == key.Value })
		if j < 0 {
			s.add(place, "unknown field %q; the fields here are %s", key.Value, namesOf(fields))
			continue
		}
		s.compare(value, fields[j].Type, place)
	}
}

func (s *source) scalar(node *yaml.Node, kind reflect.Kind, at string) {
	wanted, ok := "a text", node.Kind == yaml.ScalarNode
	switch kind {
	case reflect.Bool:
		wanted, ok = "true or false", ok && node.Tag == "!!bool"
	case reflect.Int:
		wanted, ok = "a whole number", ok && node.Tag == "!!int"
	case reflect.Float64:
		wanted, ok = "a number", ok && (node.Tag == "!!int" || node.Tag == "!!float")
	}
	if !ok {
		s.add(at, "must be %s, is %s", wanted, kindOf(node))
	}
}

func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(node.Value)
}

func fieldsOf(t reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for f := range t.Fields() {
		if nameOf(f) != "" {
			out = append(out, f)
		}
	}
	return out
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func namesOf(fields []reflect.StructField) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = nameOf(f)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
