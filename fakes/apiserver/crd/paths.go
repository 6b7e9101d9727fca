package crd

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/client-go/util/jsonpath"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// path finds a value in an object by a JSON path.
type path struct {
	members []string // of a simple path; nil for others

	mu     sync.Mutex // a parsed path keeps its state while it searches
	parsed *jsonpath.JSONPath
}

// newPath parses a path. The name stands in its errors.
func newPath(name, text string) (*path, error) {
	p := &path{parsed: jsonpath.New(name)}
	if err := p.parsed.Parse("{" + text + "}"); err != nil {
		return nil, err
	}
	p.parsed.AllowMissingKeys(true)
	if strings.HasPrefix(text, ".") && !strings.ContainsFunc(text, special) && !strings.Contains(text, "..") {
		p.members = members(text)
	}
	return p, nil
}

// special characters make a path more than a list of names.
func special(r rune) bool {
	return r != '.' && r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// find returns the first value at the path, or nil.
func (p *path) find(content map[string]any) any {
	if p.members != nil {
		var at any = content
		for _, name := range p.members {
			m, ok := at.(map[string]any)
			if !ok {
				return nil
			}
			at = m[name]
		}
		return at
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found, err := p.parsed.FindResults(content)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	return found[0][0].Interface()
}

// selectable are the fields that objects can be selected by. Objects are stored in
// one version, and looked at in the one of s.
func (v *version) selectable(s registry.Schema) []*store.Field {
	var out []*store.Field
	for _, f := range v.spec.SelectableFields {
		p, err := newPath("selectableField", f.JSONPath)
		if err != nil {
			continue // validation lets none pass
		}
		out = append(out, &store.Field{Name: strings.TrimPrefix(f.JSONPath, "."), Get: func(obj registry.Object) string {
			if !s.Settled() {
				if seen, err := s.Load(obj); err == nil {
					obj = seen
				}
			}
			if value := p.find(contentOfObject(obj)); value != nil {
				return fmt.Sprint(value)
			}
			return ""
		}})
	}
	return out
}
