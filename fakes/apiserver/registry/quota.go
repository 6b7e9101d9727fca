package registry

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
		podUsage(u, &o.Spec)
	case *corev1.Service:
		switch o.Spec.Type {
		case corev1.ServiceTypeNodePort:
			u[corev1.ResourceServicesNodePorts] = one
		case corev1.ServiceTypeLoadBalancer:
			u[corev1.ResourceServicesLoadBalancers], u[corev1.ResourceServicesNodePorts] = one, one
		}
	case *corev1.PersistentVolumeClaim:
		u[corev1.ResourceRequestsStorage] = o.Spec.Resources.Requests[corev1.ResourceStorage]
	}
	return u
}

// podUsage adds what the pod's containers ask for, under both names that quotas
// have for requests.
func podUsage(u corev1.ResourceList, s *corev1.PodSpec) {
	add := func(name corev1.ResourceName, q resource.Quantity) {
		sum := u[name]
		sum.Add(q)
		u[name] = sum
	}
	for i := range s.Containers {
		r := &s.Containers[i].Resources
		for _, name := range sortedKeys(r.Requests) {
			if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
				add(name, r.Requests[name])
			}
			add("requests."+name, r.Requests[name])
		}
		for _, name := range sortedKeys(r.Limits) {
			add("limits."+name, r.Limits[name])
		}
	}
}
