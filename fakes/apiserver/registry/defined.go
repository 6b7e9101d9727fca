package registry

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// defined are the kinds that come from definitions. It does not change.
type defined struct {
	names   []string // of the definitions, sorted
	served  map[string][]*Entry
	entries map[schema.GroupVersionResource]*Entry
	kinds   map[schema.GroupVersionKind]*Entry
	order   []*Entry
}

func (r *Registry) definitions() *defined {
	if d := r.defined.Load(); d != nil {
		return d
	}
	return &defined{}
}

// Define makes entries all that is served by the definition called name, in place
// of what it served before. Calls must not run at once with each other.
func (r *Registry) Define(name string, entries []*Entry) {
	was := r.definitions()
	next := &defined{
		served:  map[string][]*Entry{},
		entries: map[schema.GroupVersionResource]*Entry{},
		kinds:   map[schema.GroupVersionKind]*Entry{},
	}
	names := slices.Clone(was.names)
	if i, found := slices.BinarySearch(names, name); !found {
		names = slices.Insert(names, i, name)
	}
	for _, n := range names {
		list := was.served[n]
		if n == name {
			list = entries
		}
		if len(list) == 0 {
			continue
		}
		next.names = append(next.names, n)
		next.served[n] = list
		for _, e := range list {
			next.entries[e.Resource()] = e
			next.kinds[e.Served] = e
			next.order = append(next.order, e)
		}
	}
	r.defined.Store(next)
}

// Defined returns what the definition called name serves.
func (r *Registry) Defined(name string) []*Entry { return r.definitions().served[name] }

// NewEntry returns the entry of a kind that a definition serves, compiled.
func NewEntry(k *Kind, d *Definition) *Entry {
	k.complete()
	return &Entry{Kind: k, Served: k.GroupVersionKind, Definition: d}
}
