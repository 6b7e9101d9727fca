package shape

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Assign makes dst the same as src without sharing memory with it. What is the
// same already is left alone, and nothing that dst points to is written: values
// that an earlier holder of dst's lists and maps sees do not change. So a client
// can bring the answer to a write into the object that was written and pay for
// no more than what the server changed.
func (s *Shape) Assign(dst, src runtime.Object) {
	if s == nil {
		d := dst.(*unstructured.Unstructured)
		d.Object = mergeJSON(src.(*unstructured.Unstructured).Object, d.Object, false)
		return
	}
	d, f := s.pointer(dst), s.pointer(src)
	s.copyLeaves(d, f, s.assign(d, f))
}

// Copy makes dst a deep copy of src if src has little below its own struct. If it
// has more, dst is untouched and the result false: then src.DeepCopyObject is the
// cheaper way to a copy.
func (s *Shape) Copy(dst, src runtime.Object) bool {
	if s == nil {
		return false
	}
	d, f := s.pointer(dst), s.pointer(src)
	for _, l := range s.refs {
		if l.ops.clone == nil && !l.empty(f) {
			return false
		}
	}
	reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem())
	for _, l := range s.refs {
		if !l.empty(f) {
			l.ops.clone(add(d, l.offset), add(f, l.offset), nil)
		}
	}
	return true
}

// assign does what Assign promises and returns the leaves that are left for
// copyLeaves.
func (s *Shape) assign(d, f unsafe.Pointer) (differ []*leaf) {
	for i := range s.leaves {
		l := &s.leaves[i]
		to, from := add(d, l.offset), add(f, l.offset)
		switch l.kind {
		case text:
			*(*string)(to) = *(*string)(from)
			continue
		case byte1:
			*(*uint8)(to) = *(*uint8)(from)
			continue
		case byte4:
			*(*uint32)(to) = *(*uint32)(from)
			continue
		case byte8:
			*(*uint64)(to) = *(*uint64)(from)
			continue
		case pointer, table:
			if *(*unsafe.Pointer)(to) == *(*unsafe.Pointer)(from) {
				continue
			}
		case list:
			if *(*unsafe.Pointer)(to) == nil && *(*unsafe.Pointer)(from) == nil {
				continue
			}
		case other:
		}
		switch {
		case l.scalar:
			l.move(to, from)
		case !l.ops.same(to, from):
			differ = l.copyOrKeep(d, f, nil, differ)
		}
	}
	return differ
}

// Derive returns a new object that is the same as src, shares with base what is
// the same there, and nothing with src. Base must never change. What the new
// object shares must not change either: fields may be replaced, but nothing may
// be written through the pointers, lists and maps that it holds.
func (s *Shape) Derive(src, base runtime.Object) runtime.Object {
	if s == nil {
		from, over := src.(*unstructured.Unstructured), base.(*unstructured.Unstructured)
		out := mergeJSON(from.Object, over.Object, true)
		own(out)
		return &unstructured.Unstructured{Object: out}
	}
	v := reflect.New(s.typ)
	d, f, b := v.UnsafePointer(), s.pointer(src), s.pointer(base)
	v.Elem().Set(reflect.ValueOf(src).Elem())
	var differ []*leaf
	for _, l := range s.refs {
		switch {
		case l.empty(f):
		case l.ops.same(add(f, l.offset), add(b, l.offset)):
			l.share(d, b)
		default:
			differ = l.copyOrKeep(d, f, b, differ)
		}
	}
	s.copyLeaves(d, f, differ)
	return v.Interface().(runtime.Object)
}

// Adopt makes obj share with base what is the same in both, so that obj's own
// memory for it can go. What Derive says of sharing holds afterwards.
func (s *Shape) Adopt(obj, base runtime.Object) {
	if s == nil {
		o := obj.(*unstructured.Unstructured)
		adoptJSON(o.Object, base.(*unstructured.Unstructured).Object)
		own(o.Object)
		return
	}
	o, b := s.pointer(obj), s.pointer(base)
	for _, l := range s.refs {
		if !l.empty(o) && !(l.told && l.empty(b)) && l.ops.same(add(o, l.offset), add(b, l.offset)) {
			l.share(o, b)
		}
	}
}

