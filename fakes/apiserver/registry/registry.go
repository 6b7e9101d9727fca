package registry

import (
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Registry is the set of kinds that a server serves: the built-in ones, which all
// registries share, its own, and those that come and go with their definitions.
// It is not safe for concurrent registration; lookups may run at once with each
// other and with changes of definitions.
type Registry struct {
	base    *Registry // asked after the registry's own; nil for the built-in one
	entries map[schema.GroupVersionResource]*Entry
	kinds   map[schema.GroupVersionKind]*Entry
	order   []*Entry

	defined atomic.Pointer[defined] // asked last; replaced as a whole
}

// Entry is one served version of a kind.
type Entry struct {
	*Kind
	Served  schema.GroupVersionKind
	Version *Version // nil if this is the stored version

	// Definition is what the kind was defined by; nil if it was registered.
	Definition *Definition
}

// Definition says which CustomResourceDefinition a kind has come from.
type Definition struct {
	Name        string // of the definition
	Storage     string // the version in which objects are stored
	Terminating bool   // the definition is being deleted: nothing new may be created
	Since       uint64 // objects up to this revision may have been written under another schema
}

// Resource returns the group, version and plural that are served.
func (e *Entry) Resource() schema.GroupVersionResource {
	return e.Served.GroupVersion().WithResource(e.Plural)
}

// builtin is compiled once: it takes a millisecond, and a simulation makes many
// servers.
var builtin = sync.OnceValue(func() *Registry {
	r := newRegistry(nil)
	for _, k := range Builtin() {
		if err := r.Register(k); err != nil {
			panic(err)
		}
	}
	return r
})

// New returns a registry of the built-in kinds.
func New() *Registry { return newRegistry(builtin()) }

func newRegistry(base *Registry) *Registry {
	return &Registry{
		base:    base,
		entries: map[schema.GroupVersionResource]*Entry{},
		kinds:   map[schema.GroupVersionKind]*Entry{},
	}
}

// Register adds a kind. It fails if the kind or its resource is there already,
// or if it lacks a name.
func (r *Registry) Register(k *Kind) error {
	if k.Kind == "" || k.GroupVersionKind.Version == "" || k.Plural == "" {
		return fmt.Errorf("register %v: kind, version and plural are required", k.GroupVersionKind)
	}
	k.complete()
	if err := r.add(&Entry{Kind: k, Served: k.GroupVersionKind}); err != nil {
		return err
	}
	for i := range k.Versions {
		v := &k.Versions[i]
		if err := r.add(&Entry{Kind: k, Served: v.GroupVersionKind, Version: v}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) add(e *Entry) error {
	gvr := e.Resource()
	if _, ok := r.Lookup(gvr); ok {
		return fmt.Errorf("register %v: the resource %s exists", e.Served, gvr.String())
	}
	if _, ok := r.LookupKind(e.Served); ok {
		return fmt.Errorf("register %v: the kind exists", e.Served)
	}
	r.entries[gvr] = e
	r.kinds[e.Served] = e
	r.order = append(r.order, e)
	return nil
}

// Lookup returns what is served under a resource.
func (r *Registry) Lookup(gvr schema.GroupVersionResource) (*Entry, bool) {
	e, ok := r.entries[gvr]
	if !ok && r.base != nil {
		if e, ok = r.base.Lookup(gvr); !ok {
			e, ok = r.definitions().entries[gvr]
		}
	}
	return e, ok
}

// LookupKind returns what is served under a kind.
func (r *Registry) LookupKind(gvk schema.GroupVersionKind) (*Entry, bool) {
	e, ok := r.kinds[gvk]
	if !ok && r.base != nil {
		if e, ok = r.base.LookupKind(gvk); !ok {
			e, ok = r.definitions().kinds[gvk]
		}
	}
	return e, ok
}

// Entries returns everything that is served, sorted by group, version and
// plural.
func (r *Registry) Entries() []*Entry {
	out := append([]*Entry(nil), r.order...)
	if r.base != nil {
		out = append(out, r.base.order...)
		for _, e := range r.definitions().order {
			if known, ok := r.Lookup(e.Resource()); ok && known == e { // not hidden by another
				out = append(out, e)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].Resource(), out[j].Resource()
		if a.Group != b.Group {
			return a.Group < b.Group
		}
		if a.Version != b.Version {
			return a.Version < b.Version
		}
		return a.Resource < b.Resource
	})
	return out
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys
}
