package client

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// mapper is a meta.RESTMapper that asks what is served each time, so that kinds
// registered later are known at once.
type mapper struct {
	served Kinds
}

var _ meta.RESTMapper = mapper{}

// matching are the resources for which keep is true, with the best version of a
// group first.
func (m mapper) matching(keep func(apiserver.Resource) bool) []apiserver.Resource {
	var out []apiserver.Resource
	for _, e := range m.served.Resources() {
		if keep(e) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b apiserver.Resource) int {
		if a.Group != b.Group {
			return 0 // as they come
		}
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	return out
}

func (m mapper) byResource(partial schema.GroupVersionResource) ([]apiserver.Resource, error) {
	out := m.matching(func(e apiserver.Resource) bool {
		return (e.Plural == partial.Resource || e.Singular == partial.Resource) &&
			(partial.Group == "" || e.Group == partial.Group) &&
			(partial.Version == "" || e.Version == partial.Version)
	})
	if len(out) == 0 {
		return nil, &meta.NoResourceMatchError{PartialResource: partial}
	}
	return out, nil
}

// KindFor implements meta.RESTMapper.
func (m mapper) KindFor(partial schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	kinds, err := m.KindsFor(partial)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return kinds[0], nil
}

// KindsFor implements meta.RESTMapper.
func (m mapper) KindsFor(partial schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	entries, err := m.byResource(partial)
	out := make([]schema.GroupVersionKind, len(entries))
	for i, e := range entries {
		out[i] = e.GVK()
	}
	return out, err
}

// ResourceFor implements meta.RESTMapper.
func (m mapper) ResourceFor(partial schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	resources, err := m.ResourcesFor(partial)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return resources[0], nil
}

// ResourcesFor implements meta.RESTMapper.
func (m mapper) ResourcesFor(partial schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	entries, err := m.byResource(partial)
	out := make([]schema.GroupVersionResource, len(entries))
	for i, e := range entries {
		out[i] = e.GVR()
	}
	return out, err
}

// RESTMapping implements meta.RESTMapper.
func (m mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mappings, err := m.RESTMappings(gk, versions...)
	if err != nil {
		return nil, err
	}
	return mappings[0], nil
}

// RESTMappings implements meta.RESTMapper.
func (m mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	versions = slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return v == "" })
	entries := m.matching(func(e apiserver.Resource) bool {
		return e.GVK().GroupKind() == gk && (len(versions) == 0 || slices.Contains(versions, e.Version))
	})
	if len(entries) == 0 {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	out := make([]*meta.RESTMapping, len(entries))
	for i, e := range entries {
		scope := meta.RESTScopeNamespace
		if !e.Namespaced {
			scope = meta.RESTScopeRoot
		}
		out[i] = &meta.RESTMapping{Resource: e.GVR(), GroupVersionKind: e.GVK(), Scope: scope}
	}
	return out, nil
}

// ResourceSingularizer implements meta.RESTMapper.
func (m mapper) ResourceSingularizer(resource string) (string, error) {
	entries, err := m.byResource(schema.GroupVersionResource{Resource: resource})
	if err != nil {
		return resource, err
	}
	return entries[0].Singular, nil
}
