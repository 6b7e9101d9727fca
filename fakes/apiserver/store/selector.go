package store

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Field is a value that can be selected on, such as a Pod's spec.nodeName. Get
// must depend on nothing but the object. Fields with the same name in the same
// table must be the same.
type Field struct {
	Name string
	Get  func(Object) string
}

// Term demands that a field have a value, or with Not that it have any other.
type Term struct {
	Field *Field
	Value string
	Not   bool
}

// Selector narrows a list or a watch. The zero Selector selects everything.
type Selector struct {
	Namespace string          // empty: all
	Name      string          // empty: all
	Labels    labels.Selector // nil: all
	Terms     []Term          // all must hold
}

// matches reports whether the object at k is selected.
func (s *Selector) matches(k Key, obj Object) bool {
	if s.Namespace != "" && k.Namespace != s.Namespace || s.Name != "" && k.Name != s.Name {
		return false
	}
	for i := range s.Terms {
		if t := &s.Terms[i]; (t.Field.Get(obj) == t.Value) == t.Not {
			return false
		}
	}
	return s.Labels == nil || s.Labels.Matches(labelsOf(obj))
}

// onlyLabel returns the label and value that s asks for if it asks for nothing
// else but perhaps the namespace: such a selector is cheap to match.
func (s *Selector) onlyLabel() (key, value string, ok bool) {
	if s.Name != "" || len(s.Terms) > 0 || s.Labels == nil {
		return "", "", false
	}
	if reqs, selectable := s.Labels.Requirements(); !selectable || len(reqs) != 1 {
		return "", "", false
	}
	return s.exactLabel()
}

// everything reports whether s selects by nothing but the namespace.
func (s *Selector) wholeNamespace() bool {
	return s.Name == "" && s.Labels == nil && len(s.Terms) == 0
}

// exactLabel returns a label that every selected object must have with exactly
// this value.
func (s *Selector) exactLabel() (key, value string, ok bool) {
	if s.Labels == nil {
		return "", "", false
	}
	reqs, selectable := s.Labels.Requirements()
	if !selectable {
		return "", "", false
	}
	for _, r := range reqs {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals:
		case selection.In:
			if len(r.ValuesUnsorted()) != 1 {
				continue
			}
		default:
			continue
		}
		return r.Key(), r.ValuesUnsorted()[0], true
	}
	return "", "", false
}

// exactField returns a field that every selected object must have with exactly
// this value.
func (s *Selector) exactField() (*Term, bool) {
	for i := range s.Terms {
		if !s.Terms[i].Not {
			return &s.Terms[i], true
		}
	}
	return nil, false
}
