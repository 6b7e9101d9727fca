package controllermanager

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// userAgent gives the field manager of what the controllers write.
const userAgent = "kube-controller-manager"

func (m *Manager) call(ctx context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	req.UserAgent = userAgent
	req.Shared = true
	return m.opts.API.Call(ctx, req)
}

// object makes a request whose answer is an object.
func (m *Manager) object(ctx context.Context, req *apiserver.Request) (apiserver.Object, error) {
	resp, err := m.call(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.Object, nil
}

func (m *Manager) get(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (apiserver.Object, error) {
	return m.object(ctx, &apiserver.Request{Verb: apiserver.Get, Resource: gvr, Namespace: namespace, Name: name})
}

func (m *Manager) list(ctx context.Context, gvr schema.GroupVersionResource, namespace string) ([]apiserver.Object, error) {
	resp, err := m.call(ctx, &apiserver.Request{Verb: apiserver.List, Resource: gvr, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	return slices.Clone(resp.Items), nil // resp is good until the next call
}

func (m *Manager) create(ctx context.Context, gvr schema.GroupVersionResource, obj apiserver.Object) (apiserver.Object, error) {
	return m.object(ctx, &apiserver.Request{Verb: apiserver.Create, Resource: gvr, Namespace: obj.GetNamespace(), Object: obj, Owned: true})
}

func (m *Manager) update(ctx context.Context, gvr schema.GroupVersionResource, subresource string, obj apiserver.Object) (apiserver.Object, error) {
	return m.object(ctx, &apiserver.Request{
		Verb: apiserver.Update, Resource: gvr, Subresource: subresource,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj, Owned: true,
	})
}

func (m *Manager) patch(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string, how types.PatchType, body []byte) error {
	_, err := m.call(ctx, &apiserver.Request{
		Verb: apiserver.Patch, Resource: gvr, Namespace: namespace, Name: name, PatchType: how, Body: body,
	})
	return err
}

func (m *Manager) delete(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string, opts *metav1.DeleteOptions) error {
	_, err := m.call(ctx, &apiserver.Request{
		Verb: apiserver.Delete, Resource: gvr, Namespace: namespace, Name: name, DeleteOptions: opts,
	})
	return err
}

// now is the time as objects have it, in whole seconds.
func (m *Manager) now() metav1.Time { return metav1.NewTime(m.opts.Clock.Now()).Rfc3339Copy() }

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// cached returns an object of a Go type from the cache.
func cached[T apiserver.Object](m *Manager, gvr schema.GroupVersionResource, namespace, name string) (obj T, found bool) {
	o := m.opts.Cache.Get(gvr, namespace, name)
	if o == nil {
		return obj, false
	}
	obj, ok := o.(T)
	if !ok {
		panic(fmt.Sprintf("controllermanager: cache of %s holds %T", gvr.Resource, o))
	}
	return obj, true
}

// cachedList returns the objects of a namespace, or all.
func cachedList[T apiserver.Object](m *Manager, gvr schema.GroupVersionResource, namespace string) []T {
	list := m.opts.Cache.List(gvr, namespace)
	out := make([]T, len(list))
	for i, o := range list {
		out[i] = o.(T)
	}
	return out
}
