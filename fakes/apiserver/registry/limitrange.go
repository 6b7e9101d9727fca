package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Resources that the rules of other kinds ask for.
var (
	limitRangeResource    = schema.GroupResource{Resource: "limitranges"}
	podResource           = schema.GroupResource{Resource: "pods"}
	claimResource         = schema.GroupResource{Resource: "persistentvolumeclaims"}
	serviceResource       = schema.GroupResource{Resource: "services"}
	priorityClassResource = schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}
)

var limitRanges = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("LimitRange"),
	Names:            Names{Plural: "limitranges", ShortNames: []string{"limits"}},
	Prototype:        &corev1.LimitRange{},
	Write:            WriteRules{PutCreates: true},
	Default: func(obj Object) {
		for i := range obj.(*corev1.LimitRange).Spec.Limits {
			defaultLimits(&obj.(*corev1.LimitRange).Spec.Limits[i])
		}
	},
	PrepareCreate: func(_ *Context, obj Object) {
		if obj.GetName() == "" {
			obj.SetName(string(obj.GetUID())) // some UUID, says a real server
		}
	},
	Validate: func(_ *Context, obj Object) field.ErrorList { return validateLimitRange(obj.(*corev1.LimitRange)) },
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList {
		return validateLimitRange(obj.(*corev1.LimitRange))
	},
}

func defaultLimits(l *corev1.LimitRangeItem) {
	if l.Type != corev1.LimitTypeContainer {
		return
	}
	fillFrom := func(dst *corev1.ResourceList, src corev1.ResourceList) {
		if *dst == nil && len(src) > 0 {
			*dst = corev1.ResourceList{}
		}
		for name, q := range src {
			if _, ok := (*dst)[name]; ok {
				continue
			}
			(*dst)[name] = q.DeepCopy()
		}
	}
	fillFrom(&l.Default, l.Max)
	fillFrom(&l.DefaultRequest, l.Default)
	fillFrom(&l.DefaultRequest, l.Min)
}

// forbidden is the refusal of a built-in admission plug-in.
func forbidden(gr schema.GroupResource, obj Object, why string) error {
	name := obj.GetName()
	if name == "" {
		name = obj.GetGenerateName() // none has been generated yet
	}
	if name == "" {
		name = "Unknown"
	}
	return apierrors.NewForbidden(gr, name, errors.New(why))
}

// limitPod gives a new pod the defaults of the limit ranges of its namespace.
func limitPod(c *Context, p *corev1.Pod) {
	for _, r := range c.Peers.Peers(limitRangeResource, p.Namespace) {
		applyLimits(r.(*corev1.LimitRange), p)
	}
}

func applyLimits(r *corev1.LimitRange, p *corev1.Pod) {
	var defaults corev1.ResourceRequirements
	for _, l := range r.Spec.Limits {
		if l.Type != corev1.LimitTypeContainer {
			continue
		}
		merge(&defaults.Limits, l.Default)
		merge(&defaults.Requests, l.DefaultRequest)
	}
	var notes []string
	// What was sent is still looked at, to see who owns what.
	p.Spec.Containers, p.Spec.InitContainers = slices.Clone(p.Spec.Containers), slices.Clone(p.Spec.InitContainers)
	for i := range p.Spec.Containers {
		notes = append(notes, applyDefaults(&p.Spec.Containers[i], &defaults, "container")...)
	}
	for i := range p.Spec.InitContainers {
		notes = append(notes, applyDefaults(&p.Spec.InitContainers[i], &defaults, "init container")...)
	}
	if len(notes) > 0 {
		p.Annotations = copied(p.Annotations)
		p.Annotations["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + strings.Join(notes, "; ")
	}
}

// merge makes dst a list with what it lacks from src, and returns the names of that,
// sorted.
func merge(dst *corev1.ResourceList, src corev1.ResourceList) []string {
	var names []string
	out := maps.Clone(*dst)
	if out == nil && len(src) > 0 {
		out = corev1.ResourceList{}
	}
	for _, name := range sortedKeys(src) {
		if _, ok := out[name]; !ok {
			out[name] = src[name].DeepCopy()
			names = append(names, string(name))
		}
	}
	*dst = out
	return names
}

func applyDefaults(c *corev1.Container, defaults *corev1.ResourceRequirements, what string) []string {
	var notes []string
	limits := merge(&c.Resources.Limits, defaults.Limits)
	if names := merge(&c.Resources.Requests, defaults.Requests); len(names) > 0 {
		notes = append(notes, fmt.Sprintf("%s request for %s %s", strings.Join(names, ", "), what, c.Name))
	}
	if len(limits) > 0 {
		notes = append(notes, fmt.Sprintf("%s limit for %s %s", strings.Join(limits, ", "), what, c.Name))
	}
	return notes
}
