package openapi

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

//go:embed documents.gz
var packed []byte

// archive is the packed form, read: its lines, not yet put together.
type archive struct {
	parts     []string
	documents map[string]*document
}

type document struct {
	rest    string // the document without its paths and schemas
	paths   []entry
	schemas []entry
}

type entry struct{ name, json string }

// recorded is read on first use: most servers are never asked for a document.
var recorded = sync.OnceValues(func() (*archive, error) { return unpack(packed) })

func unpack(compressed []byte) (*archive, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("read recorded OpenAPI documents: %w", err)
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("read recorded OpenAPI documents: %w", err)
	}
	a := &archive{documents: map[string]*document{}}
	var doc *document
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		head, rest, _ := strings.Cut(line, " ")
		switch {
		case head == "P":
			a.parts = append(a.parts, rest)
		case head == "D":
			name, json, _ := strings.Cut(rest, " ")
			doc = &document{rest: json}
			a.documents[name] = doc
		case doc == nil:
			return nil, fmt.Errorf("read recorded OpenAPI documents: a line %.20q before the first document", line)
		case head == "S":
			name, json, _ := strings.Cut(rest, " ")
			doc.schemas = append(doc.schemas, entry{name, json})
		default:
			doc.paths = append(doc.paths, entry{head, rest})
		}
	}
	return a, nil
}

// expand writes JSON with all references replaced.
func (a *archive) expand(out *bytes.Buffer, json string) {
	for {
		before, after, found := strings.Cut(json, reference)
		out.WriteString(before)
		if !found {
			return
		}
		digits, rest, _ := strings.Cut(after, "}")
		number, err := strconv.Atoi(digits)
		if err != nil || number >= len(a.parts) {
			panic(fmt.Sprintf("openapi: recorded documents refer to part %q of %d", digits, len(a.parts)))
		}
		a.expand(out, a.parts[number])
		json = rest
	}
}

// Document returns a recorded document of version 3 as JSON, with those of its
// paths that are to be kept; nil if there is none of that name. Names are those
// of the index: "api/v1", "apis/apps/v1", "apis/apps".
func Document(name string, keep func(path string) bool) ([]byte, error) {
	a, err := recorded()
	if err != nil {
		return nil, err
	}
	doc, ok := a.documents[name]
	if !ok {
		return nil, nil
	}
	return a.assemble(doc, keep), nil
}

func (a *archive) assemble(doc *document, keep func(path string) bool) []byte {
	var out bytes.Buffer
	members := func(entries []entry, keep func(string) bool) {
		first := true
		for _, e := range entries {
			if keep != nil && !keep(e.name) {
				continue
			}
			if !first {
				out.WriteByte(',')
			}
			first = false
			out.WriteString(strconv.Quote(e.name) + ":")
			a.expand(&out, e.json)
		}
	}
	// The rest holds at least the version and the title, and perhaps components.
	rest := doc.rest
	out.WriteString(`{"paths":{`)
	members(doc.paths, keep)
	out.WriteString(`},`)
	if len(doc.schemas) > 0 {
		before, after, _ := strings.Cut(rest, `"components":{`)
		a.expand(&out, strings.TrimPrefix(before, "{"))
		out.WriteString(`"components":{"schemas":{`)
		members(doc.schemas, nil)
		out.WriteByte('}')
		if !strings.HasPrefix(after, "}") {
			out.WriteByte(',')
		}
		a.expand(&out, after)
	} else {
		a.expand(&out, strings.TrimPrefix(rest, "{"))
	}
	return out.Bytes()
}
