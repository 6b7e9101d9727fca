package controllermanager

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// prefer marks the preferred version of each resource: the most mature one of its
// group that serves it.
func (m *Manager) prefer() {
	best := make(map[schema.GroupResource]*resource, len(m.sorted))
	for _, r := range m.sorted {
		gr := r.gvr.GroupResource()
		if b := best[gr]; b == nil || version.CompareKubeAwareVersionStrings(r.Version, b.Version) > 0 {
			best[gr] = r
		}
	}
	for _, r := range m.sorted {
		r.preferred = best[r.gvr.GroupResource()] == r
	}
}

// kind returns the resource of a kind, nil if it is not served.
func (m *Manager) kind(apiVersion, kind string) *resource {
	return m.byKind[schema.FromAPIVersionAndKind(apiVersion, kind)]
}
