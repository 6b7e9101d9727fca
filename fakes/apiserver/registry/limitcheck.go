package registry

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	requests "k8s.io/component-helpers/resource"
)

// What limit ranges refuse.

// ownNeeds are those of a pod without what its runtime needs on top, of which limits
// take no notice.
var ownNeeds = requests.PodResourcesOptions{ExcludeOverhead: true}

// checkLimits checks a pod that is valid.
func checkLimits(r *corev1.LimitRange, p *corev1.Pod) error {
	var errs []error
	for i := range r.Spec.Limits {
		switch l := &r.Spec.Limits[i]; l.Type {
		case corev1.LimitTypeContainer:
			for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
				for j := range list {
					errs = append(errs, withinLimits(l, list[j].Resources.Requests, list[j].Resources.Limits)...)
				}
			}
		case corev1.LimitTypePod:
			errs = append(errs, withinLimits(l, requests.PodRequests(p, ownNeeds), requests.PodLimits(p, ownNeeds))...)
		}
	}
	return utilerrors.NewAggregate(errs)
}

// checkClaimLimits checks a claim, of which only what it asks for counts.
func checkClaimLimits(r *corev1.LimitRange, c *corev1.PersistentVolumeClaim) error {
	var errs []error
	for i := range r.Spec.Limits {
		l := &r.Spec.Limits[i]
		if l.Type != corev1.LimitTypePersistentVolumeClaim {
			continue
		}
		asked := c.Spec.Resources.Requests
		for _, name := range sortedKeys(l.Min) {
			errs = append(errs, bound{"minimum", l.Type, name, l.Min[name]}.check(-1, amount{"request", asked})...)
		}
		for _, name := range sortedKeys(l.Max) {
			errs = append(errs, bound{"maximum", l.Type, name, l.Max[name]}.check(+1, amount{"request", asked})...)
		}
	}
	return utilerrors.NewAggregate(errs)
}

func withinLimits(l *corev1.LimitRangeItem, asked, limits corev1.ResourceList) []error {
	var errs []error
	for _, name := range sortedKeys(l.Min) {
		errs = append(errs, bound{"minimum", l.Type, name, l.Min[name]}.check(-1, amount{"request", asked}, amount{"limit", limits})...)
	}
	for _, name := range sortedKeys(l.Max) {
		errs = append(errs, bound{"maximum", l.Type, name, l.Max[name]}.check(+1, amount{"limit", limits}, amount{"request", asked})...)
	}
	for _, name := range sortedKeys(l.MaxLimitRequestRatio) {
		if err := withinRatio(l.Type, name, l.MaxLimitRequestRatio[name], asked, limits); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// bound is a minimum or a maximum of something.
type bound struct {
	what  string
	of    corev1.LimitType
	name  corev1.ResourceName
	value resource.Quantity
}

type amount struct {
	what string
	list corev1.ResourceList
}

// check checks amounts, of which the first is needed, against a minimum (sign -1) or
// maximum (+1). Only the first violation is told.
func (b bound) check(sign int, amounts ...amount) []error {
	say := func(format string, args ...any) []error {
		return []error{fmt.Errorf("%s %s usage per %s is %s"+format, append([]any{b.what, b.name, b.of, b.value.String()}, args...)...)}
	}
	if _, ok := amounts[0].list[b.name]; !ok {
		return say(".  No %s is specified", amounts[0].what)
	}
	for _, a := range amounts {
		if q, ok := a.list[b.name]; ok && q.Cmp(b.value)*sign > 0 {
			return say(", but %s is %s", a.what, q.String())
		}
	}
	return nil
}

func withinRatio(of corev1.LimitType, name corev1.ResourceName, most resource.Quantity, asked, limits corev1.ResourceList) error {
	refuse := func(why string) error {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but %s", name, of, most.String(), why)
	}
	request, limit := asked[name], limits[name]
	switch {
	case request.IsZero():
		return refuse("no request is specified or request is 0")
	case limit.IsZero():
		return refuse("no limit is specified or limit is 0")
	}
	if ratio := float64(limit.MilliValue()) / float64(request.MilliValue()); ratio*1000 > float64(most.MilliValue()) {
		return refuse(fmt.Sprintf("provided ratio is %f", ratio))
	}
	return nil
}
