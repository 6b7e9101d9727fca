package apiserver

import (
	"maps"
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
)

// Resource describes a served resource, for discovery and for clients that map
// kinds to resources.
type Resource struct {
	Group, Version   string
	Plural, Singular string
	Kind, ListKind   string
	Stored           schema.GroupVersionKind // what objects are kept as
	Namespaced       bool
	Custom           bool
	Typed            bool // objects are of a Go type
	Verbs            []string
	ShortNames       []string
	Categories       []string
	Subresources     []Subresource

	// Defined says that a CustomResourceDefinition defines it, so that it may change
	// and go.
	Defined bool

	// Deprecation is a warning that comes with every answer; empty means none.
	Deprecation string

	// Terminating says that the definition of a custom resource is being deleted:
	// its objects can be read and deleted, but not written any more.
	Terminating bool
}

// Subresource describes a subresource of a resource.
type Subresource struct {
	Name  string
	Kind  schema.GroupVersionKind // of what it takes and answers
	Verbs []string
}

// GVK returns the resource's kind.
func (r *Resource) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

// GVR returns the resource's name.
func (r *Resource) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
}

// Resources returns everything that is served, sorted by group, version and
// plural.
func (st *Store) Resources() []Resource {
	entries := st.kinds.Entries()
	out := make([]Resource, 0, len(entries))
	for _, e := range entries {
		if !e.Refused {
			out = append(out, describe(e))
		}
	}
	return out
}

// Lookup describes one resource. The description is shared: read-only.
func (st *Store) Lookup(gvr schema.GroupVersionResource) (*Resource, bool) {
	return st.described(st.kinds.Lookup(gvr))
}

// described returns the description of an entry, which is made once.
func (st *Store) described(e *registry.Entry, ok bool) (*Resource, bool) {
	if !ok {
		return nil, false
	}
	if known, made := st.resources.Load(e); made {
		return known.(*Resource), true
	}
	r := describe(e)
	known, _ := st.resources.LoadOrStore(e, &r)
	return known.(*Resource), true
}

// Schema returns the schema of a resource that a CustomResourceDefinition defines;
// nil for all others. It is immutable and safe for concurrent use.
func (st *Store) Schema(gvr schema.GroupVersionResource) registry.Schema {
	if e, ok := st.kinds.Lookup(gvr); ok {
		return e.Kind.Schema
	}
	return nil
}

// LookupKind describes the resource of a kind. The description is shared: read-only.
func (st *Store) LookupKind(gvk schema.GroupVersionKind) (*Resource, bool) {
	return st.described(st.kinds.LookupKind(gvk))
}

// Resources returns what the server serves.
func (s *Server) Resources() []Resource { return s.store.Resources() }

// Lookup describes one resource.
func (s *Server) Lookup(gvr schema.GroupVersionResource) (*Resource, bool) {
	return s.store.Lookup(gvr)
}

var (
	allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	subVerbs = []string{"get", "patch", "update"}
)

func describe(e *registry.Entry) Resource {
	r := Resource{
		Group: e.Served.Group, Version: e.Served.Version, Plural: e.Plural, Singular: e.Singular, Kind: e.Served.Kind, ListKind: e.ListKind,
		Namespaced: !e.Cluster, Custom: e.Custom, Typed: e.Typed(), Verbs: allVerbs,
		ShortNames: e.ShortNames, Categories: e.Categories,
		Stored: e.GroupVersionKind, Deprecation: e.Deprecation,
	}
	if e.Definition != nil {
		r.Stored.Version = e.Definition.Storage
		r.Defined, r.Terminating = true, e.Definition.Terminating
	}
	if e.Virtual != nil {
		r.Verbs = e.Virtual
	}
	if e.NoCollection {
		r.Verbs = nil
		for _, v := range allVerbs {
			if v != string(DeleteCollection) {
				r.Verbs = append(r.Verbs, v)
			}
		}
	}
	if e.Status != nil {
		r.Subresources = append(r.Subresources, Subresource{Name: "status", Kind: e.Served, Verbs: subVerbs})
	}
	if e.Scale != nil {
		r.Subresources = append(r.Subresources, Subresource{Name: "scale", Kind: scaleKind, Verbs: subVerbs})
	}
	extra := extraSubresources[e.GroupResource()]
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		sub := extra[name]
		r.Subresources = append(r.Subresources, Subresource{Name: name, Kind: sub.kind, Verbs: sub.verbs})
	}
	if e.Custom {
		return r // status before scale
	}
	sort.Slice(r.Subresources, func(i, j int) bool { return r.Subresources[i].Name < r.Subresources[j].Name })
	return r
}
