package registry

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	requests "k8s.io/component-helpers/resource"
)

// Usage returns what an object counts in resource quotas.
func (k *Kind) Usage(obj Object) corev1.ResourceList {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	u := corev1.ResourceList{corev1.ResourceName("count/" + k.GroupResource().String()): one}
	if k.Group == "" {
		u[corev1.ResourceName(k.Plural)] = one
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		podUsage(u, o)
	case *corev1.Service:
		serviceUsage(u, &o.Spec)
	case *corev1.PersistentVolumeClaim:
		claimUsage(u, o)
	}
	return u
}

// podUsage adds what a pod asks for, under both names that quotas have for requests.
// A pod that has ended uses nothing any more.
func podUsage(u corev1.ResourceList, p *corev1.Pod) {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		delete(u, corev1.ResourcePods)
		return
	}
	for name, q := range computed(requests.PodRequests(p, requests.PodResourcesOptions{}), requests.PodLimits(p, requests.PodResourcesOptions{})) {
		u[name] = q
	}
}

// computed is what requests and limits count.
func computed(asked, limits corev1.ResourceList) corev1.ResourceList {
	u := corev1.ResourceList{}
	for _, name := range sortedKeys(asked) {
		q := asked[name]
		switch {
		case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, hugePages(name):
			u[name] = q
			u["requests."+name] = q
		case strings.Contains(string(name), "/"):
			u["requests."+name] = q
		}
	}
	for _, name := range sortedKeys(limits) {
		if q := limits[name]; name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage {
			u["limits."+name] = q
		}
	}
	return u
}

// serviceUsage adds the ports that nodes are to open for a service.
func serviceUsage(u corev1.ResourceList, s *corev1.ServiceSpec) {
	ports := int64(len(s.Ports))
	if s.Type == corev1.ServiceTypeLoadBalancer {
		u[corev1.ResourceServicesLoadBalancers] = *resource.NewQuantity(1, resource.DecimalSI)
		if s.AllocateLoadBalancerNodePorts != nil && !*s.AllocateLoadBalancerNodePorts {
			ports = 0
			for i := range s.Ports {
				if s.Ports[i].NodePort != 0 {
					ports++
				}
			}
		}
	}
	if s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer {
		u[corev1.ResourceServicesNodePorts] = *resource.NewQuantity(ports, resource.DecimalSI)
	}
}

// claimUsage adds the storage that a claim asks for, also by its class.
func claimUsage(u corev1.ResourceList, c *corev1.PersistentVolumeClaim) {
	const ofClass = ".storageclass.storage.k8s.io/"
	class := c.Annotations[corev1.BetaStorageClassAnnotation]
	if class == "" && c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	if class != "" {
		u[corev1.ResourceName(class+ofClass)+corev1.ResourcePersistentVolumeClaims] = *resource.NewQuantity(1, resource.DecimalSI)
	}
	q, ok := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return
	}
	u[corev1.ResourceRequestsStorage] = q
	if class != "" {
		u[corev1.ResourceName(class+ofClass)+corev1.ResourceRequestsStorage] = q
	}
}

// Recounted reports whether a change of an object is booked on quotas.
func (k *Kind) Recounted(obj, old Object) bool {
	switch o := obj.(type) {
	case *corev1.Service, *corev1.PersistentVolumeClaim:
		return true
	case *corev1.Pod: // whose scope it changes
		return hasDeadline(o) != hasDeadline(old.(*corev1.Pod))
	default:
		return false
	}
}

func hasDeadline(p *corev1.Pod) bool {
	return p.Spec.ActiveDeadlineSeconds != nil && *p.Spec.ActiveDeadlineSeconds >= 0
}

// Counts reports whether quotas count resources of that name for objects of the kind,
// even if an object has none of it.
func (k *Kind) Counts(name corev1.ResourceName) bool {
	if string(name) == "count/"+k.GroupResource().String() || k.Group == "" && string(name) == k.Plural {
		return true
	}
	switch {
	case k.Group != "":
		return false
	case k.Plural == podResource.Resource:
		storage := name == corev1.ResourceRequestsStorage
		return measured[name] && !storage || hugePages(name) || strings.HasPrefix(string(name), "requests.") && strings.Contains(string(name), "/")
	case k.Plural == serviceResource.Resource:
		return name == corev1.ResourceServicesNodePorts || name == corev1.ResourceServicesLoadBalancers
	case k.Plural == claimResource.Resource:
		return name == corev1.ResourceRequestsStorage || strings.Contains(string(name), ".storageclass.storage.k8s.io/")
	}
	return false
}

// InScope reports whether a quota with the scopes is about the object.
func InScope(s *corev1.ResourceQuotaSpec, obj Object) bool {
	if len(s.Scopes) == 0 && s.ScopeSelector == nil {
		return true
	}
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return false
	}
	for _, scope := range s.Scopes {
		if !podInScope(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, p) {
			return false
		}
	}
	return s.ScopeSelector == nil || !slices.ContainsFunc(s.ScopeSelector.MatchExpressions, func(r corev1.ScopedResourceSelectorRequirement) bool { return !podInScope(r, p) })
}

func podInScope(r corev1.ScopedResourceSelectorRequirement, p *corev1.Pod) bool {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return hasDeadline(p)
	case corev1.ResourceQuotaScopeNotTerminating:
		return !hasDeadline(p)
	case corev1.ResourceQuotaScopeBestEffort:
		return qosClass(p) == corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return qosClass(p) != corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopePriorityClass:
		class := p.Spec.PriorityClassName
		switch r.Operator {
		case corev1.ScopeSelectorOpIn:
			return class != "" && slices.Contains(r.Values, class)
		case corev1.ScopeSelectorOpNotIn:
			return !slices.Contains(r.Values, class)
		case corev1.ScopeSelectorOpDoesNotExist:
			return class == ""
		default:
			return class != ""
		}
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return looksElsewhere(p)
	default:
		return false
	}
}

// looksElsewhere reports whether a pod's affinity is about pods of other namespaces.
func looksElsewhere(p *corev1.Pod) bool {
	if p.Spec.Affinity == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	if a := p.Spec.Affinity.PodAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
		for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			terms = append(terms, a.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm)
		}
	}
	if a := p.Spec.Affinity.PodAntiAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
		for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			terms = append(terms, a.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm)
		}
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
}

// Unspecified says what the containers of a pod must ask for, as a quota limits it,
// and do not; empty means nothing.
func Unspecified(obj Object, limited []corev1.ResourceName) string {
	p, ok := obj.(*corev1.Pod)
	if !ok || p.Spec.Resources != nil && len(p.Spec.Resources.Requests)+len(p.Spec.Resources.Limits) > 0 {
		return ""
	}
	var missing []string
	for _, name := range limited {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory:
		default:
			continue
		}
		var names []string
		for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for i := range list {
				if _, ok := computed(list[i].Resources.Requests, list[i].Resources.Limits)[name]; !ok {
					names = append(names, list[i].Name)
				}
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			missing = append(missing, fmt.Sprintf("%s for: %s", name, strings.Join(slices.Compact(names), ",")))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "must specify " + strings.Join(missing, "; ")
}
