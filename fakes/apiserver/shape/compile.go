package shape

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ops are the compiled operations on a value of one type, given its address.
type ops struct {
	equal     func(a, b unsafe.Pointer) bool // same bytes when stored
	same      func(a, b unsafe.Pointer) bool // same in every detail
	normalize func(p unsafe.Pointer)         // nil if there is nothing to do

	// clone assigns a deep copy, which may share with the value at base (if not
	// nil) what is the same there. Nil if that takes more than a few lines.
	clone func(to, from, base unsafe.Pointer)

	exact bool // nil and empty are not equal
}

type compiler struct {
	enc   Encoding
	types map[reflect.Type]*ops
}

// compile returns the operations on t. Types may be recursive, so an entry is
// made before its content is known.
func (c *compiler) compile(t reflect.Type) *ops {
	if o, ok := c.types[t]; ok {
		if o.equal != nil {
			return o
		}
		return &ops{ // t is being compiled further up
			equal:     func(a, b unsafe.Pointer) bool { return o.equal(a, b) },
			same:      func(a, b unsafe.Pointer) bool { return o.same(a, b) },
			normalize: func(p unsafe.Pointer) { o.run(p) },
		}
	}
	o := &ops{}
	c.types[t] = o
	*o = *c.build(t)
	return o
}

func (o *ops) run(p unsafe.Pointer) {
	if o.normalize != nil {
		o.normalize(p)
	}
}

// compileField is compile, minding that JSON keeps empty lists and maps where
// the tag does not say omitempty.
func (c *compiler) compileField(f reflect.StructField) *ops {
	o := c.compile(f.Type)
	if c.enc == Protobuf || (f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map) {
		return o
	}
	if _, omit := jsonName(f); omit {
		return o
	}
	kept := *o
	kept.exact = true
	kept.equal = func(a, b unsafe.Pointer) bool {
		return (*(*unsafe.Pointer)(a) == nil) == (*(*unsafe.Pointer)(b) == nil) && o.equal(a, b)
	}
	if o.normalize != nil {
		kept.normalize = func(p unsafe.Pointer) {
			if reflect.NewAt(f.Type, p).Elem().Len() > 0 {
				o.normalize(p)
			}
		}
	}
	return &kept
}

func (c *compiler) build(t reflect.Type) *ops {
	switch t {
	case timeType:
		return timeOps
	case microTimeType:
		return microTimeOps
	case quantityType:
		return quantityOps
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return plain[uint8]()
	case reflect.Int16, reflect.Uint16:
		return plain[uint16]()
	case reflect.Int32, reflect.Uint32:
		return plain[uint32]()
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return plain[uint64]()
	case reflect.Float32:
		return plain[float32]()
	case reflect.Float64:
		return plain[float64]()
	case reflect.String:
		return plain[string]()
	case reflect.Pointer:
		return c.pointer(t)
	case reflect.Struct:
		return structure(c.cells(t, 0, nil))
	case reflect.Slice:
		return c.slice(t)
	case reflect.Map:
		return c.mapping(t)
	default: // arrays, interfaces, and what no API type has
		return reflected(t)
	}
}

var (
	timeType      = reflect.TypeFor[metav1.Time]()
	microTimeType = reflect.TypeFor[metav1.MicroTime]()
	quantityType  = reflect.TypeFor[resource.Quantity]()
	bytesMapType  = reflect.TypeFor[map[string][]byte]()
)

// special types are structs that are compared as a whole.
func special(t reflect.Type) bool {
	return t == timeType || t == microTimeType || t == quantityType
}

func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Func, reflect.Chan, reflect.Array:
		return false
	case reflect.Struct:
		return t == timeType || t == microTimeType
	default:
		return true
	}
}

func plain[T comparable]() *ops {
	eq := func(a, b unsafe.Pointer) bool { return *(*T)(a) == *(*T)(b) }
	return &ops{equal: eq, same: eq}
}

func reflected(t reflect.Type) *ops {
	eq := func(a, b unsafe.Pointer) bool {
		return reflect.DeepEqual(reflect.NewAt(t, a).Elem().Interface(), reflect.NewAt(t, b).Elem().Interface())
	}
	return &ops{equal: eq, same: eq}
}

func (c *compiler) pointer(t reflect.Type) *ops {
	elem := c.compile(t.Elem())
	o := &ops{
		equal: func(a, b unsafe.Pointer) bool {
			x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
			return x == y || x != nil && y != nil && elem.equal(x, y)
		},
		same: func(a, b unsafe.Pointer) bool {
			x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
			return x == y || x != nil && y != nil && elem.same(x, y)
		},
	}
	if elem.normalize != nil {
		o.normalize = func(p unsafe.Pointer) {
			if x := *(*unsafe.Pointer)(p); x != nil {
				elem.normalize(x)
			}
		}
	}
	return o
}
