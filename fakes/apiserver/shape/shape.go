package shape

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Encoding says in which form a kind's objects are stored, which decides what
// survives a round trip.
type Encoding uint8

const (
	// Protobuf cannot tell nil from empty. Built-in kinds use it.
	Protobuf Encoding = iota

	// JSON keeps an empty list or map unless its field says omitempty. Custom
	// resources use it.
	JSON
)

// Shape is the compiled form of one Go struct type.
type Shape struct {
	typ    reflect.Type // the struct, not the pointer
	ops    *ops
	leaves []leaf
	refs   []*leaf // that are not scalar
	rooms  rooms
}

// leaf is a field that is not a struct walked field by field, or one that is
// treated as a whole. Nested structs are flattened into their leaves.
type leaf struct {
	top    int // index of the top-level field it belongs to
	offset uintptr
	typ    reflect.Type
	kind   cellKind
	ops    *ops
	move   func(to, from unsafe.Pointer)
	scalar bool // assignment is a copy

	identity bool   // metadata that only a server writes
	shown    bool   // JSON shows it even if it is empty
	told     bool   // the same, and it is a list, which may be empty or nil
	nulls    bool   // it is a map of byte strings, which JSON may say are null
	field    string // the top-level field it is below, in Go
	mergeKey string // of a list: what tells its items apart
	whole    bool   // a list whose items cannot be told apart
	place    Place
	around   Place // what may be owned as a whole and the leaf is in, or itself; 0 if none
}

type shapeKey struct {
	typ reflect.Type
	enc Encoding
}

var (
	cacheMu sync.Mutex
	cache   sync.Map // shapeKey → *Shape
)

// Of returns the shape of obj's type, or nil if obj is unstructured. It panics
// if obj is not a pointer to a struct.
func Of(obj runtime.Object, enc Encoding) *Shape {
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return nil
	}
	return OfType(reflect.TypeOf(obj), enc)
}

// OfType is Of for a pointer type.
func OfType(ptr reflect.Type, enc Encoding) *Shape {
	if ptr.Kind() != reflect.Pointer || ptr.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("shape: %v is not a pointer to a struct", ptr))
	}
	key := shapeKey{ptr.Elem(), enc}
	if s, ok := cache.Load(key); ok {
		return s.(*Shape)
	}
	cacheMu.Lock()
	defer cacheMu.Unlock()
	if s, ok := cache.Load(key); ok {
		return s.(*Shape)
	}
	c := &compiler{enc: enc, types: map[reflect.Type]*ops{}}
	s := &Shape{typ: key.typ, ops: c.compile(key.typ)}
	s.flatten(c, key.typ, 0, nil)
	for i := range s.leaves {
		if l := &s.leaves[i]; !l.scalar {
			s.refs = append(s.refs, l)
		}
	}
	cache.Store(key, s)
	return s
}

// flatten appends the leaves of the struct type t, which starts at base and at
// the end of path.
func (s *Shape) flatten(c *compiler, t reflect.Type, base uintptr, path []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		path := append(path[:len(path):len(path)], i)
		if f.Type.Kind() == reflect.Struct && !special(f.Type) {
			s.flatten(c, f.Type, base+f.Offset, path)
			continue
		}
		l := leaf{
			top: path[0], offset: base + f.Offset, typ: f.Type, kind: kindOf(f.Type),
			ops: c.compileField(f), move: mover(f.Type), scalar: isScalar(f.Type),
			mergeKey: mergeKeyOf(f), field: s.typ.Field(path[0]).Name,
		}
		l.place, l.around = placeOf(c.enc, s.typ, f.Type, path)
		l.identity = t == objectMetaType && identity[f.Name] || t == typeMetaType
		_, omitted := jsonName(f)
		l.shown = !omitted || f.Type.Kind() == reflect.Struct // a time is shown as null
		l.told = f.Type.Kind() == reflect.Slice && !omitted
		l.nulls = f.Type == bytesMapType
		l.whole = c.enc == Protobuf && l.mergeKey == "" && f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct
		s.leaves = append(s.leaves, l)
	}
}

// Equal reports whether a and b, both of the shape's type, would be stored as
// the same bytes. A nil shape compares unstructured objects.
func (s *Shape) Equal(a, b runtime.Object) bool {
	if s == nil {
		return equalJSON(a.(*unstructured.Unstructured).Object, b.(*unstructured.Unstructured).Object)
	}
	return s.ops.equal(s.pointer(a), s.pointer(b))
}

// Same reports whether a and b are the same in every detail, down to nil
// against empty and the location of times.
func (s *Shape) Same(a, b runtime.Object) bool {
	if s == nil {
		return equalJSON(a.(*unstructured.Unstructured).Object, b.(*unstructured.Unstructured).Object)
	}
	return s.ops.same(s.pointer(a), s.pointer(b))
}

// Normalize changes obj into what would be read back after storing it. It
// writes only where something changes.
func (s *Shape) Normalize(obj runtime.Object) {
	if s != nil && s.ops.normalize != nil {
		s.ops.normalize(s.pointer(obj))
	}
}

func (s *Shape) pointer(obj runtime.Object) unsafe.Pointer {
	v := reflect.ValueOf(obj)
	if v.Type().Elem() != s.typ {
		panic(fmt.Sprintf("shape: got a %v where a *%v belongs", v.Type(), s.typ))
	}
	return v.UnsafePointer()
}

// ShallowCopy returns a copy of obj whose own metadata can be changed without
// changing obj. Everything below is shared, so both must be treated as
// read-only apart from what is assigned to the copy's metadata fields.
func ShallowCopy(obj runtime.Object) runtime.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		top := make(map[string]any, len(u.Object))
		for k, v := range u.Object {
			top[k] = v
		}
		if meta, ok := top["metadata"].(map[string]any); ok {
			m := make(map[string]any, len(meta))
			for k, v := range meta {
				m[k] = v
			}
			top["metadata"] = m
		}
		return &unstructured.Unstructured{Object: top}
	}
	v := reflect.ValueOf(obj)
	if f, ok := v.Type().Elem().FieldByName("ObjectMeta"); !ok || f.Type != objectMetaType {
		return obj.DeepCopyObject() // metadata held by pointer, or by methods of its own
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	return c.Interface().(runtime.Object)
}

var objectMetaType = reflect.TypeFor[metav1.ObjectMeta]()

// jsonName returns the field's name in JSON, and whether empty values are left
// out. The name is empty for an inlined or hidden field.
func jsonName(f reflect.StructField) (name string, omitEmpty bool) {
	tag, ok := f.Tag.Lookup("json")
	if !ok {
		return f.Name, false
	}
	name, rest, _ := strings.Cut(tag, ",")
	if name == "-" {
		return "", true
	}
	omitEmpty = strings.Contains(rest, "omitempty") || strings.Contains(rest, "omitzero")
	if name == "" && !f.Anonymous {
		name = f.Name
	}
	return name, omitEmpty
}
