package unmodified

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options are the options of a manager as its program has them, with what a manager in a
// simulation needs where the program does not say otherwise. The context is that of
// Program.Start.
//
//	mgr, err := ctrl.NewManager(cfg, unmodified.Options(ctx, ctrl.Options{Scheme: scheme}))
//
// Nobody listens on a port: there are no metrics and no probes, and webhooks are served
// by [WebhookServer]. The names of controllers may come again, as they do after a crash.
//
// Lists from the cache are in the order of namespace and name. A real cache gives them in
// the order of a map, which is another one each time; a program that writes in that order
// would not repeat.
func Options(ctx context.Context, o ctrl.Options) ctrl.Options {
	o.Metrics.BindAddress, o.HealthProbeBindAddress, o.PprofBindAddress = "0", "0", ""
	if o.WebhookServer == nil {
		o.WebhookServer = WebhookServer(ctx)
	}
	if o.Controller.SkipNameValidation == nil {
		o.Controller.SkipNameValidation = ptr.To(true)
	}
	newCache := o.NewCache
	if newCache == nil {
		newCache = cache.New
	}
	o.NewCache = func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
		c, err := newCache(cfg, opts)
		return ordered{c}, err
	}
	return o
}

// ordered is a cache whose lists have an order.
type ordered struct{ cache.Cache }

// List implements client.Reader.
func (c ordered) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	limit := int(o.Limit)
	o.Limit = 0 // or chance would say which are left out
	if err := c.Cache.List(ctx, list, &o); err != nil {
		return err
	}
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	if items.Kind() != reflect.Slice {
		return fmt.Errorf("put %T in order: it has no items", list)
	}
	putInOrder(items)
	if limit > 0 && items.Len() > limit {
		items.Set(items.Slice(0, limit))
	}
	return nil
}

// putInOrder sorts a slice of objects, or of pointers to them.
func putInOrder(items reflect.Value) {
	type item struct {
		namespace, name string
		value           reflect.Value
	}
	sorted := make([]item, items.Len())
	for i := range sorted {
		v := items.Index(i)
		at := v
		if v.Kind() != reflect.Pointer {
			at = v.Addr()
		}
		o, ok := at.Interface().(client.Object)
		if !ok {
			return // nothing that has a name
		}
		value := reflect.New(v.Type()).Elem()
		value.Set(v)
		sorted[i] = item{o.GetNamespace(), o.GetName(), value}
	}
	slices.SortFunc(sorted, func(a, b item) int { return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name)) })
	for i := range sorted {
		items.Index(i).Set(sorted[i].value)
	}
}
