package client

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Get implements client.Client.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	k, err := c.kind(obj)
	if err != nil {
		return err
	}
	if err := checkKey(k, key.Namespace, key.Name); err != nil {
		return err
	}
	req := c.request(apiserver.Get, k, key.Namespace, key.Name)
	if len(opts) > 0 {
		o := client.GetOptions{}
		req.ResourceVersion = o.ApplyOptions(opts).AsGetOptions().ResourceVersion
	}
	resp, err := c.call(ctx, req)
	if err != nil {
		return err
	}
	return c.into(obj, resp.Object, resp.Shared)
}

// List implements client.Client. With client.UnsafeDisableDeepCopy the items
// are the server's own: they must not be changed, ever.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	k, err := c.kind(list)
	if err != nil {
		return err
	}
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	req := c.request(apiserver.List, k, o.Namespace, "")
	setListOptions(req, &o)
	resp, err := c.call(ctx, req)
	if err != nil {
		return err
	}
	unsafe := o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
	return c.intoList(list, k, resp, resp.Shared && !unsafe)
}

// setListOptions copies the options of a list or watch. Parsed selectors are
// handed on as they are.
func setListOptions(req *apiserver.Request, o *client.ListOptions) {
	req.Labels, req.Fields = o.LabelSelector, o.FieldSelector
	req.Limit, req.Continue = o.Limit, o.Continue
	raw := o.Raw
	if raw == nil {
		return
	}
	if req.Labels == nil {
		req.LabelSelector = raw.LabelSelector
	}
	if req.Fields == nil {
		req.FieldSelector = raw.FieldSelector
	}
	if req.Limit == 0 {
		req.Limit = raw.Limit
	}
	if req.Continue == "" {
		req.Continue = raw.Continue
	}
	req.ResourceVersion, req.ResourceVersionMatch = raw.ResourceVersion, raw.ResourceVersionMatch
	req.SendInitialEvents, req.AllowWatchBookmarks = raw.SendInitialEvents, raw.AllowWatchBookmarks
	req.TimeoutSeconds = raw.TimeoutSeconds
}

// intoList fills a list of any sort. copyItems says that the items are shared.
func (c *Client) intoList(list client.ObjectList, k *apiserver.Resource, resp *apiserver.Response, copyItems bool) error {
	switch list := list.(type) {
	case *unstructured.UnstructuredList:
		return c.intoUnstructuredList(list, k.GVK(), resp, copyItems)
	case *metav1.PartialObjectMetadataList:
		list.ListMeta = resp.List
		list.Items = make([]metav1.PartialObjectMetadata, len(resp.Items))
		for i, src := range resp.Items {
			intoMetadata(&list.Items[i].ObjectMeta, src)
			list.Items[i].SetGroupVersionKind(k.GVK())
		}
		return nil
	}
	if err := c.intoTypedList(list, resp.Items, copyItems); err != nil {
		return err
	}
	listMeta, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("list %s: %w", k.Kind, err)
	}
	listMeta.SetResourceVersion(resp.List.ResourceVersion)
	listMeta.SetContinue(resp.List.Continue)
	listMeta.SetRemainingItemCount(resp.List.RemainingItemCount)
	return nil
}

func (c *Client) intoUnstructuredList(list *unstructured.UnstructuredList, kind schema.GroupVersionKind, resp *apiserver.Response, copyItems bool) error {
	list.Object = map[string]any{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	list.SetResourceVersion(resp.List.ResourceVersion)
	if resp.List.Continue != "" {
		list.SetContinue(resp.List.Continue)
	}
	if resp.List.RemainingItemCount != nil {
		list.SetRemainingItemCount(resp.List.RemainingItemCount)
	}
	list.Items = make([]unstructured.Unstructured, len(resp.Items))
	for i, src := range resp.Items {
		list.Items[i].SetGroupVersionKind(kind)
		if err := intoUnstructured(&list.Items[i], src, copyItems); err != nil {
			return err
		}
	}
	return nil
}

// intoTypedList fills Items of a list of a Go type.
//
// The items are first laid out in a list of the same type that shares all they
// refer to, and that list is then copied as a whole: one allocation for all the
// structs, where copying item by item would make one each.
func (c *Client) intoTypedList(list client.ObjectList, items []apiserver.Object, copyItems bool) error {
	target := reflect.ValueOf(list).Elem()
	field := target.FieldByName("Items")
	if !field.IsValid() || field.Kind() != reflect.Slice {
		return fmt.Errorf("%T has no slice Items", list)
	}
	slice := reflect.MakeSlice(field.Type(), len(items), len(items))
	same := true
	for i, src := range items {
		shared, err := c.layOut(slice.Index(i), src, copyItems)
		if err != nil {
			return err
		}
		same = same && shared
	}
	if copyItems && same {
		layout := reflect.New(target.Type())
		layout.Elem().FieldByName("Items").Set(slice)
		copied := layout.Interface().(client.ObjectList).DeepCopyObject()
		slice = reflect.ValueOf(copied).Elem().FieldByName("Items")
	}
	target.SetZero()
	target.FieldByName("Items").Set(slice)
	return nil
}

// layOut puts src, which never changes if it is frozen, into one element, a struct or a
// pointer to one. It reports whether the element now shares memory with src.
func (c *Client) layOut(element reflect.Value, src apiserver.Object, frozen bool) (bool, error) {
	value := reflect.ValueOf(src)
	switch {
	case value.Type() == element.Type(): // a list of pointers
		element.Set(value)
		return true, nil
	case value.Kind() == reflect.Pointer && value.Type().Elem() == element.Type():
		element.Set(value.Elem())
		return true, nil
	}
	if element.Kind() == reflect.Pointer {
		element.Set(reflect.New(element.Type().Elem()))
	} else {
		element = element.Addr()
	}
	dst, ok := element.Interface().(client.Object)
	if !ok {
		return false, fmt.Errorf("%s is no API object", element.Type())
	}
	return false, c.convert(dst, src, frozen)
}
