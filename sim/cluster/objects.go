package cluster

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// objects is the content of a cache: objects by name, and in order of namespace
// and name. Most caches of a big simulation hold a handful of objects, so few
// objects are kept in a sorted slice, many in a map beside it.
type objects struct {
	sorted []Object
	stale  bool // sorted is to be made again from byName
	byName map[types.NamespacedName]Object
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
		old = s.byName[k]
		s.byName[k] = o
		s.stale = true
		return old
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

// remove takes the object of that name out and returns it, or nil.
func (s *objects) remove(k types.NamespacedName) (old Object) {
	if s.byName != nil {
		old = s.byName[k]
		delete(s.byName, k)
		s.stale = true
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
	if s.stale {
		s.stale = false
		s.sorted = make([]Object, 0, len(s.byName))
		for _, o := range s.byName { // sorted next
			s.sorted = append(s.sorted, o)
		}
		slices.SortFunc(s.sorted, compare)
	}
	return s.sorted
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
