package shape

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// timeOps: a Time is stored in whole seconds, UTC.
var timeOps = &ops{
	equal: func(a, b unsafe.Pointer) bool {
		x, y := (*metav1.Time)(a), (*metav1.Time)(b)
		return x.Unix() == y.Unix()
	},
	same: func(a, b unsafe.Pointer) bool { return (*metav1.Time)(a).Time == (*metav1.Time)(b).Time },
	normalize: func(p unsafe.Pointer) {
		if t := (*metav1.Time)(p); !t.IsZero() {
			if c := cut(t.Time, time.Second); c != t.Time { // never write what may be shared
				t.Time = c
			}
		}
	},
}

// microTimeOps: a MicroTime is stored in microseconds, UTC.
var microTimeOps = &ops{
	equal: func(a, b unsafe.Pointer) bool {
		return (*metav1.MicroTime)(a).UnixMicro() == (*metav1.MicroTime)(b).UnixMicro()
	},
	same: func(a, b unsafe.Pointer) bool { return (*metav1.MicroTime)(a).Time == (*metav1.MicroTime)(b).Time },
	normalize: func(p unsafe.Pointer) {
		if t := (*metav1.MicroTime)(p); !t.IsZero() {
			if c := cut(t.Time, time.Microsecond); c != t.Time {
				t.Time = c
			}
		}
	},
}

// cut returns t in UTC, without a monotonic reading, in whole units. A value
// that is so already comes back unchanged, location included.
func cut(t time.Time, unit time.Duration) time.Time {
	if t.Location() == time.UTC && int64(t.Nanosecond())%int64(unit) == 0 && t == t.Round(0) {
		return t
	}
	return time.Unix(t.Unix(), int64(t.Nanosecond())/int64(unit)*int64(unit)).UTC()
}

// quantityOps: a Quantity is stored in canonical form, so only the amount and
// the family of suffixes count. JSON writes the canonical form anyway, so there
// is nothing to normalise.
var quantityOps = &ops{
	equal: func(a, b unsafe.Pointer) bool { return sameQuantity((*resource.Quantity)(a), (*resource.Quantity)(b)) },
	same:  func(a, b unsafe.Pointer) bool { return sameQuantity((*resource.Quantity)(a), (*resource.Quantity)(b)) },
}

func sameQuantity(x, y *resource.Quantity) bool {
	return (x.Format == y.Format || x.IsZero()) && x.Cmp(*y) == 0
}

// slice header, as far as the walk needs it.
type sliceHeader struct {
	data unsafe.Pointer
	len  int
	cap  int
}

func (c *compiler) slice(t reflect.Type) *ops {
	if t.Elem().Kind() == reflect.Uint8 {
		return bytesOps
	}
	elem, size := c.compile(t.Elem()), t.Elem().Size()
	each := func(eq func(a, b unsafe.Pointer) bool, x, y *sliceHeader) bool {
		if x.len != y.len {
			return false
		}
		if x.data == y.data {
			return true
		}
		for i := range uintptr(x.len) {
			if !eq(unsafe.Add(x.data, i*size), unsafe.Add(y.data, i*size)) {
				return false
			}
		}
		return true
	}
	var clone func(to, from, base unsafe.Pointer)
	if t.Elem().Kind() == reflect.String {
		clone = func(to, from, _ unsafe.Pointer) { *(*[]string)(to) = slices.Clone(*(*[]string)(from)) }
	}
	return &ops{
		clone: clone,
		equal: func(a, b unsafe.Pointer) bool { return each(elem.equal, (*sliceHeader)(a), (*sliceHeader)(b)) },
		same: func(a, b unsafe.Pointer) bool {
			x, y := (*sliceHeader)(a), (*sliceHeader)(b)
			return (x.data == nil) == (y.data == nil) && each(elem.same, x, y)
		},
		normalize: func(p unsafe.Pointer) {
			s := (*sliceHeader)(p)
			if s.len == 0 {
				if s.data != nil {
					*s = sliceHeader{}
				}
				return
			}
			if elem.normalize != nil {
				for i := range uintptr(s.len) {
					elem.normalize(unsafe.Add(s.data, i*size))
				}
			}
		},
	}
}

// bytesOps: an empty byte string is not the same as none (its JSON is "" and
// not null), but protobuf and omitempty cannot tell, so it compares equal and
// is left alone.
var bytesOps = &ops{
	clone: func(to, from, _ unsafe.Pointer) { *(*[]byte)(to) = bytes.Clone(*(*[]byte)(from)) },
	equal: func(a, b unsafe.Pointer) bool { return bytes.Equal(*(*[]byte)(a), *(*[]byte)(b)) },
	same: func(a, b unsafe.Pointer) bool {
		x, y := *(*[]byte)(a), *(*[]byte)(b)
		return (x == nil) == (y == nil) && bytes.Equal(x, y)
	},
}

func (c *compiler) mapping(t reflect.Type) *ops {
	switch t.Elem().Kind() {
	case reflect.String:
		if t.Key().Kind() == reflect.String {
			return stringMapOps
		}
	case reflect.Slice:
		if t.Key().Kind() == reflect.String && t.Elem().Elem().Kind() == reflect.Uint8 {
			return bytesMapOps
		}
	case reflect.Struct:
		if t.Key().Kind() == reflect.String && t.Elem() == quantityType {
			return quantityMapOps
		}
	}
	return c.reflectedMap(t)
}

