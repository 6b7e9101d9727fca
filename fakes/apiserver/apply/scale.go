package apply

import (
	"errors"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A Scaler is the [Manager] of the subresource scale, whose objects are shown in
// place of their parents. Of a parent's owners it knows those of the number of
// replicas, and gives the parent back what becomes of them.
type Scaler struct {
	scales *Manager
	parent schema.GroupVersion
	path   fieldpath.Path
	custom bool // the parent is a custom resource
	view   func(parent runtime.Object) *autoscalingv1.Scale
}

var (
	scaleKind     = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	scaleReplicas = fieldpath.MakePathOrDie("spec", "replicas")
)

// NewScaler returns the manager of the scales of a kind in one version, where
// path leads to the number of replicas. Custom says that the kind is that of custom
// resources. View shows a parent as its scale.
func NewScaler(parent schema.GroupVersion, path fieldpath.Path, custom bool, view func(parent runtime.Object) *autoscalingv1.Scale) *Scaler {
	return &Scaler{
		scales: NewManager(Config{
			Kind: scaleKind, Subresource: "scale", Types: scaleTypes{},
			New: func() runtime.Object { return scaleObject(&autoscalingv1.Scale{}) },
			Convert: func(obj runtime.Object, to schema.GroupVersion) (runtime.Object, error) {
				return nil, runtime.NewNotRegisteredErrForKind("scale", to.WithKind(scaleKind.Kind))
			},
		}),
		parent: parent, path: path, custom: custom, view: view,
	}
}

var errUnownedScale = errors.New("failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: " +
	"request to convert CR to an invalid group/version: autoscaling/v1")

func scaleObject(s *autoscalingv1.Scale) *autoscalingv1.Scale {
	s.SetGroupVersionKind(scaleKind)
	return s
}

// Update is [Manager.Update], of the parent's owners and from one state of the
// parent to the next.
func (s *Scaler) Update(o *Owners, live, obj runtime.Object, name string, now metav1.Time) *Owners {
	scaleOwners := s.toScale(o)
	return s.toParent(o, s.scales.Update(scaleOwners, scaleObject(s.view(live)), scaleObject(s.view(obj)), name, now))
}

// Apply is [Manager.Apply], of the parent's owners and with a configuration of
// its scale. It returns the replicas that the parent is to have.
func (s *Scaler) Apply(o *Owners, live runtime.Object, config *unstructured.Unstructured, name string, force bool, now metav1.Time) (int32, *Owners, error) {
	scale := scaleObject(s.view(live))
	scaleOwners := s.toScale(o)
	if s.custom && scaleOwners.Empty() {
		return 0, nil, errUnownedScale // a real server does no better
	}
	merged, owners, err := s.scales.Apply(scaleOwners, scale, config, name, force, now)
	if err != nil {
		return 0, nil, err
	}
	if merged != nil {
		scale = &autoscalingv1.Scale{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(merged.Object, scale); err != nil {
			return 0, nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return scale.Spec.Replicas, s.toParent(o, owners), nil
}

// toScale returns those of the parent's owners that own the replicas, as owners
// of the scale.
func (s *Scaler) toScale(o *Owners) *Owners {
	out := newOwners()
	for _, id := range o.ids() {
		set := o.sets[id]
		if set.APIVersion() != fieldpath.APIVersion(s.parent.String()) || !set.Set().Has(s.path) {
			continue
		}
		e := identified(id)
		of := identifier(e.Manager, e.Operation, scaleKind.GroupVersion().String(), e.Subresource)
		out.sets[of] = fieldpath.NewVersionedSet(fieldpath.NewSet(scaleReplicas), fieldpath.APIVersion(scaleKind.GroupVersion().String()), set.Applied())
		if t, ok := o.times[id]; ok {
			out.times[of] = t
		}
	}
	return out
}

// toParent returns the parent's owners after those of its scale have become
// scales. Who is new among them has no time. A real server takes whoever has updated
// the parent for somebody else, as the version of the scale is another: he loses the
// replicas, and gets them back in an entry of their own.
func (s *Scaler) toParent(o, scales *Owners) *Owners {
	out := newOwners()
	version := fieldpath.APIVersion(s.parent.String())
	left := scales.copy()
	for _, id := range o.ids() {
		set := o.sets[id]
		if set.APIVersion() != version {
			continue // of a version that is gone
		}
		if set.Set().Has(s.path) {
			if _, keeps := left.sets[id]; !keeps {
				set = fieldpath.NewVersionedSet(set.Set().Difference(fieldpath.NewSet(s.path)), version, set.Applied())
			}
			delete(left.sets, id)
		}
		if set.Set().Empty() {
			continue
		}
		out.sets[id] = set
		if t, ok := o.times[id]; ok {
			out.times[id] = t
		}
	}
	for _, id := range left.ids() {
		set := left.sets[id]
		if !set.Set().Has(scaleReplicas) {
			continue
		}
		e := identified(id)
		id = identifier(e.Manager, e.Operation, s.parent.String(), e.Subresource)
		set = fieldpath.NewVersionedSet(fieldpath.NewSet(s.path), version, set.Applied())
		if _, taken := out.sets[id]; taken {
			if out.twins == nil {
				out.twins = fieldpath.ManagedFields{}
			}
			out.twins[id] = set
			continue
		}
		out.sets[id] = set
	}
	return out
}
