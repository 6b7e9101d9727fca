package shape

import (
	"reflect"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
)

// A Draft remembers an object as it is now, so that it can be told later whether
// somebody has replaced parts of it. It remembers the struct alone and not what
// that refers to, and costs no memory of its own. The zero Draft is of nothing.
type Draft struct {
	shape *Shape
	room  *reflect.Value
}

// Draft returns the draft of obj. A nil shape has none.
func (s *Shape) Draft(obj runtime.Object) Draft {
	if s == nil {
		return Draft{}
	}
	room, _ := s.rooms.Get().(*reflect.Value)
	if room == nil {
		v := reflect.New(s.typ)
		room = &v
	}
	room.Elem().Set(reflect.ValueOf(obj).Elem())
	return Draft{shape: s, room: room}
}

// Before returns a copy of the object as it was drafted, sharing all that it
// refers to, if now, the same object later, is not the same any more. Metadata
// that only a server writes, deletion times that were left out and the top-level
// field called except, in Go, do not count. Otherwise it returns nil.
func (d Draft) Before(now runtime.Object, except string) runtime.Object {
	if d.shape == nil {
		return nil
	}
	was, is := d.room.UnsafePointer(), d.shape.pointer(now)
	for i := range d.shape.leaves {
		l := &d.shape.leaves[i]
		if l.identity || l.field == except || l.deletion && *(*unsafe.Pointer)(add(was, l.offset)) == nil {
			continue
		}
		size := l.typ.Size()
		if !(l.told && emptyNotNil(add(was, l.offset))) && // it is stored as nil, which JSON tells from empty
			(string(unsafe.Slice((*byte)(add(was, l.offset)), size)) == string(unsafe.Slice((*byte)(add(is, l.offset)), size)) ||
				l.ops.equal(add(was, l.offset), add(is, l.offset))) {
			continue
		}
		before := reflect.New(d.shape.typ)
		before.Elem().Set(d.room.Elem())
		return before.Interface().(runtime.Object)
	}
	return nil
}

// emptyNotNil reports whether the list at p has no items, but is there.
func emptyNotNil(p unsafe.Pointer) bool {
	list := (*[]struct{})(p) // of whatever; only the length is looked at
	return *(*unsafe.Pointer)(p) != nil && len(*list) == 0
}

// Drop gives back the room that the draft takes.
func (d Draft) Drop() {
	if d.shape != nil {
		d.room.Elem().SetZero()
		d.shape.rooms.Put(d.room)
	}
}

// rooms are spare structs of a shape's type.
type rooms = sync.Pool
