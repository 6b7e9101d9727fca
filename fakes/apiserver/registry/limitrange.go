package registry

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Resources that the rules of other kinds ask for.
var (
	limitRangeResource    = schema.GroupResource{Resource: "limitranges"}
	podResource           = schema.GroupResource{Resource: "pods"}
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

// limitPod applies the limit ranges of the pod's namespace.
func limitPod(c *Context, p *corev1.Pod) error {
	ranges := c.Peers.Peers(limitRangeResource, p.Namespace)
	for _, r := range ranges {
		applyLimits(r.(*corev1.LimitRange), p)
	}
	for _, r := range ranges {
		if err := checkLimits(r.(*corev1.LimitRange), p); err != nil {
			return forbidden(podResource, p, err.Error())
		}
	}
	return nil
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
	for i := range p.Spec.Containers {
		notes = append(notes, applyDefaults(&p.Spec.Containers[i], &defaults, "container")...)
	}
	for i := range p.Spec.InitContainers {
		notes = append(notes, applyDefaults(&p.Spec.InitContainers[i], &defaults, "init container")...)
	}
	if len(notes) > 0 {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + strings.Join(notes, "; ")
	}
}

// merge copies what dst lacks and returns the names of what it copied, sorted.
func merge(dst *corev1.ResourceList, src corev1.ResourceList) []string {
	var names []string
	if *dst == nil && len(src) > 0 {
		*dst = corev1.ResourceList{}
	}
	for name, q := range src {
		if _, ok := (*dst)[name]; ok {
			continue
		}
		(*dst)[name] = q.DeepCopy()
		names = append(names, string(name))
	}
	sort.Strings(names)
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

func checkLimits(r *corev1.LimitRange, p *corev1.Pod) error {
	var errs []error
	for _, l := range r.Spec.Limits {
		if l.Type != corev1.LimitTypeContainer {
			continue
		}
		for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for i := range list {
				res := &list[i].Resources
				for _, name := range sortedKeys(l.Min) {
					errs = append(errs, checkBound("minimum", string(name), l.Min[name], res, -1)...)
				}
				for _, name := range sortedKeys(l.Max) {
					errs = append(errs, checkBound("maximum", string(name), l.Max[name], res, +1)...)
				}
			}
		}
	}
	return utilerrors.NewAggregate(errs)
}

// checkBound checks the request and limit of one resource against a minimum
// (sign -1) or maximum (+1). Only the first violation is told.
func checkBound(what, name string, bound resource.Quantity, r *corev1.ResourceRequirements, sign int) []error {
	request, hasRequest := r.Requests[corev1.ResourceName(name)]
	limit, hasLimit := r.Limits[corev1.ResourceName(name)]
	say := func(format string, args ...any) []error {
		return []error{fmt.Errorf("%s %s usage per Container is %s"+format, append([]any{what, name, bound.String()}, args...)...)}
	}
	values := []struct {
		name string
		q    resource.Quantity
		set  bool
	}{{"request", request, hasRequest}, {"limit", limit, hasLimit}}
	if sign > 0 {
		values[0], values[1] = values[1], values[0]
	}
	if !values[0].set {
		return say(".  No %s is specified", values[0].name)
	}
	for _, v := range values {
		if v.set && v.q.Cmp(bound)*sign > 0 {
			return say(", but %s is %s", v.name, v.q.String())
		}
	}
	return nil
}
