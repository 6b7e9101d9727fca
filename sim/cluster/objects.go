package cluster

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// objects is the content of a cache: objects by name, and in order of namespace
// and name. Most caches of a big simulation hold a handful of objects, so few
// objects are kept in a sorted slice, many in a map beside it. Of many, updates go
// into the slice at once; what comes and goes waits until somebody wants the order.
type objects struct {
	sorted []Object
	byName map[types.NamespacedName]Object // nil for few
	added  []Object                        // not in sorted yet
	dead   bool                            // sorted or added hold what is not in byName
}

// fewObjects is up to how many objects live in the slice alone.
const fewObjects = 16

func (s *objects) len() int {
	if s.byName != nil {
		return len(s.byName)
	}
	return len(s.sorted)
}

// get returns the object of that name, or nil.
func (s *objects) get(k types.NamespacedName) Object {
	if s.byName != nil {
		return s.byName[k]
	}
	if i := s.scan(k); i >= 0 {
		return s.sorted[i]
	}
	return nil
}

// scan returns where the object of that name is in the slice, or -1. For so few
// it is faster than a search.
func (s *objects) scan(k types.NamespacedName) int {
	for i, o := range s.sorted {
		if o.GetName() == k.Name && o.GetNamespace() == k.Namespace {
			return i
		}
	}
	return -1
}

// set puts o in and returns what it replaces, or nil.
func (s *objects) set(o Object) (old Object) {
	k := nameOf(o)
	if s.byName != nil {
		return s.put(k, o)
	}
	if i := s.scan(k); i >= 0 {
		old, s.sorted[i] = s.sorted[i], o
		return old
	}
	i, _ := slices.BinarySearchFunc(s.sorted, o, compare)
	s.sorted = slices.Insert(s.sorted, i, o)
	if len(s.sorted) > fewObjects {
		s.index()
	}
	return nil
}

// put is set of many.
func (s *objects) put(k types.NamespacedName, o Object) (old Object) {
	old = s.byName[k]
	s.byName[k] = o
	if i, ok := slices.BinarySearchFunc(s.sorted, o, compare); ok {
		s.sorted[i] = o
		return old
	}
	s.dead = s.dead || old != nil // which is among the added
	s.added = append(s.added, o)
	return old
}

// remove takes the object of that name out and returns it, or nil.
func (s *objects) remove(k types.NamespacedName) (old Object) {
	if s.byName != nil {
		if old = s.byName[k]; old != nil {
			delete(s.byName, k)
			s.dead = true
		}
		return old
	}
	i := s.scan(k)
	if i < 0 {
		return nil
	}
	old = s.sorted[i]
	s.sorted = slices.Delete(s.sorted, i, i+1)
	return old
}

// reset makes list, which is sorted, the whole content.
func (s *objects) reset(list []Object) {
	*s = objects{sorted: list}
	if len(list) > fewObjects {
		s.index()
	}
}

func (s *objects) index() {
	s.byName = make(map[types.NamespacedName]Object, len(s.sorted))
	for _, o := range s.sorted {
		s.byName[nameOf(o)] = o
	}
}

// all returns the objects in order. The slice is good until the next change.
func (s *objects) all() []Object {
	if len(s.added) > 0 || s.dead {
		s.merge()
	}
	return s.sorted
}

// merge puts what was added into its place and takes out what has gone.
func (s *objects) merge() {
	if s.dead {
		gone := func(o Object) bool { return s.byName[nameOf(o)] != o }
		s.sorted = slices.DeleteFunc(s.sorted, gone)
		s.added = slices.DeleteFunc(s.added, gone)
	}
	slices.SortFunc(s.added, compare)
	s.added = slices.Compact(s.added) // what has come twice
	merged := make([]Object, 0, len(s.byName))
	for _, o := range s.sorted {
		for len(s.added) > 0 && compare(s.added[0], o) < 0 {
			merged, s.added = append(merged, s.added[0]), s.added[1:]
		}
		merged = append(merged, o)
	}
	s.sorted, s.added, s.dead = append(merged, s.added...), nil, false
}

// in returns the part of all in one namespace; empty means all.
func (s *objects) in(namespace string) []Object {
	list := s.all()
	if namespace == "" {
		return list
	}
	at := func(o Object, ns string) int { return cmp.Compare(o.GetNamespace(), ns) }
	lo, _ := slices.BinarySearchFunc(list, namespace, at)
	n, _ := slices.BinarySearchFunc(list[lo:], namespace, func(o Object, ns string) int {
		if o.GetNamespace() == ns {
			return -1
		}
		return 1
	})
	return list[lo : lo+n]
}

func compare(a, b Object) int {
	if c := cmp.Compare(a.GetNamespace(), b.GetNamespace()); c != 0 {
		return c
	}
	return cmp.Compare(a.GetName(), b.GetName())
}
