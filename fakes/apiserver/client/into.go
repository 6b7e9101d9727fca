package client

import (
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
)

// into fills dst with src. A shared src is copied, once; any other is taken
// over. dst keeps the kind it names, if it is of the sort that names one.
func (c *Client) into(dst client.Object, src apiserver.Object, shared bool) error {
	switch dst := dst.(type) {
	case *unstructured.Unstructured:
		return intoUnstructured(dst, src, shared)
	case *metav1.PartialObjectMetadata:
		intoMetadata(&dst.ObjectMeta, src)
		return nil
	}
	if reflect.TypeOf(dst) == reflect.TypeOf(src) {
		if shared {
			if shape.Of(dst, shape.Protobuf).Copy(dst, src) {
				return nil
			}
			src = src.DeepCopyObject().(apiserver.Object)
		}
		move(dst, src)
		return nil
	}
	return c.convert(dst, src, shared)
}

// move makes *dst the struct that src points to. Nothing is copied that src
// refers to, so src must not be used afterwards.
func move(dst, src any) {
	reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem())
}

func intoUnstructured(dst *unstructured.Unstructured, src apiserver.Object, shared bool) error {
	gvk := dst.GroupVersionKind()
	if u, ok := src.(*unstructured.Unstructured); ok {
		if shared {
			u = u.DeepCopy()
		}
		dst.Object = u.Object
	} else {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(src)
		if err != nil {
			return fmt.Errorf("convert %T %q: %w", src, src.GetName(), err)
		}
		dst.Object = content
	}
	dst.SetGroupVersionKind(gvk)
	return nil
}

// intoMetadata copies the metadata of src, which may be shared.
func intoMetadata(dst *metav1.ObjectMeta, src apiserver.Object) {
	if holder, ok := src.(metav1.ObjectMetaAccessor); ok {
		if m, ok := holder.GetObjectMeta().(*metav1.ObjectMeta); ok {
			m.DeepCopyInto(dst)
			return
		}
	}
	partial := meta.AsPartialObjectMetadata(src)
	partial.ObjectMeta.DeepCopyInto(dst)
}

// convert fills a Go type from an object that is stored in another form. A shared src
// never changes, so what became of it is kept for the next time.
func (c *Client) convert(dst client.Object, src apiserver.Object, shared bool) error {
	u, ok := src.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("the server's %T %q cannot be returned as a %T", src, src.GetName(), dst)
	}
	key := conversion{u, reflect.TypeOf(dst)}
	if shared {
		if known := c.converted.get(key); known != nil {
			move(dst, known.DeepCopyObject())
			return nil
		}
	}
	// It makes everything anew, so nothing of src is kept.
	reflect.ValueOf(dst).Elem().SetZero()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, dst); err != nil {
		return fmt.Errorf("convert %s %q to %T: %w", u.GetKind(), u.GetName(), dst, err)
	}
	if shared {
		c.converted.put(key, dst.DeepCopyObject())
	}
	return nil
}

// conversion is one object of a server as one Go type.
type conversion struct {
	src *unstructured.Unstructured
	dst reflect.Type
}

// conversions are the latest: programs read the same object again and again.
type conversions struct {
	mu    sync.Mutex
	known map[conversion]runtime.Object
}

// conversionsMax bounds what a client remembers.
const conversionsMax = 64

func (c *conversions) get(key conversion) runtime.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

func (c *conversions) put(key conversion, made runtime.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[conversion]runtime.Object{}
	}
	if len(c.known) >= conversionsMax {
		clear(c.known)
	}
	c.known[key] = made
}

// keepKind restores what dst said about its kind before a call. A real client
// leaves it alone in writes and clears it in reads of Go types.
func keepKind(dst runtime.Object, before schema.GroupVersionKind) {
	if !before.Empty() {
		dst.GetObjectKind().SetGroupVersionKind(before)
	}
}
