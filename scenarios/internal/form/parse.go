package form

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFileSize bounds what is parsed: a scenario is read by people.
const maxFileSize = 1 << 20

// Document is one parsed file.
type Document struct {
	File  string
	Text  []byte
	Root  *yaml.Node // the file's single value
	Facts any        // what the shapes of the caller must know that is not in the text
	lines []string
}

// Place is a value in a document: its node and the path that leads to it.
type Place struct {
	Node *yaml.Node
	Path string
}

// Field is the place of a field of the mapping at p.
func (p Place) Field(name string, node *yaml.Node) Place {
	if p.Path == "" {
		return Place{node, name}
	}
	return Place{node, p.Path + "." + name}
}

// Index is the place of the i-th entry of the list at p.
func (p Place) Index(i int, node *yaml.Node) Place {
	return Place{node, fmt.Sprintf("%s[%d]", p.Path, i)}
}

// Parse reads one YAML document. It refuses everything that would make the text
// mean something else than it seems to: several documents, anchors and aliases,
// merge keys, custom tags, duplicate keys, tabs for indentation.
func Parse(file string, text []byte) (*Document, Problems) {
	doc := &Document{File: file, Text: text, lines: strings.Split(string(text), "\n")}
	whole := func(line int, format string, args ...any) Problems {
		p := Problem{File: file, Message: fmt.Sprintf(format, args...)}
		if line > 0 {
			p.Line, p.Column, p.Excerpt = line, 1, doc.line(line)
		}
		return Problems{p}
	}
	if len(text) > maxFileSize {
		return nil, whole(0, "the file has %d bytes; at most %d are read", len(text), maxFileSize)
	}
	if line := invalidUTF8(text); line > 0 {
		p := whole(line, "the line is not valid UTF-8")
		p[0].Excerpt = ""
		return nil, p
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var node yaml.Node
	switch err := decoder.Decode(&node); {
	case errors.Is(err, io.EOF):
		return nil, whole(0, "the file is empty; it must hold one document")
	case err != nil:
		return nil, doc.syntaxProblems(err)
	}
	doc.Root = node.Content[0]
	if empty(doc.Root) {
		return nil, whole(0, "the file is empty; it must hold one document")
	}
	problems := doc.lint(Place{Node: doc.Root}, nil)
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		problems = append(problems, doc.Problem(Place{Node: &second},
			"a second document starts here; write each scenario to a file of its own"))
	} else if !errors.Is(err, io.EOF) {
		problems = append(problems, doc.syntaxProblems(err)...)
	}
	return doc, problems.sorted()
}

// empty reports whether a node holds nothing at all, not even a written null.
func empty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Value == ""
}

func invalidUTF8(text []byte) int {
	for i, line := range bytes.Split(text, []byte("\n")) {
		if !utf8.Valid(line) {
			return i + 1
		}
	}
	return 0
}

var yamlErrorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxProblems turns the YAML library's error into problems. A tab used for
// indentation is named as such on each line: the library only says that some
// token cannot start there.
func (d *Document) syntaxProblems(err error) Problems {
	var problems Problems
	for i, line := range d.lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
			problems = append(problems, Problem{File: d.File, Line: i + 1, Column: tab + 1,
				Message: "a tab is used for indentation; write spaces", Excerpt: line})
		}
	}
	if len(problems) > 0 {
		return problems
	}
	p := Problem{File: d.File, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	if match := yamlErrorLine.FindStringSubmatch(err.Error()); match != nil {
		p.Message = match[2]
		if n, err := strconv.Atoi(match[1]); err == nil {
			p.Line, p.Column, p.Excerpt = n, 1, d.line(n)
		}
	}
	p.Message = "not valid YAML: " + p.Message
	return Problems{p}
}

// lint refuses constructs that hide what a file says.
func (d *Document) lint(at Place, problems Problems) Problems {
	n := at.Node
	if n.Anchor != "" {
		problems = append(problems, d.Problem(at, "anchor &%s: anchors and aliases are not used in scenarios; write the value out", n.Anchor))
	}
	if n.Kind == yaml.AliasNode {
		return append(problems, d.Problem(at, "alias *%s: anchors and aliases are not used in scenarios; write the value out", n.Value))
	}
	if tag := n.ShortTag(); n.Style&yaml.TaggedStyle != 0 || !plainTags[tag] {
		problems = append(problems, d.Problem(at, "tag %s: YAML tags are not used in scenarios", n.Tag))
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			problems = d.lint(at.Index(i, item), problems)
		}
	case yaml.MappingNode:
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			here := at.Field(key.Value, key)
			switch {
			case key.Kind != yaml.ScalarNode:
				problems = append(problems, d.Problem(Place{key, at.Path}, "a key must be plain text"))
				continue
			case key.Tag == "!!merge":
				problems = append(problems, d.Problem(here, "merge keys are not used in scenarios; write the fields out"))
				continue
			case seen[key.Value] > 0:
				problems = append(problems, d.Problem(here, "the key %q is already given on line %d", key.Value, seen[key.Value]))
				continue
			}
			seen[key.Value] = key.Line
			problems = d.lint(at.Field(key.Value, value), problems)
		}
	}
	return problems
}

var plainTags = map[string]bool{
	"!!str": true, "!!int": true, "!!float": true, "!!bool": true, "!!null": true,
	"!!map": true, "!!seq": true, "!!timestamp": true, "!!merge": true,
}

// Problem describes a mistake at a place of the document.
func (d *Document) Problem(at Place, format string, args ...any) Problem {
	p := Problem{File: d.File, Path: at.Path, Message: fmt.Sprintf(format, args...)}
	if at.Node != nil && at.Node.Line > 0 {
		p.Line, p.Column = at.Node.Line, at.Node.Column
		p.Excerpt = d.line(p.Line)
	}
	return p
}

func (d *Document) line(n int) string {
	if n < 1 || n > len(d.lines) {
		return ""
	}
	return d.lines[n-1]
}
