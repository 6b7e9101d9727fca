package fidelity_test

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// clientGo is the fake clientset of client-go. Its typed clients are thin: each
// turns a call into an action, which is what is done here.
type clientGo struct {
	set *fake.Clientset
}

func newClientGo(c *conformance.Case) conformance.Target {
	return peerTarget(&clientGo{set: fake.NewClientset()}, scheme.Scheme, c)
}

// bodyKinds are the types of subresources that are not the object's own.
var bodyKinds = map[string]schema.GroupVersionKind{
	"scale":    {Group: "autoscaling", Version: "v1", Kind: "Scale"},
	"eviction": {Group: "policy", Version: "v1", Kind: "Eviction"},
	"token":    {Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"},
	"binding":  {Version: "v1", Kind: "Binding"},
}

func (p *clientGo) do(_ context.Context, call *peerCall) (runtime.Object, error) {
	action, err := p.action(call)
	if err != nil {
		return nil, err
	}
	kind := call.bodyKind()
	if call.verb == "list" {
		kind.Kind += "List"
	}
	empty, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, cannot("%v", err)
	}
	obj, err := p.set.Invokes(action, empty)
	if err != nil || obj == nil {
		return nil, err
	}
	obj = obj.DeepCopyObject()
	if call.verb == "list" {
		return obj, p.filter(obj, call)
	}
	return obj, nil
}

func (call *peerCall) bodyKind() schema.GroupVersionKind {
	if kind, ok := bodyKinds[call.subresource]; ok {
		return kind
	}
	return call.kind
}

func (p *clientGo) action(call *peerCall) (testing.Action, error) {
	switch call.verb {
	case "get":
		options := metav1.GetOptions{}
		err := call.options(&options)
		return testing.NewGetSubresourceActionWithOptions(call.resource, call.namespace, call.subresource, call.name, options), err
	case "list":
		options := metav1.ListOptions{}
		err := call.options(&options)
		return testing.NewListActionWithOptions(call.resource, call.kind, call.namespace, options), err
	case "patch":
		options := metav1.PatchOptions{}
		err := call.options(&options)
		subresources := []string{}
		if call.subresource != "" {
			subresources = append(subresources, call.subresource)
		}
		return testing.NewPatchSubresourceActionWithOptions(call.resource, call.namespace, call.name, call.patch, call.body, options, subresources...), err
	case "delete":
		options := metav1.DeleteOptions{}
		err := call.options(&options)
		return testing.NewDeleteSubresourceActionWithOptions(call.resource, call.subresource, call.namespace, call.name, options), err
	case "deletecollection":
		selection, options := metav1.ListOptions{}, metav1.DeleteOptions{}
		if err := (&peerCall{verb: "list", query: selectors(call)}).options(&selection); err != nil {
			return nil, err
		}
		call.query.Del("labelSelector")
		call.query.Del("fieldSelector")
		err := call.options(&options)
		return testing.NewDeleteCollectionActionWithOptions(call.resource, call.namespace, options, selection), err
	}
	return p.write(call)
}

// write is the action of a create or an update. The object must fit into its Go
// type.
func (p *clientGo) write(call *peerCall) (testing.Action, error) {
	kind := call.bodyKind()
	u, err := call.object(kind)
	if err != nil {
		return nil, err
	}
	obj, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, cannot("%v", err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, obj, true); err != nil {
		return nil, cannot("the body: %v", err)
	}
	if call.verb == "create" {
		options := metav1.CreateOptions{}
		err := call.options(&options)
		if call.subresource == "" {
			return testing.NewCreateActionWithOptions(call.resource, call.namespace, obj, options), err
		}
		return testing.NewCreateSubresourceActionWithOptions(call.resource, call.name, call.subresource, call.namespace, obj, options), err
	}
	options := metav1.UpdateOptions{}
	err = call.options(&options)
	return testing.NewUpdateSubresourceActionWithOptions(call.resource, call.subresource, call.namespace, obj, options), err
}

// filter keeps what the label selector wants, as the typed clients do.
func (p *clientGo) filter(list runtime.Object, call *peerCall) error {
	selector, err := labels.Parse(call.query.Get("labelSelector"))
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	kept := make([]runtime.Object, 0, len(items))
	for _, item := range items {
		accessor, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		if selector.Matches(labels.Set(accessor.GetLabels())) {
			kept = append(kept, item)
		}
	}
	return meta.SetList(list, kept)
}

func (p *clientGo) watch(_ context.Context, call *peerCall) (watch.Interface, error) {
	options := metav1.ListOptions{}
	if err := call.options(&options); err != nil {
		return nil, err
	}
	return p.set.InvokesWatch(testing.NewWatchActionWithOptions(call.resource, call.namespace, options))
}
