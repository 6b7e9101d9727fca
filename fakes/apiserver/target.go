package apiserver

import (
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
)

// fieldTarget is an endpoint, or a subresource of one, as something whose fields
// have owners.
type fieldTarget struct {
	ep          *endpoint
	kinds       *registry.Registry
	subresource string
	once        sync.Once
	made        *apply.Manager
}

// manager is made when it is first needed.
func (t *fieldTarget) manager() *apply.Manager {
	t.once.Do(func() { t.made = t.newManager() })
	return t.made
}

func (t *fieldTarget) newManager() *apply.Manager {
	var types managedfields.TypeConverter
	convert := t.ep.convert
	switch {
	case t.ep.Schema != nil:
		types, convert = schemaTypes{t.kinds}, t.load
	case t.ep.Custom:
		types = apply.GuessedTypes()
	default:
		types = apply.BuiltinTypes()
	}
	cfg := apply.Config{
		Kind: t.ep.Served, Subresource: t.subresource, Types: types,
		New:     func() runtime.Object { return t.versioned(newObject(t.ep.Entry)) },
		Convert: convert,
	}
	if unowned := t.ep.Unowned(t.subresource); unowned != nil {
		cfg.Ignored = map[fieldpath.APIVersion]fieldpath.Filter{}
		for _, gvk := range t.ep.kinds() {
			cfg.Ignored[fieldpath.APIVersion(gvk.GroupVersion().String())] = unowned
		}
	}
	return apply.NewManager(cfg)
}

// Update implements apply.Target.
func (t *fieldTarget) Update(o *apply.Owners, live, obj Object, name string, now metav1.Time) *apply.Owners {
	return t.manager().Update(o, t.shown(live), t.shown(obj), name, now)
}

// Onward implements apply.Target.
func (t *fieldTarget) Onward(a, b, c Object) bool { return onward(t.ep, a, b, c) }

// Touched implements apply.Target.
func (t *fieldTarget) Touched(a, b Object, places []shape.Place) (touched []shape.Place, replaced, clear bool) {
	return t.ep.Shape().Touched(a, b, places)
}

// Stamp implements apply.Target.
func (t *fieldTarget) Stamp(o *apply.Owners, name string, now metav1.Time) *apply.Owners {
	return t.manager().Stamp(o, name, now)
}

func onward(ep *endpoint, a, b, c Object) bool {
	if a == nil {
		return ep.Shape().Onward(nil, b, c)
	}
	return ep.Shape().Onward(a, b, c)
}

// shown returns a stored object as the endpoint shows it; nil for none.
func (t *fieldTarget) shown(obj Object) runtime.Object {
	if obj == nil {
		return nil
	}
	if v := t.ep.Version; v != nil {
		obj = v.From(obj)
	}
	if t.ep.Schema != nil && obj.GetObjectKind().GroupVersionKind() != t.ep.Served {
		if seen, err := t.ep.Schema.Load(obj); err == nil {
			obj = seen // else it does not fit the schema, and the manager leaves it alone
		}
	}
	return t.versioned(obj)
}

// load returns an object of a kind with a schema in another of its versions.
func (t *fieldTarget) load(obj runtime.Object, to schema.GroupVersion) (runtime.Object, error) {
	kind := to.WithKind(t.ep.Served.Kind)
	e, ok := t.kinds.LookupKind(kind)
	if !ok || e.Schema == nil {
		return nil, runtime.NewNotRegisteredErrForKind("registry", kind)
	}
	return e.Schema.Load(obj.(Object))
}

// schemaTypes are the types of kinds with a schema.
type schemaTypes struct{ kinds *registry.Registry }

// ObjectToTyped implements managedfields.TypeConverter.
func (s schemaTypes) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	kind := obj.GetObjectKind().GroupVersionKind()
	e, ok := s.kinds.LookupKind(kind)
	if !ok || e.Schema == nil {
		return nil, runtime.NewNotRegisteredErrForKind("registry", kind)
	}
	types, err := e.Schema.TypeConverter()
	if err != nil {
		return nil, err
	}
	return types.ObjectToTyped(obj, opts...)
}

