package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// Cache reads what the watches of controllers hold. It lags behind the API server. A read
// waits until the watch has listed.
type Cache struct {
	cluster *Cluster

	mu     sync.Mutex
	scopes []*scope
}

var _ kube.Reader = (*Cache)(nil)

// scope is what one watch holds.
type scope struct {
	gvk             schema.GroupVersionKind
	namespace, name string
	selector        string // by labels
	fields          string // of them, by a selector
	cache           cache.Cache
}

// serves reports whether a read of a namespace and name (empty: any) can be answered.
func (s *scope) serves(gvk schema.GroupVersionKind, namespace, name string) bool {
	return s.gvk == gvk && (s.namespace == "" || s.namespace == namespace) && (s.name == "" || s.name == name)
}

func (s *scope) same(o *scope) bool {
	return s.gvk == o.gvk && s.namespace == o.namespace && s.name == o.name && s.selector == o.selector && s.fields == o.fields
}

// of returns the scope of a watch, which watches of other controllers may share.
func (c *Cache) of(w *kube.Watch) (*scope, error) {
	gvk, err := apiutil.GVKForObject(w.Object, scheme)
	if err != nil {
		return nil, fmt.Errorf("find the kind of %T: %w", w.Object, err)
	}
	s := &scope{gvk: gvk, namespace: w.Namespace, name: w.Name}
	if w.Selector != nil {
		s.selector = w.Selector.String()
	}
	if w.Fields != nil {
		s.fields = w.Fields.String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.scopes {
		if o.same(s) {
			return o, nil
		}
	}
	if s.cache, err = c.open(w); err != nil {
		return nil, fmt.Errorf("watch %s: %w", gvk.Kind, err)
	}
	c.scopes = append(c.scopes, s)
	return s, nil
}

// open makes the cache of one watch.
func (c *Cache) open(w *kube.Watch) (cache.Cache, error) {
	k := c.cluster
	by := cache.ByObject{Label: w.Selector, Field: w.Fields}
	if w.Name != "" {
		by.Field = fields.OneTermEqualSelector("metadata.name", w.Name)
		if w.Fields != nil {
			by.Field = fields.AndSelectors(by.Field, w.Fields)
		}
	}
	if w.Namespace != "" {
		by.Namespaces = map[string]cache.Config{w.Namespace: {}}
	}
	return cache.New(k.cfg, cache.Options{
		HTTPClient: k.http, Scheme: scheme, Mapper: k.mapper, ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{w.Object: by}, DefaultTransform: k.slim,
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
			k.opts.Log.Info("A watch was broken, and is tried again", "kind", fmt.Sprintf("%T", w.Object), "namespace", w.Namespace, "name", w.Name, "reason", err.Error())
		},
	})
}

// slim leaves out what nobody reads.
func (c *Cluster) slim(in any) (any, error) {
	obj, ok := in.(client.Object)
	if !ok {
		return in, nil // a tombstone
	}
	obj.SetManagedFields(nil)
	if c.opts.Slim != nil {
		c.opts.Slim(obj)
	}
	return obj, nil
}

var errUnwatched = errors.New("no controller watches that, so the cache does not hold it: declare a watch, or read at the API server")

// holding returns the scopes that hold what is asked for.
func (c *Cache) holding(gvk schema.GroupVersionKind, namespace, name string) ([]*scope, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*scope
	for _, s := range c.scopes {
		if s.serves(gvk, namespace, name) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("read %s %s from the cache: %w", gvk.Kind, client.ObjectKey{Namespace: namespace, Name: name}, errUnwatched)
	}
	return found, nil
}

// Get implements kube.Reader.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return fmt.Errorf("find the kind of %T: %w", obj, err)
	}
	found, err := c.holding(gvk, key.Namespace, key.Name)
	if err != nil {
		return err
	}
	for _, s := range found {
		if err = s.cache.Get(ctx, key, obj, opts...); !apierrors.IsNotFound(err) {
			return err
		}
	}
	return err
}

// List implements kube.Reader. Of fields it knows metadata.name.
func (c *Cache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	name, err := exactName(o.FieldSelector)
	if err != nil {
		return err
	}
	gvk, err := apiutil.GVKForObject(list, scheme)
	if err != nil {
		return fmt.Errorf("find the kind of %T: %w", list, err)
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	found, err := c.holding(gvk, o.Namespace, name)
	if err != nil {
		return err
	}
	limit := o.Limit
	o.FieldSelector, o.Limit = nil, 0
	var items []runtime.Object
	for _, s := range found {
		part := list.DeepCopyObject().(client.ObjectList)
		if err := s.cache.List(ctx, part, &o); err != nil {
			return err
		}
		more, err := meta.ExtractList(part)
		if err != nil {
			return fmt.Errorf("read the cached list of %s: %w", gvk.Kind, err)
		}
		items = append(items, more...)
	}
	items = inOrder(items, name)
	if limit > 0 && int64(len(items)) > limit {
		items = items[:limit]
	}
	return meta.SetList(list, items)
}

// inOrder returns the objects of a name (empty: any) in order of namespace and name, each
// once.
func inOrder(items []runtime.Object, name string) []runtime.Object {
	items = slices.DeleteFunc(items, func(o runtime.Object) bool { return name != "" && o.(client.Object).GetName() != name })
	compare := func(a, b runtime.Object) int {
		x, y := a.(client.Object), b.(client.Object)
		if d := strings.Compare(x.GetNamespace(), y.GetNamespace()); d != 0 {
			return d
		}
		return strings.Compare(x.GetName(), y.GetName())
	}
	slices.SortStableFunc(items, compare)
	return slices.CompactFunc(items, func(a, b runtime.Object) bool { return compare(a, b) == 0 })
}

// exactName returns the name that a selector of metadata.name asks for.
func exactName(sel fields.Selector) (string, error) {
	if sel == nil || sel.Empty() {
		return "", nil
	}
	if name, ok := sel.RequiresExactMatch("metadata.name"); ok && len(sel.Requirements()) == 1 {
		return name, nil
	}
	return "", fmt.Errorf("the cache has no index for the field selector %q", sel)
}
