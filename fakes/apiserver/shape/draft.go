package shape

import (
	"reflect"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Draft remembers an object as it is now, so that it can be told later whether
// somebody has replaced parts of it. It remembers the struct alone and not what
// that refers to, and costs no memory of its own. Of an unstructured object it
// remembers the times of deletion, the one thing of it that a server replaces. The
// zero Draft is of nothing.
type Draft struct {
	shape *Shape
	room  *reflect.Value

	loose bool // of an unstructured object
	times [len(deletionTimes)]any
}

// deletionTimes are the fields of metadata that only a deletion writes.
var deletionTimes = [...]string{"deletionTimestamp", "deletionGracePeriodSeconds"}

// Draft returns the draft of obj. A nil shape has those of unstructured objects.
func (s *Shape) Draft(obj runtime.Object) Draft {
	if s == nil {
		d := Draft{loose: true}
		metadata := metadataOf(obj)
		for i, name := range deletionTimes {
			d.times[i] = metadata[name]
		}
		return d
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
// that only a server writes and the top-level field called except, in Go, do not
// count. Otherwise it returns nil.
func (d Draft) Before(now runtime.Object, except string) runtime.Object {
	switch {
	case d.loose:
		return d.loosely(now)
	case d.shape == nil:
		return nil
	}
	was, is := d.room.UnsafePointer(), d.shape.pointer(now)
	for i := range d.shape.leaves {
		l := &d.shape.leaves[i]
		if l.identity || l.field == except {
			continue
		}
		size := l.typ.Size()
		if !(l.told && emptyNotNil(add(was, l.offset))) && // it is stored as nil, which JSON tells from empty
			!(l.nulls && hasNull(*(*map[string][]byte)(add(was, l.offset)))) && // they are stored as empty
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

// loosely is Before of an unstructured object.
func (d Draft) loosely(now runtime.Object) runtime.Object {
	metadata := metadataOf(now)
	same := true
	for i, name := range deletionTimes {
		same = same && reflect.DeepEqual(d.times[i], metadata[name])
	}
	if same {
		return nil
	}
	before := ShallowCopy(now).(*unstructured.Unstructured)
	metadata = metadataOf(before)
	for i, name := range deletionTimes {
		if delete(metadata, name); d.times[i] != nil {
			metadata[name] = d.times[i]
		}
	}
	return before
}

func metadataOf(obj runtime.Object) map[string]any {
	metadata, _ := obj.(*unstructured.Unstructured).Object["metadata"].(map[string]any)
	return metadata
}

// emptyNotNil reports whether the list at p has no items, but is there.
func emptyNotNil(p unsafe.Pointer) bool {
	list := (*[]struct{})(p) // of whatever; only the length is looked at
	return *(*unsafe.Pointer)(p) != nil && len(*list) == 0
}

// hasNull reports whether m has a key whose value is null in JSON.
func hasNull(m map[string][]byte) bool {
	for _, v := range m {
		if v == nil {
			return true
		}
	}
	return false
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