// stringMapOps serve every map from a string type to a string type: they all
// have the layout of map[string]string.
var stringMapOps = &ops{
	clone: func(to, from, _ unsafe.Pointer) { *(*map[string]string)(to) = maps.Clone(*(*map[string]string)(from)) },
	equal: func(a, b unsafe.Pointer) bool {
		return equalMaps(*(*map[string]string)(a), *(*map[string]string)(b), func(x, y string) bool { return x == y })
	},
	same: func(a, b unsafe.Pointer) bool {
		x, y := *(*map[string]string)(a), *(*map[string]string)(b)
		return (x == nil) == (y == nil) && equalMaps(x, y, func(x, y string) bool { return x == y })
	},
	normalize: dropEmptyMap,
}

var bytesMapOps = &ops{
	clone: func(to, from, base unsafe.Pointer) {
		src := *(*map[string][]byte)(from)
		if src == nil {
			*(*map[string][]byte)(to) = nil
			return
		}
		var old map[string][]byte
		if base != nil {
			old = *(*map[string][]byte)(base)
		}
		m := make(map[string][]byte, len(src))
		for k, v := range src {
			if o, ok := old[k]; ok && o != nil && bytes.Equal(v, o) {
				m[k] = o
			} else {
				m[k] = bytes.Clone(v)
			}
		}
		*(*map[string][]byte)(to) = m
	},
	equal: func(a, b unsafe.Pointer) bool {
		return equalMaps(*(*map[string][]byte)(a), *(*map[string][]byte)(b), bytes.Equal)
	},
	same: func(a, b unsafe.Pointer) bool {
		x, y := *(*map[string][]byte)(a), *(*map[string][]byte)(b)
		return (x == nil) == (y == nil) && equalMaps(x, y, func(x, y []byte) bool {
			return (x == nil) == (y == nil) && bytes.Equal(x, y)
		})
	},
	normalize: func(p unsafe.Pointer) {
		dropEmptyMap(p)
		m := (*map[string][]byte)(p)
		if !hasNull(*m) {
			return
		}
		*m = maps.Clone(*m) // a draft may remember the old one
		for k, v := range *m {
			if v == nil {
				(*m)[k] = []byte{} // a key without a value has an empty one
			}
		}
	},
}

// quantityMapOps serve the lists of resources in pods and nodes.
var quantityMapOps = func() *ops {
	amount := func(x, y resource.Quantity) bool { return sameQuantity(&x, &y) }
	return &ops{
		equal: func(a, b unsafe.Pointer) bool {
			return equalMaps(*(*map[string]resource.Quantity)(a), *(*map[string]resource.Quantity)(b), amount)
		},
		same: func(a, b unsafe.Pointer) bool {
			x, y := *(*map[string]resource.Quantity)(a), *(*map[string]resource.Quantity)(b)
			return (x == nil) == (y == nil) && equalMaps(x, y, amount)
		},
		normalize: dropEmptyMap,
	}
}()

// dropEmptyMap works for every map type: all are one pointer.
func dropEmptyMap(p unsafe.Pointer) {
	if m := *(*map[string]struct{})(p); m != nil && len(m) == 0 {
		*(*unsafe.Pointer)(p) = nil
	}
}

func equalMaps[V any](x, y map[string]V, eq func(a, b V) bool) bool {
	if len(x) != len(y) {
		return false
	}
	for k, v := range x {
		if w, ok := y[k]; !ok || !eq(v, w) {
			return false
		}
	}
	return true
}

func (c *compiler) reflectedMap(t reflect.Type) *ops {
	elem := c.compile(t.Elem())
	each := func(eq func(a, b unsafe.Pointer) bool, a, b unsafe.Pointer) bool {
		if *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b) {
			return true
		}
		x, y := reflect.NewAt(t, a).Elem(), reflect.NewAt(t, b).Elem()
		if x.Len() != y.Len() {
			return false
		}
		v, w := reflect.New(t.Elem()), reflect.New(t.Elem())
		for it := x.MapRange(); it.Next(); {
			other := y.MapIndex(it.Key())
			if !other.IsValid() {
				return false
			}
			v.Elem().SetIterValue(it)
			w.Elem().Set(other)
			if !eq(v.UnsafePointer(), w.UnsafePointer()) {
				return false
			}
		}
		return true
	}
	return &ops{
		equal: func(a, b unsafe.Pointer) bool { return each(elem.equal, a, b) },
		same: func(a, b unsafe.Pointer) bool {
			return (*(*unsafe.Pointer)(a) == nil) == (*(*unsafe.Pointer)(b) == nil) && each(elem.same, a, b)
		},
		normalize: func(p unsafe.Pointer) {
			dropEmptyMap(p)
			if elem.normalize == nil || *(*unsafe.Pointer)(p) == nil {
				return
			}
			m := reflect.NewAt(t, p).Elem()
			v, was := reflect.New(t.Elem()), reflect.New(t.Elem())
			for it := m.MapRange(); it.Next(); {
				v.Elem().SetIterValue(it)
				was.Elem().Set(v.Elem())
				elem.normalize(v.UnsafePointer())
				if !elem.same(v.UnsafePointer(), was.UnsafePointer()) {
					m.SetMapIndex(it.Key(), v.Elem())
				}
			}
		},
	}
}
