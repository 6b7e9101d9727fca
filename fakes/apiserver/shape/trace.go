package shape

import (
	"bytes"
	"maps"
	"reflect"
	"strings"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// identity are the parts of metadata that only a server writes, and that say
// nothing about what a write did.
var identity = map[string]bool{
	"Name": true, "Namespace": true, "SelfLink": true, "UID": true, "ResourceVersion": true,
	"Generation": true, "CreationTimestamp": true, "ManagedFields": true,
}

// Onward reports whether the way from a over b to c can be told from c and a
// alone: each step sets something to a value, and no part that the first step
// changes is changed back by the second. A nil a means that b is new; then parts
// may change back and forth, and b must hold something beside its status.
//
// When it is hard to tell the answer is no. All three objects must be stored ones:
// of the shape's type and normalised.
func (s *Shape) Onward(a, b, c runtime.Object) bool {
	w := way{}
	if s == nil {
		var from map[string]any
		if a != nil {
			from = a.(*unstructured.Unstructured).Object
		}
		return w.content(from, b.(*unstructured.Unstructured).Object, c.(*unstructured.Unstructured).Object)
	}
	pb, pc := s.pointer(b), s.pointer(c)
	var pa unsafe.Pointer
	if a != nil {
		pa = s.pointer(a)
	}
	for i := range s.leaves {
		l := &s.leaves[i]
		if l.identity {
			continue
		}
		vb, vc := add(pb, l.offset), add(pc, l.offset)
		moved := !l.ops.same(vb, vc) && !l.ops.equal(vb, vc)
		if pa == nil {
			w.first = w.first || l.field != "Status" && filled(l.at(pb))
			w.second = w.second || moved && l.grew(pb, pc)
			if l.shown && moved && !filled(l.at(pc)) {
				return false // to set it to nothing is not the same as never to have set it
			}
			continue
		}
		va := add(pa, l.offset)
		if !moved && w.first {
			continue
		}
		before := !l.ops.same(va, vb) && !l.ops.equal(va, vb)
		switch {
		case before && moved:
			if !w.twice(l.at(pa), l.at(pb), l.at(pc), l.mergeKey, l.whole) {
				return false
			}
		case before:
			w.first = w.first || l.grew(pa, pb)
		case moved:
			w.second = w.second || l.grew(pb, pc)
		}
	}
	return w.first && w.second
}

// way is what is known about the way from one object over another to a third:
// whether its steps set something.
type way struct{ first, second bool }

func (l *leaf) at(object unsafe.Pointer) reflect.Value {
	return reflect.NewAt(l.typ, add(object, l.offset)).Elem()
}

func (l *leaf) grew(from, to unsafe.Pointer) bool {
	return grew(l.at(from), l.at(to), l.mergeKey, l.whole)
}

// mergeKeyOf is the name of the field that tells the items of a list apart.
func mergeKeyOf(f reflect.StructField) string { return f.Tag.Get("patchMergeKey") }

// twice looks at a value that both steps have changed.
func (w *way) twice(a, b, c reflect.Value, mergeKey string, whole bool) bool {
	if equalValues(a, c) {
		return false
	}
	switch {
	case whole, isLeaf(a.Type()):
		w.first = w.first || filled(b)
		w.second = w.second || filled(c)
		return true
	case !filled(a) || !filled(b) || !filled(c):
		return false // something came or went as a whole
	}
	switch a.Kind() {
	case reflect.Pointer:
		return w.fields(a.Elem(), b.Elem(), c.Elem())
	case reflect.Struct:
		return w.fields(a, b, c)
	case reflect.Map:
		return w.members(a, b, c)
	case reflect.Slice:
		if !aligned(a, b, mergeKey) || !aligned(b, c, mergeKey) {
			return false
		}
		for i := range a.Len() {
			if !w.value(a.Index(i), b.Index(i), c.Index(i), "") {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// value looks at any value.
func (w *way) value(a, b, c reflect.Value, mergeKey string) bool {
	before, moved := !equalValues(a, b), !equalValues(b, c)
	switch {
	case before && moved:
		return w.twice(a, b, c, mergeKey, false)
	case before:
		w.first = w.first || grew(a, b, mergeKey, false)
	case moved:
		w.second = w.second || grew(b, c, mergeKey, false)
	}
	return true
}

func (w *way) fields(a, b, c reflect.Value) bool {
	if a.Kind() != reflect.Struct {
		return false
	}
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if !f.IsExported() {
			return false
		}
		if !w.value(a.Field(i), b.Field(i), c.Field(i), mergeKeyOf(f)) {
			return false
		}
	}
	return true
}

func (w *way) members(a, b, c reflect.Value) bool {
	if a.CanAddr() && b.CanAddr() && c.CanAddr() {
		switch a.Type() {
		case stringsType:
			return plainMembers(w, in[string](a), in[string](b), in[string](c), func(x, y string) bool { return x == y })
		case bytesType:
			return plainMembers(w, in[[]byte](a), in[[]byte](b), in[[]byte](c), bytes.Equal)
		}
	}
	for _, m := range []reflect.Value{a, b, c} {
		for keys := m.MapRange(); keys.Next(); {
			k := keys.Key()
			va, vb, vc := a.MapIndex(k), b.MapIndex(k), c.MapIndex(k)
			before, moved := !equalValues(va, vb), !equalValues(vb, vc)
			switch {
			case before && moved && equalValues(va, vc):
				return false
			case before && moved && vb.IsValid() && !isLeaf(vb.Type()):
				return false
			}
			w.first = w.first || before && vb.IsValid() && filled(vb)
			w.second = w.second || moved && vc.IsValid() && filled(vc)
		}
	}
	return true
}

// plainMembers is members for the most frequent types of maps.
func plainMembers[V any](w *way, a, b, c map[string]V, equal func(V, V) bool) bool {
	for _, keys := range [...]map[string]V{a, b, c} {
		for k := range keys {
			va, inA := a[k]
			vb, inB := b[k]
			vc, inC := c[k]
			before, moved := inA != inB || !equal(va, vb), inB != inC || !equal(vb, vc)
			if before && moved && inA == inC && equal(va, vc) {
				return false
			}
			w.first = w.first || before && inB
			w.second = w.second || moved && inC
		}
	}
	return true
}

func plainGrew[V any](a, b map[string]V, equal func(V, V) bool) bool {
	for k, v := range b {
		if old, ok := a[k]; !ok || !equal(old, v) {
			return true
		}
	}
	return false
}

var (
	stringsType = reflect.TypeFor[map[string]string]()
	bytesType   = reflect.TypeFor[map[string][]byte]()
)

func in[V any](v reflect.Value) map[string]V { return *(*map[string]V)(v.Addr().UnsafePointer()) }

// grew reports whether going from a to b, which differ, sets something to a value.
func grew(a, b reflect.Value, mergeKey string, whole bool) bool {
	switch {
	case !filled(b):
		return false
	case whole, isLeaf(b.Type()), !filled(a):
		return true
	}
	differ := func(a, b reflect.Value, mergeKey string) bool {
		return !equalValues(a, b) && grew(a, b, mergeKey, false)
	}
	switch a.Kind() {
	case reflect.Pointer:
		return grew(a.Elem(), b.Elem(), "", false)
	case reflect.Struct:
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() && differ(a.Field(i), b.Field(i), mergeKeyOf(f)) {
				return true
			}
		}
	case reflect.Map:
		if a.CanAddr() && b.CanAddr() {
			switch a.Type() {
			case stringsType:
				return plainGrew(in[string](a), in[string](b), func(x, y string) bool { return x == y })
			case bytesType:
				return plainGrew(in[[]byte](a), in[[]byte](b), bytes.Equal)
			}
		}
		for keys := b.MapRange(); keys.Next(); {
			if differ(a.MapIndex(keys.Key()), keys.Value(), "") {
				return true
			}
		}
	case reflect.Slice:
		if !aligned(a, b, mergeKey) {
			return b.Len() > a.Len()
		}
		for i := range a.Len() {
			if differ(a.Index(i), b.Index(i), "") {
				return true
			}
		}
	}
	return false
}

// aligned reports whether two lists have the same items in the same places.
func aligned(a, b reflect.Value, mergeKey string) bool {
	if mergeKey == "" || a.Len() != b.Len() || a.Type().Elem().Kind() != reflect.Struct {
		return false
	}
	key := -1
	for i := range a.Type().Elem().NumField() {
		if name, _, _ := strings.Cut(a.Type().Elem().Field(i).Tag.Get("json"), ","); name == mergeKey {
			key = i
		}
	}
	if key < 0 {
		return false
	}
	for i := range a.Len() {
		if !equalValues(a.Index(i).Field(key), b.Index(i).Field(key)) {
			return false
		}
	}
	return true
}

// isLeaf reports whether values of t have no parts of their own.
func isLeaf(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		return isLeaf(t.Elem())
	}
	if t.Kind() == reflect.Slice {
		return t.Elem().Kind() == reflect.Uint8
	}
	return special(t) || isScalar(t)
}

// filled reports whether v is there, and not what is left out when it is encoded.
func filled(v reflect.Value) bool {
	if !v.IsValid() {
		return false
	}
	if k := v.Kind(); k == reflect.Slice || k == reflect.Map {
		return v.Len() > 0
	}
	return !v.IsZero()
}

func equalValues(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	switch a.Kind() { // what DeepEqual would have to be handed a copy of
	case reflect.String:
		return a.String() == b.String()
	case reflect.Map:
		if a.CanAddr() && b.CanAddr() {
			switch a.Type() {
			case stringsType:
				return maps.Equal(in[string](a), in[string](b))
			case bytesType:
				return maps.EqualFunc(in[[]byte](a), in[[]byte](b), bytes.Equal)
			}
		}
	case reflect.Bool, reflect.Int32, reflect.Int64:
		return a.Equal(b)
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
