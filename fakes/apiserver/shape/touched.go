package shape

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Place is a part of an object that can be owned by itself, told by a hash of
// the way that leads there. Places of different shapes must not be mixed.
type Place uint64

// Touched appends to places those where a and b differ, in order and each once.
// With a place comes what holds it and may, by the kind's schema, have one owner
// as a whole; so changes by two managers without a place in common do not
// concern each other. Replaced says that every place holds a value in both
// objects, so that nothing came or went. Clear is false when it is hard to tell;
// then the rest means nothing.
//
// Both objects must be stored ones: of the shape's type and normalised.
func (s *Shape) Touched(a, b runtime.Object, places []Place) (touched []Place, replaced, clear bool) {
	d := difference{places: places, replaced: true, clear: true}
	if s == nil {
		d.object(a.(*unstructured.Unstructured).Object, b.(*unstructured.Unstructured).Object)
	} else {
		pa, pb := s.pointer(a), s.pointer(b)
		for i := 0; i < len(s.leaves) && d.clear; i++ {
			d.leaf(&s.leaves[i], pa, pb)
		}
	}
	slices.Sort(d.places)
	return slices.Compact(d.places), d.replaced, d.clear
}

const origin Place = 14695981039346656037 // FNV-1a, as all of it

// below returns the place of that name in p.
func (p Place) below(name string) Place {
	for i := range len(name) {
		p = (p ^ Place(name[i])) * 1099511628211
	}
	return (p ^ 0xff) * 1099511628211 // so that "a", "b" is not "ab"
}

// index returns the i-th place in p.
func (p Place) index(i int) Place {
	for range 4 {
		p = (p ^ Place(i&0xff)) * 1099511628211
		i >>= 8
	}
	return p
}

// placeOf returns the place of a leaf of type t, and what it is in, that may
// have one owner as a whole. Built-in kinds have no such thing directly below
// their top level, where metadata, spec and status are; in custom resources only
// their metadata and what is at the top is known to have none.
func placeOf(enc Encoding, object, t reflect.Type, path []int) (place, around Place) {
	places := make([]Place, len(path))
	place = origin
	for i, step := range path {
		place = place.index(step)
		places[i] = place
	}
	inMetadata := object.Field(path[0]).Type == objectMetaType
	switch {
	case len(path) == 1 && (t == stringsType || t == bytesType):
		return place, 0 // data
	case len(path) == 2 && inMetadata && t == stringsType:
		return place, 0 // labels, annotations
	case enc == JSON && !inMetadata && (len(path) > 1 || !isLeaf(t)):
		return place, places[0]
	case len(path) > 2 || !isLeaf(t):
		return place, places[min(1, len(path)-1)]
	default:
		return place, 0
	}
}

// difference is what is known of two objects.
type difference struct {
	places          []Place
	replaced, clear bool
}

func (d *difference) touch(p Place, before, after bool) {
	d.places = append(d.places, p)
	d.replaced = d.replaced && before && after
}

func (d *difference) leaf(l *leaf, a, b unsafe.Pointer) {
	if l.identity {
		return
	}
	va, vb := add(a, l.offset), add(b, l.offset)
	if l.ops.same(va, vb) || l.ops.equal(va, vb) {
		return
	}
	if l.around != 0 {
		d.places = append(d.places, l.around)
	}
	d.differ(l.place, l.at(a), l.at(b), l.mergeKey, l.whole)
}

// differ looks at two values that are not equal.
func (d *difference) differ(p Place, a, b reflect.Value, mergeKey string, whole bool) {
	switch {
	case whole, isLeaf(a.Type()):
		d.touch(p, filled(a), filled(b))
		return
	case !filled(a) || !filled(b):
		d.clear = false // something came or went as a whole
		return
	}
	switch a.Kind() {
	case reflect.Pointer:
		d.fields(p, a.Elem(), b.Elem())
	case reflect.Struct:
		d.fields(p, a, b)
	case reflect.Map:
		d.members(p, a, b)
	case reflect.Slice:
		if d.clear = aligned(a, b, mergeKey); !d.clear {
			return
		}
		for i := 0; i < a.Len() && d.clear; i++ {
			d.value(p.index(i), a.Index(i), b.Index(i), "")
		}
	default:
		d.clear = false
	}
}

func (d *difference) value(p Place, a, b reflect.Value, mergeKey string) {
	if !equalValues(a, b) {
		d.differ(p, a, b, mergeKey, false)
	}
}

func (d *difference) fields(p Place, a, b reflect.Value) {
	if a.Kind() != reflect.Struct {
		d.clear = false
		return
	}
	for i := 0; i < a.NumField() && d.clear; i++ {
		f := a.Type().Field(i)
		if !f.IsExported() {
			d.clear = false
			return
		}
		d.value(p.index(i), a.Field(i), b.Field(i), mergeKeyOf(f))
	}
}

// members looks at maps of texts and bytes; others are rare.
func (d *difference) members(p Place, a, b reflect.Value) {
	switch {
	case !a.CanAddr() || !b.CanAddr():
		d.clear = false
	case a.Type() == stringsType:
		differentMembers(d, p, in[string](a), in[string](b), func(x, y string) bool { return x == y })
	case a.Type() == bytesType:
		differentMembers(d, p, in[[]byte](a), in[[]byte](b), bytes.Equal)
	default:
		d.clear = false
	}
}

func differentMembers[V any](d *difference, p Place, a, b map[string]V, equal func(V, V) bool) {
	names := slices.Concat(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	slices.Sort(names)
	for _, k := range slices.Compact(names) {
		va, inA := a[k]
		vb, inB := b[k]
		if inA != inB || !equal(va, vb) {
			d.touch(p.below(k), inA, inB)
		}
	}
}

// object looks at two unstructured objects.
func (d *difference) object(a, b map[string]any) {
	for _, name := range union(a, b, nil) {
		p := origin.below(name)
		va, vb := a[name], b[name]
		switch {
		case name == "kind" || name == "apiVersion" || reflect.DeepEqual(va, vb):
		case name == "metadata":
			d.metadata(p, va, vb)
		default:
			_, parts := va.(map[string]any)
			if parts {
				d.places = append(d.places, p)
			}
			d.member(p, va, vb)
		}
	}
}

func (d *difference) metadata(p Place, a, b any) {
	ma, isA := a.(map[string]any)
	mb, isB := b.(map[string]any)
	if !isA || !isB {
		d.clear = false
		return
	}
	for _, name := range union(ma, mb, nil) {
		if !identityJSON[name] {
			d.member(p.below(name), ma[name], mb[name])
		}
	}
}

// member looks at any two values of an unstructured object.
func (d *difference) member(p Place, a, b any) {
	ma, isA := a.(map[string]any)
	mb, isB := b.(map[string]any)
	switch {
	case isA && isB && len(ma) > 0 && len(mb) > 0:
		for _, name := range union(ma, mb, nil) {
			d.member(p.below(name), ma[name], mb[name])
		}
	case reflect.DeepEqual(a, b):
	case isA || isB || isList(a) || isList(b):
		d.clear = false // items of a list may have owners of their own
	default:
		d.touch(p, a != nil, b != nil)
	}
}
