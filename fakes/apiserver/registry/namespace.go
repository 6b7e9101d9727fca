package registry

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

var namespaces = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"),
	Names:            Names{Plural: "namespaces", ShortNames: []string{"ns"}},
	Cluster:          true,
	Prototype:        &corev1.Namespace{},
	NoCollection:     true,
	Naming:           apivalidation.NameIsDNSLabel,
	Delete:           DeleteRules{ReturnsObject: true},
	PlainFieldError:  true,
	Fields: []*store.Field{
		{Name: "status.phase", Get: func(o Object) string { return string(o.(*corev1.Namespace).Status.Phase) }},
	},
	Default: func(obj Object) {
		ns := obj.(*corev1.Namespace)
		if ns.Name != "" {
			labelNamespace(ns)
		}
		if ns.Status.Phase == "" {
			ns.Status.Phase = corev1.NamespaceActive
		}
	},
	Canonicalize: func(obj Object) { labelNamespace(obj.(*corev1.Namespace)) },
	Status: &Status{
		OnCreate: func(_ *Context, obj Object) {
			obj.(*corev1.Namespace).Status.Phase = corev1.NamespaceActive
		},
		Validate: validateNamespaceStatus,
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		var errs field.ErrorList
		for _, f := range obj.(*corev1.Namespace).Spec.Finalizers {
			at := field.NewPath("spec", "finalizers")
			errs = append(errs, qualifiedName(string(f), at)...)
			if f != corev1.FinalizerKubernetes && !strings.Contains(string(f), "/") {
				errs = append(errs, field.Invalid(at, string(f), "name is neither a standard finalizer name nor is it fully qualified"))
			}
		}
		return errs
	},
	PrepareCreate: func(_ *Context, obj Object) {
		ns := obj.(*corev1.Namespace)
		for _, f := range ns.Spec.Finalizers {
			if f == corev1.FinalizerKubernetes {
				return
			}
		}
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	},
	PrepareUpdate: func(_ *Context, obj, old Object) {
		obj.(*corev1.Namespace).Spec.Finalizers = old.(*corev1.Namespace).Spec.Finalizers
	},
}

// labelNamespace sets the label that names the namespace, unless it is there:
// the labels may be shared with a stored object.
func labelNamespace(ns *corev1.Namespace) {
	if ns.Labels[corev1.LabelMetadataName] == ns.Name {
		return
	}
	labels := make(map[string]string, len(ns.Labels)+1)
	for k, v := range ns.Labels {
		labels[k] = v
	}
	labels[corev1.LabelMetadataName] = ns.Name
	ns.Labels = labels
}

func validateNamespaceStatus(_ *Context, obj, _ Object) field.ErrorList {
	ns := obj.(*corev1.Namespace)
	p := field.NewPath("status", "Phase")
	switch {
	case ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceActive:
		return field.ErrorList{field.Invalid(p, ns.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")}
	case !ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceTerminating:
		return field.ErrorList{field.Invalid(p, ns.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")}
	}
	return nil
}