// TypedToObject implements managedfields.TypeConverter.
func (schemaTypes) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	return apply.GuessedTypes().TypedToObject(v)
}

// versioned returns obj, which is of the endpoint's version, with its kind.
func (t *fieldTarget) versioned(obj Object) runtime.Object {
	if !obj.GetObjectKind().GroupVersionKind().Empty() {
		return obj
	}
	obj = shape.ShallowCopy(obj).(Object)
	obj.GetObjectKind().SetGroupVersionKind(t.ep.Served)
	return obj
}

// kinds returns the kind in all its versions.
func (ep *endpoint) kinds() []schema.GroupVersionKind {
	all := []schema.GroupVersionKind{ep.GroupVersionKind}
	for i := range ep.Versions {
		all = append(all, ep.Versions[i].GroupVersionKind)
	}
	return all
}

// version returns the conversion of a version; nil for the stored one.
func (ep *endpoint) version(gv schema.GroupVersion) (v *registry.Version, ok bool) {
	for i := range ep.Versions {
		if ep.Versions[i].GroupVersion() == gv {
			return &ep.Versions[i], true
		}
	}
	return nil, gv == ep.GroupVersionKind.GroupVersion()
}

// convert returns obj, unstructured or not and of any version, in version to.
func (ep *endpoint) convert(obj runtime.Object, to schema.GroupVersion) (runtime.Object, error) {
	from, known := ep.version(obj.GetObjectKind().GroupVersionKind().GroupVersion())
	if !known {
		return nil, runtime.NewNotRegisteredErrForKind("registry", obj.GetObjectKind().GroupVersionKind())
	}
	target, known := ep.version(to)
	if !known {
		return nil, runtime.NewNotRegisteredErrForKind("registry", to.WithKind(ep.Kind.Kind))
	}
	hub, err := ep.stored(obj, from)
	if err != nil {
		return nil, err
	}
	gvk := ep.GroupVersionKind
	if target != nil {
		hub, gvk = target.From(hub), target.GroupVersionKind
	}
	hub.GetObjectKind().SetGroupVersionKind(gvk)
	return hub, nil
}

// stored returns obj, which is of the version from, as it is stored. It is the
// caller's.
func (ep *endpoint) stored(obj runtime.Object, from *registry.Version) (Object, error) {
	prototype := ep.Prototype
	if from != nil {
		prototype = from.Prototype
	}
	u, loose := obj.(*unstructured.Unstructured)
	var out Object
	switch {
	case loose && prototype != nil:
		out = prototype.DeepCopyObject().(Object)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
			return nil, err
		}
	default:
		out = obj.DeepCopyObject().(Object)
	}
	if from != nil {
		out = from.To(out)
	}
	return out, nil
}

// scaleTarget is the subresource scale of an endpoint.
type scaleTarget struct {
	ep   *endpoint
	once sync.Once
	made *apply.Scaler
}

// scaler is made when it is first needed.
func (t *scaleTarget) scaler() *apply.Scaler {
	t.once.Do(func() {
		path := t.ep.Scale.Path
		if path == nil {
			path = fieldpath.MakePathOrDie("spec", "replicas")
		}
		t.made = apply.NewScaler(t.ep.Served.GroupVersion(), path, t.ep.Custom, func(parent runtime.Object) *autoscalingv1.Scale {
			return scaleOf(t.ep, parent.(Object))
		})
	})
	return t.made
}

// Update implements apply.Target.
func (t *scaleTarget) Update(o *apply.Owners, live, obj Object, name string, now metav1.Time) *apply.Owners {
	return t.scaler().Update(o, live, obj, name, now)
}

// Onward implements apply.Target. To scale is rare, so every time counts.
func (t *scaleTarget) Onward(_, _, _ Object) bool { return false }

// Touched implements apply.Target, likewise.
func (t *scaleTarget) Touched(_, _ Object, _ []shape.Place) (touched []shape.Place, replaced, clear bool) {
	return nil, false, false
}

// Stamp implements apply.Target. No write of a scale is taken for the repetition
// of another.
func (t *scaleTarget) Stamp(o *apply.Owners, _ string, _ metav1.Time) *apply.Owners { return o }
