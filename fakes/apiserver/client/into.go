package client

import (
	"fmt"
	"reflect"

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
	return convert(dst, src)
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

// convert fills a Go type from an object that is stored in another form. Both
// ways of conversion make everything anew, so nothing of src is kept.
func convert(dst client.Object, src apiserver.Object) error {
	u, ok := src.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("the server's %T %q cannot be returned as a %T", src, src.GetName(), dst)
	}
	reflect.ValueOf(dst).Elem().SetZero()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, dst); err != nil {
		return fmt.Errorf("convert %s %q to %T: %w", u.GetKind(), u.GetName(), dst, err)
	}
	return nil
}

// keepKind restores what dst said about its kind before a call. A real client
// leaves it alone in writes and clears it in reads of Go types.
func keepKind(dst runtime.Object, before schema.GroupVersionKind) {
	if !before.Empty() {
		dst.GetObjectKind().SetGroupVersionKind(before)
	}
}
