package cluster

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// kind is what a cache knows about one kind, in the form in which a process
// reads it: typed or unstructured.
type kind struct {
	gvk      schema.GroupVersionKind
	resource schema.GroupVersionResource
	typ      reflect.Type // of the object, a pointer
	raw      bool         // unstructured
}

// kindOf finds the kind of an object, or of a list's items.
func (c *Cluster) kindOf(obj runtime.Object) (*kind, error) {
	typ := reflect.TypeOf(obj)
	_, raw := obj.(*unstructured.Unstructured)
	if !raw {
		if k := c.kinds[typ]; k != nil {
			return k, nil
		}
	}
	gvk, err := apiutil.GVKForObject(obj, c.cfg.Scheme)
	if err != nil {
		return nil, fmt.Errorf("kind of %T: %w", obj, err)
	}
	if raw {
		if k := c.rawKinds[gvk]; k != nil {
			return k, nil
		}
	}
	resource, err := c.resourceOf(gvk)
	if err != nil {
		return nil, err
	}
	k := &kind{gvk: gvk, resource: resource, typ: typ, raw: raw}
	if raw {
		c.rawKinds[gvk] = k
	} else {
		c.kinds[typ] = k
	}
	return k, nil
}

// resourceOf names the resource of a kind, as the API server does.
func (c *Cluster) resourceOf(gvk schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	e, ok := c.store.LookupKind(gvk)
	if !ok {
		return schema.GroupVersionResource{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	return e.GVR(), nil
}

// convert brings an object of the store into the form of the cache. Nearly
// always it has that form already.
func (k *kind) convert(o Object) Object {
	_, raw := o.(*unstructured.Unstructured)
	switch {
	case raw == k.raw:
		return o
	case k.raw:
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			panic(fmt.Sprintf("cluster: %s %s as unstructured: %v", k.gvk, o.GetName(), err))
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(k.gvk)
		return u
	default:
		typed := reflect.New(k.typ.Elem()).Interface().(Object)
		content := o.(*unstructured.Unstructured).Object
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, typed); err != nil {
			panic(fmt.Sprintf("cluster: %s %s as %s: %v", k.gvk, o.GetName(), k.typ, err))
		}
		return typed
	}
}

// itemKind is the kind of a list's items.
func (c *Cluster) itemKind(list client.ObjectList) (*kind, error) {
	if u, ok := list.(*unstructured.UnstructuredList); ok {
		item := &unstructured.Unstructured{}
		gvk := u.GroupVersionKind()
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
		item.SetGroupVersionKind(gvk)
		return c.kindOf(item)
	}
	typ := reflect.TypeOf(list)
	if k := c.lists[typ]; k != nil {
		return k, nil
	}
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return nil, fmt.Errorf("items of %T: %w", list, err)
	}
	elem := reflect.TypeOf(items).Elem().Elem()
	if elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	item, ok := reflect.New(elem).Interface().(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("items of %T: %s is no API object", list, elem)
	}
	k, err := c.kindOf(item)
	if err == nil {
		c.lists[typ] = k
	}
	return k, err
}
