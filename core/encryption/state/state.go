package state

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is how the objects of one resource are written and read.
type Resource struct {
	schema.GroupResource

	// Write is the key that encrypts; nil for none: then objects are written as
	// they are.
	Write *Key

	// Read are the keys that decrypt, the newest first, Write among them. What is
	// not encrypted can always be read.
	Read []Key
}

// HasWriteKey reports whether there is a key that objects are written with, which
// may be one of mode identity.
func (r *Resource) HasWriteKey() bool { return r.Write != nil && r.Write.Exists() }

// writes reports whether objects are written with k.
func (r *Resource) writes(k Key) bool { return r.HasWriteKey() && r.Write.Equal(k) }

// State is how the objects of all resources are written and read, in the order of
// Compare.
type State []Resource

// Compare orders resources: by group, then by name.
func Compare(a, b schema.GroupResource) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
}

// Find returns the entry of gr; nil if there is none.
func (s State) Find(gr schema.GroupResource) *Resource {
	i, ok := slices.BinarySearchFunc(s, gr, func(r Resource, gr schema.GroupResource) int { return Compare(r.GroupResource, gr) })
	if !ok {
		return nil
	}
	return &s[i]
}

// Resources returns the resources of s.
func (s State) Resources() []schema.GroupResource {
	grs := make([]schema.GroupResource, len(s))
	for i := range s {
		grs[i] = s[i].GroupResource
	}
	return grs
}

// ReadKeys returns all keys that some resource is read with, each once, the newest
// first.
func (s State) ReadKeys() []Key {
	var keys []Key
	for i := range s {
		for _, k := range s[i].Read {
			if !contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return NewestFirst(keys)
}

// Equal reports whether two states write and read everything with the same keys.
func (s State) Equal(o State) bool {
	return slices.EqualFunc(s, o, func(a, b Resource) bool {
		return a.GroupResource == b.GroupResource &&
			a.HasWriteKey() == b.HasWriteKey() && (!a.HasWriteKey() || a.Write.Equal(*b.Write)) &&
			slices.EqualFunc(a.Read, b.Read, Key.Equal)
	})
}

// WithGivenUp returns s, with the keys of those ids noted as given up, and no others.
func (s State) WithGivenUp(ids []uint64) State {
	out := s.clone()
	for i := range out {
		for j := range out[i].Read {
			k := &out[i].Read[j]
			k.GivenUp = slices.Contains(ids, k.ID)
		}
		if w := out[i].Write; w != nil {
			w.GivenUp = slices.Contains(ids, w.ID)
		}
	}
	return out
}

// FallBack returns s, with what is written with a key that is given up written with the
// key before instead, and whether there was such. All API servers read with that key: it
// was read before the other was written, and whoever writes with the other reads with it.
// A newer key may yet be unknown to some. If there is none, objects are written as they are.
func (s State) FallBack() (back State, changed bool) {
	back = s.clone()
	for i := range back {
		r := &back[i]
		if !r.HasWriteKey() || !r.Write.GivenUp {
			continue
		}
		given := *r.Write
		r.Write, changed = nil, true
		for _, k := range r.Read { // the newest first
			if k.ID < given.ID && !k.GivenUp {
				r.Write = &k
				break
			}
		}
	}
	return back, changed
}

// clone returns a copy whose entries may be changed.
func (s State) clone() State {
	out := slices.Clone(s)
	for i := range out {
		out[i].Read = slices.Clone(out[i].Read)
		if w := out[i].Write; w != nil {
			key := *w
			out[i].Write = &key
		}
	}
	return out
}

// Enriched returns s, with what keys say of those that are equal to them: keys
// that Secrets back.
func (s State) Enriched(keys []Key) State {
	enrich := func(k Key) Key {
		if i := slices.IndexFunc(keys, k.Equal); i >= 0 {
			return keys[i]
		}
		return k
	}
	out := s.clone()
	for i := range out {
		for j, k := range out[i].Read {
			out[i].Read[j] = enrich(k)
		}
		if w := out[i].Write; w != nil {
			*w = enrich(*w)
		}
	}
	return out
}
