package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The packed form is text. Each line begins with what it is:
//
//	P JSON          a part, which others refer to by its number
//	D NAME JSON     a document, with everything but its paths and schemas
//	/PATH JSON      a path of that document
//	S NAME JSON     a schema of it
//
// In all JSON {"$":N} stands for part number N, which comes before.
const (
	reference    = `{"$":`
	worthSharing = 40 // bytes; below, a reference is no shorter
)

// Pack writes documents of version 3, by name ("apis/apps/v1"), in the packed
// form. What occurs more than once in any of them is written once.
func Pack(w io.Writer, documents map[string][]byte) error {
	p := &packer{count: map[string]int{}, numbers: map[string]int{}}
	parsed := map[string]map[string]any{}
	names := slices.Sorted(maps.Keys(documents))
	for _, name := range names {
		decoder := json.NewDecoder(bytes.NewReader(documents[name]))
		decoder.UseNumber()
		var doc map[string]any
		if err := decoder.Decode(&doc); err != nil {
			return fmt.Errorf("read document %s: %w", name, err)
		}
		parsed[name] = doc
		p.survey(doc)
	}
	for _, name := range names {
		p.document(name, parsed[name])
	}
	for _, part := range p.parts {
		if _, err := fmt.Fprintf(w, "P %s\n", part); err != nil {
			return fmt.Errorf("write parts: %w", err)
		}
	}
	if _, err := io.WriteString(w, p.lines.String()); err != nil {
		return fmt.Errorf("write documents: %w", err)
	}
	return nil
}

type packer struct {
	count   map[string]int // how often a value occurs, by its JSON
	numbers map[string]int // of parts, by their whole JSON
	parts   []string
	lines   strings.Builder
}

// survey counts how often each object and list occurs.
func (p *packer) survey(v any) {
	if !composite(v) {
		return
	}
	key := text(v)
	p.count[key]++
	if p.count[key] > 1 {
		return // what is within goes with it
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			p.survey(v[name])
		}
	case []any:
		for _, item := range v {
			p.survey(item)
		}
	}
}

func (p *packer) document(name string, doc map[string]any) {
	paths, _ := doc["paths"].(map[string]any)
	components, _ := doc["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	rest := maps.Clone(doc)
	delete(rest, "paths")
	if components != nil {
		components = maps.Clone(components)
		delete(components, "schemas")
		rest["components"] = components
	}
	fmt.Fprintf(&p.lines, "D %s %s\n", name, p.json(rest))
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		fmt.Fprintf(&p.lines, "%s %s\n", path, p.json(paths[path]))
	}
	for _, schema := range slices.Sorted(maps.Keys(schemas)) {
		fmt.Fprintf(&p.lines, "S %s %s\n", schema, p.json(schemas[schema]))
	}
}

// json is v with references for what is shared.
func (p *packer) json(v any) string {
	if !composite(v) {
		return text(v)
	}
	key := text(v)
	if p.count[key] < 2 || len(key) < worthSharing {
		return p.inner(v)
	}
	number, known := p.numbers[key]
	if !known {
		part := p.inner(v) // parts within come before
		number = len(p.parts)
		p.numbers[key] = number
		p.parts = append(p.parts, part)
	}
	return reference + strconv.Itoa(number) + "}"
}

func (p *packer) inner(v any) string {
	var out strings.Builder
	switch v := v.(type) {
	case map[string]any:
		out.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(text(name) + ":" + p.json(v[name]))
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(p.json(item))
		}
		out.WriteByte(']')
	}
	return out.String()
}

func composite(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// text is the JSON of what was read from JSON, with members in order.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came from JSON
	}
	return string(data)
}