// empty reports whether the leaf of the struct at p refers to nothing.
func (l *leaf) empty(p unsafe.Pointer) bool {
	// Pointers, lists and maps start with a pointer.
	return l.kind >= pointer && *(*unsafe.Pointer)(add(p, l.offset)) == nil
}

// copyOrKeep copies the leaf of the struct at f into that at d, or keeps it in the
// list for copyLeaves. The copy may share with the struct at base, if there is one.
func (l *leaf) copyOrKeep(d, f, base unsafe.Pointer, list []*leaf) []*leaf {
	if l.ops.clone == nil {
		return append(list, l)
	}
	if base != nil {
		base = add(base, l.offset)
	}
	l.ops.clone(add(d, l.offset), add(f, l.offset), base)
	return list
}

// copyLeaves gives the struct at d copies of some leaves of the one at f. They are
// copied by the type's own DeepCopyObject, from an object that has nothing else.
func (s *Shape) copyLeaves(d, f unsafe.Pointer, leaves []*leaf) {
	if len(leaves) == 0 {
		return
	}
	part := reflect.New(s.typ)
	for _, l := range leaves {
		l.set(part.UnsafePointer(), f)
	}
	fresh := s.pointer(part.Interface().(runtime.Object).DeepCopyObject())
	for _, l := range leaves {
		l.set(d, fresh)
	}
}

// set assigns the leaf of the struct at from to that at to.
func (l *leaf) set(to, from unsafe.Pointer) {
	l.move(add(to, l.offset), add(from, l.offset))
}

// share is set, with lists cut so that appending to one makes a new one.
func (l *leaf) share(to, from unsafe.Pointer) {
	l.set(to, from)
	if l.typ.Kind() == reflect.Slice {
		s := (*sliceHeader)(add(to, l.offset))
		s.cap = s.len
	}
}

// mover returns a function that assigns values of type t. The common types are
// assigned as what they are, since reflection looks up a type for every value.
func mover(t reflect.Type) func(to, from unsafe.Pointer) {
	switch t {
	case timeType, microTimeType:
		return moveAs[time.Time]
	case quantityType:
		return moveAs[resource.Quantity]
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Map:
		return moveAs[unsafe.Pointer]
	case reflect.Slice:
		return moveAs[sliceHeader]
	case reflect.String:
		return moveAs[string]
	case reflect.Bool:
		return moveAs[bool]
	case reflect.Int32, reflect.Uint32:
		return moveAs[int32]
	case reflect.Int64, reflect.Int, reflect.Uint64, reflect.Uint:
		return moveAs[int64]
	}
	return func(to, from unsafe.Pointer) {
		reflect.NewAt(t, to).Elem().Set(reflect.NewAt(t, from).Elem())
	}
}

func moveAs[T any](to, from unsafe.Pointer) { *(*T)(to) = *(*T)(from) }

func add(p unsafe.Pointer, offset uintptr) unsafe.Pointer { return unsafe.Add(p, offset) }

// mergeJSON returns a map equal to src that takes from base the values that are
// equal there, and copies the others. Without sharing, base is the holder's own
// and its equal values are kept; either way the map itself is new.
func mergeJSON(src, base map[string]any, deep bool) map[string]any {
	out := make(map[string]any, len(src))
	for k, v := range src {
		old, ok := base[k]
		inner, isMap := v.(map[string]any)
		below, wasMap := old.(map[string]any)
		switch {
		case ok && equalJSON(v, old):
			out[k] = old
		case deep && isMap && wasMap:
			out[k] = mergeJSON(inner, below, deep)
		default:
			out[k] = runtime.DeepCopyJSONValue(v)
		}
	}
	return out
}

func adoptJSON(obj, base map[string]any) {
	for k, v := range obj {
		if old, ok := base[k]; ok && equalJSON(v, old) {
			obj[k] = old
		} else if inner, isMap := v.(map[string]any); isMap {
			if below, wasMap := old.(map[string]any); wasMap {
				adoptJSON(inner, below)
			}
		}
	}
}

// own gives an object a metadata map of its own, as setters write into it.
func own(obj map[string]any) {
	if meta, ok := obj["metadata"].(map[string]any); ok {
		m := make(map[string]any, len(meta))
		for k, v := range meta {
			m[k] = v
		}
		obj["metadata"] = m
	}
}
