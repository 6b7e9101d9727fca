package shape

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Part is one top-level field of a kind, by its name in JSON. The zero Part is
// a field that the kind does not have: always equal, nothing to share.
type Part struct {
	name   string
	shape  *Shape // nil for unstructured kinds
	typ    reflect.Type
	from   uintptr
	leaves []leaf
}

// Part returns the top-level field called name, or the zero Part. A nil shape
// gives the part of unstructured objects.
func (s *Shape) Part(name string) Part {
	if s == nil {
		return Part{name: name}
	}
	for i := range s.typ.NumField() {
		f := s.typ.Field(i)
		if n, _ := jsonName(f); n != name {
			continue
		}
		p := Part{name: name, shape: s, typ: f.Type, from: f.Offset}
		for _, l := range s.leaves {
			if l.top == i {
				p.leaves = append(p.leaves, l)
			}
		}
		return p
	}
	return Part{}
}

// Exists reports whether the kind has the field.
func (p Part) Exists() bool { return p.name != "" }

// Equal reports whether a and b would be stored with the same bytes here.
func (p Part) Equal(a, b runtime.Object) bool {
	if p.name == "" {
		return true
	}
	if p.shape == nil {
		x, inA := a.(*unstructured.Unstructured).Object[p.name]
		y, inB := b.(*unstructured.Unstructured).Object[p.name]
		return inA == inB && equalJSON(x, y)
	}
	x, y := p.shape.pointer(a), p.shape.pointer(b)
	for i := range p.leaves {
		if l := &p.leaves[i]; !l.ops.equal(add(x, l.offset), add(y, l.offset)) {
			return false
		}
	}
	return true
}

// Share makes dst's field that of src. The memory below is shared: afterwards
// it is read-only in both.
func (p Part) Share(dst, src runtime.Object) {
	if p.name == "" {
		return
	}
	if p.shape == nil {
		d := dst.(*unstructured.Unstructured).Object
		if v, ok := src.(*unstructured.Unstructured).Object[p.name]; ok {
			d[p.name] = v
		} else {
			delete(d, p.name)
		}
		return
	}
	d, f := p.shape.pointer(dst), p.shape.pointer(src)
	for i := range p.leaves {
		p.leaves[i].set(d, f)
	}
}

// Clear removes the field's content.
func (p Part) Clear(obj runtime.Object) {
	if p.name == "" {
		return
	}
	if p.shape == nil {
		delete(obj.(*unstructured.Unstructured).Object, p.name)
		return
	}
	reflect.NewAt(p.typ, add(p.shape.pointer(obj), p.from)).Elem().SetZero()
}

// IsZero reports whether the field has no content.
func (p Part) IsZero(obj runtime.Object) bool {
	if p.name == "" {
		return true
	}
	if p.shape == nil {
		_, ok := obj.(*unstructured.Unstructured).Object[p.name]
		return !ok
	}
	return reflect.NewAt(p.typ, add(p.shape.pointer(obj), p.from)).Elem().IsZero()
}

// Beside returns a function that reports whether two objects are equal in every
// top-level field other than kind, apiVersion, metadata and those named.
func (s *Shape) Beside(except ...string) func(a, b runtime.Object) bool {
	if s == nil {
		return func(a, b runtime.Object) bool {
			return equalBesideJSON(a.(*unstructured.Unstructured).Object, b.(*unstructured.Unstructured).Object, except)
		}
	}
	var compared []leaf
	for _, l := range s.leaves {
		f := s.typ.Field(l.top)
		name, _ := jsonName(f)
		if f.Type != typeMetaType && name != "metadata" && !contains(except, name) {
			compared = append(compared, l)
		}
	}
	return func(a, b runtime.Object) bool {
		x, y := s.pointer(a), s.pointer(b)
		for i := range compared {
			if l := &compared[i]; !l.ops.equal(add(x, l.offset), add(y, l.offset)) {
				return false
			}
		}
		return true
	}
}

var typeMetaType = reflect.TypeFor[metav1.TypeMeta]()

func equalBesideJSON(a, b map[string]any, except []string) bool {
	skip := func(k string) bool {
		return k == "apiVersion" || k == "kind" || k == "metadata" || contains(except, k)
	}
	for k, v := range a {
		if w, ok := b[k]; !skip(k) && (!ok || !equalJSON(v, w)) {
			return false
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok && !skip(k) {
			return false
		}
	}
	return true
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
