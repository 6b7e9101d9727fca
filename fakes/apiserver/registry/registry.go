package registry

import (
	"fmt"
	"sort"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Registry is the set of kinds that a server serves. It is not safe for
// concurrent registration; lookups may run at once with each other.
type Registry struct {
	entries map[schema.GroupVersionResource]*Entry
	kinds   map[schema.GroupVersionKind]*Entry
	groups  map[string]int
	order   []*Entry
}

// Entry is one served version of a kind.
type Entry struct {
	*Kind
	Served  schema.GroupVersionKind
	Version *Version // nil if this is the stored version
	Order   int      // of registration
}

// Resource returns the group, version and plural that are served.
func (e *Entry) Resource() schema.GroupVersionResource {
	return e.Served.GroupVersion().WithResource(e.Plural)
}

// New returns a registry of the given kinds.
func New(kinds ...*Kind) *Registry {
	r := &Registry{
		entries: map[schema.GroupVersionResource]*Entry{},
		kinds:   map[schema.GroupVersionKind]*Entry{},
		groups:  map[string]int{},
	}
	for _, k := range kinds {
		if err := r.Register(k); err != nil {
			panic(err)
		}
	}
	return r
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
	if _, ok := r.entries[gvr]; ok {
		return fmt.Errorf("register %v: the resource %s exists", e.Served, gvr.String())
	}
	if _, ok := r.kinds[e.Served]; ok {
		return fmt.Errorf("register %v: the kind exists", e.Served)
	}
	e.Order = len(r.order)
	r.entries[gvr] = e
	r.kinds[e.Served] = e
	r.order = append(r.order, e)
	if _, ok := r.groups[gvr.Group]; !ok {
		r.groups[gvr.Group] = len(r.groups)
	}
	return nil
}

// Lookup returns what is served under a resource.
func (r *Registry) Lookup(gvr schema.GroupVersionResource) (*Entry, bool) {
	e, ok := r.entries[gvr]
	return e, ok
}

// LookupKind returns what is served under a kind.
func (r *Registry) LookupKind(gvk schema.GroupVersionKind) (*Entry, bool) {
	e, ok := r.kinds[gvk]
	return e, ok
}

// HasGroup reports whether any resource of the group is served.
func (r *Registry) HasGroup(group string) bool { _, ok := r.groups[group]; return ok }

// Entries returns everything that is served, sorted by group, version and
// plural.
func (r *Registry) Entries() []*Entry {
	out := append([]*Entry(nil), r.order...)
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
