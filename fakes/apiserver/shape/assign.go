package shape

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Assign makes dst the same as src without sharing memory with it. What is the
// same already is left alone, and nothing that dst points to is written: values
// that an earlier holder of dst's lists and maps sees do not change. So a client
// can bring the answer to a write into the object that was written and pay for
// a copy only if the server changed more than a few plain fields.
func (s *Shape) Assign(dst, src runtime.Object) {
	if s == nil {
		assignJSON(dst.(*unstructured.Unstructured), src.(*unstructured.Unstructured))
		return
	}
	d, f := s.pointer(dst), s.pointer(src)
	var fresh unsafe.Pointer // a copy of src, made once something needs it
	for i := range s.leaves {
		l := &s.leaves[i]
		at := add(d, l.offset)
		if l.ops.same(at, add(f, l.offset)) {
			continue
		}
		from := f
		if !l.scalar {
			if fresh == nil {
				fresh = s.pointer(src.DeepCopyObject())
			}
			from = fresh
		}
		reflect.NewAt(l.typ, at).Elem().Set(reflect.NewAt(l.typ, add(from, l.offset)).Elem())
	}
}

func assignJSON(dst, src *unstructured.Unstructured) {
	if dst.Object == nil {
		dst.Object = map[string]any{}
	}
	out := make(map[string]any, len(src.Object))
	for k, v := range src.Object {
		if old, ok := dst.Object[k]; ok && equalJSON(old, v) {
			out[k] = old
		} else {
			out[k] = runtime.DeepCopyJSONValue(v)
		}
	}
	dst.Object = out
}

func add(p unsafe.Pointer, offset uintptr) unsafe.Pointer { return unsafe.Add(p, offset) }
