package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Cache reads what the informers of a process hold. It lags behind the API
// server as they do: an object just written may not be there yet, and one just
// deleted may still be.
//
// Reading a kind that no controller of the process watches starts an informer
// for all objects of the kind and waits until it has listed, as
// controller-runtime's cache does.
type Cache struct{ proc *Process }

var _ kube.Reader = (*Cache)(nil)

// Get fills obj with the cache's state of the object, or returns NotFound.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	p := c.proc
	k, err := p.cluster.kindOf(obj)
	if err != nil {
		return err
	}
	var buf [4]*Informer
	found, err := c.ready(ctx, buf[:0], k, key.Namespace, key.Name)
	if err != nil {
		return err
	}
	for _, inf := range found {
		if o := inf.items.get(key); o != nil {
			return fill(obj, o, k, unsafely(opts))
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: k.gvk.Group, Resource: k.gvk.Kind}, key.Name)
}

// List fills list with the cache's objects in order of namespace and name.
func (c *Cache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.Continue != "" {
		return errors.New("continue list option is not supported by the cache")
	}
	name, err := exactName(o.FieldSelector)
	if err != nil {
		return err
	}
	k, err := c.proc.cluster.itemKind(list)
	if err != nil {
		return err
	}
	found, err := c.ready(ctx, nil, k, o.Namespace, name)
	if err != nil {
		return err
	}
	shared := o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
	var items []runtime.Object
	for _, obj := range union(found, o.Namespace) {
		if name != "" && obj.GetName() != name {
			continue
		}
		if o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
			continue
		}
		if o.Limit > 0 && int64(len(items)) >= o.Limit {
			break
		}
		if shared {
			items = append(items, obj)
			continue
		}
		out := obj.DeepCopyObject()
		out.GetObjectKind().SetGroupVersionKind(k.gvk)
		items = append(items, out)
	}
	return meta.SetList(list, items)
}

// union returns the objects of all informers in a namespace, in order, each once.
func union(informers []*Informer, namespace string) []Object {
	if len(informers) == 1 {
		return informers[0].items.in(namespace)
	}
	var objects []Object
	for _, inf := range informers {
		objects = append(objects, inf.items.in(namespace)...)
	}
	slices.SortStableFunc(objects, compare)
	return slices.CompactFunc(objects, func(a, b Object) bool { return compare(a, b) == 0 })
}

// exactName returns the name that a metadata.name selector asks for.
func exactName(sel fields.Selector) (string, error) {
	if sel == nil || sel.Empty() {
		return "", nil
	}
	if name, ok := sel.RequiresExactMatch("metadata.name"); ok && len(sel.Requirements()) == 1 {
		return name, nil
	}
	return "", fmt.Errorf("cache has no index for field selector %q", sel)
}

// ready appends to found the informers that hold objects of that kind, namespace and
// name, once they have listed. A list without namespace needs informers over
// all namespaces.
func (c *Cache) ready(ctx context.Context, found []*Informer, k *kind, namespace, name string) ([]*Informer, error) {
	p := c.proc
	p.eng.Enter()
	if p.sites.read != nil {
		p.strikeRead("get", p.cluster.keys.object(k.resource.Resource, namespace, name))
	}
	for _, inf := range p.informers {
		if inf.kind == k && inf.serves(namespace, name) {
			found = append(found, inf)
		}
	}
	if len(found) == 0 {
		found = append(found, p.informer(k, scope{}))
	}
	for _, inf := range found {
		if err := inf.wait(ctx); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// serves reports whether a read with that namespace and name (empty: any) can
// be answered by the informer.
func (i *Informer) serves(namespace, name string) bool {
	return (i.namespace == "" || i.namespace == namespace) && (i.name == "" || i.name == name)
}

// wait parks the running task until the informer has listed once. That may take
// for ever and is no deadlock: its reflector never gives up, whether the API server
// is away or refuses.
func (i *Informer) wait(ctx context.Context) error {
	if i.synced {
		return nil
	}
	op := engine.Op{Verb: "sync", Key: i.kind.resource.Resource, Idle: true}
	return i.proc.proc.Await(ctx, op, func(w *engine.Wait) { i.waiters = append(i.waiters, w) })
}

// informer finds or starts the informer of a scope.
func (p *Process) informer(k *kind, s scope) *Informer {
	for _, inf := range p.informers {
		if inf.kind == k && inf.equal(s) {
			return inf
		}
	}
	inf := newInformer(p, k, s)
	p.informers = append(p.informers, inf)
	inf.reflector.watchList()
	return inf
}

// unsafely reports whether a Get wants the shared object itself, which its
// caller promises not to change.
func unsafely(opts []client.GetOption) bool {
	for _, opt := range opts {
		if u, ok := opt.(client.UnsafeDisableDeepCopyOption); ok {
			return bool(u)
		}
	}
	return false
}

// fill copies a shared object into the caller's; with shallow, all but the
// object's own struct stays shared.
func fill(out client.Object, shared Object, k *kind, shallow bool) error {
	var fresh any = shared
	if !shallow {
		fresh = shared.DeepCopyObject()
	}
	dst, src := reflect.ValueOf(out), reflect.ValueOf(fresh)
	if dst.Type() != src.Type() {
		return fmt.Errorf("cache had type %T, but %T was asked for", fresh, out)
	}
	dst.Elem().Set(src.Elem())
	if !shallow {
		out.GetObjectKind().SetGroupVersionKind(k.gvk)
	}
	return nil
}
