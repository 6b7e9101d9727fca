package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Usage returns what an object counts in resource quotas, by the names that quotas
// have for it; nil if the resource is not served.
func (st *Store) Usage(gvr schema.GroupVersionResource, obj Object) corev1.ResourceList {
	ep, ok := st.endpoint(gvr)
	if !ok {
		return nil
	}
	return ep.Usage(obj)
}
