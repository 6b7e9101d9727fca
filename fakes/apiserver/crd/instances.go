package crd

import (
	"fmt"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
)

// instances are the objects of one version: the registry.Schema of its kind.
type instances struct {
	*version
	convert Converter
}

var _ registry.Schema = (*instances)(nil)

// Settled implements registry.Schema.
func (s *instances) Settled() bool { return s.spec.Storage }

// Coerce implements registry.Schema. The schema is that of the version that obj
// names, even if that is another one.
func (s *instances) Coerce(obj registry.Object, wanted bool) ([]string, error) {
	return s.definition.coerce(obj.(*unstructured.Unstructured), wanted)
}

func (d *Definition) coerce(u *unstructured.Unstructured, wanted bool) (unknown []string, err error) {
	unknown, err = coerceMetadata(u.Object, wanted)
	if err != nil {
		return nil, err
	}
	gvk := u.GroupVersionKind()
	if gvk.GroupKind() != d.groupKind() {
		return unknown, nil
	}
	c, err := d.compiled(gvk.Version)
	if err != nil {
		return nil, err
	}
	var ss *structural.Structural
	if c != nil {
		ss = c.structural
	}
	if !d.crd.Spec.PreserveUnknownFields {
		paths := pruning.PruneWithOptions(u.Object, ss, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: wanted})
		unknown = append(unknown, paths...)
		defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, ss)
	}
	if v := d.versions[gvk.Version]; v == nil || !v.embeds {
		return unknown, nil
	}
	problem, paths := objectmeta.CoerceWithOptions(nil, u.Object, ss, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: wanted})
	if problem != nil {
		return nil, problem
	}
	return append(unknown, paths...), nil
}

// Default implements registry.Schema.
func (s *instances) Default(obj registry.Object) {
	s.definition.fill(obj.(*unstructured.Unstructured))
}

func (d *Definition) fill(u *unstructured.Unstructured) {
	gvk := u.GroupVersionKind()
	if gvk.GroupKind() != d.groupKind() {
		return
	}
	if c, err := d.compiled(gvk.Version); err == nil && c != nil {
		defaulting.Default(u.Object, c.structural)
	}
}

// Load implements registry.Schema.
func (s *instances) Load(stored registry.Object) (registry.Object, error) {
	u := stored.(*unstructured.Unstructured).DeepCopy()
	if _, err := s.definition.coerce(u, false); err != nil {
		return nil, err
	}
	s.definition.fill(u)
	if u.GroupVersionKind().Version == s.gvk.Version {
		return u, nil
	}
	return s.converted(u, s.gvk.Version)
}

// Save implements registry.Schema. Defaults of the storage version are filled in,
// as they would be when the object is read.
func (s *instances) Save(obj registry.Object) (registry.Object, error) {
	if s.spec.Storage {
		return obj, nil
	}
	u, err := s.converted(obj.(*unstructured.Unstructured).DeepCopy(), s.definition.storage)
	if err != nil {
		return nil, err
	}
	s.definition.fill(u)
	return u, nil
}

// converted makes u, which it takes over, an object of another version.
func (s *instances) converted(u *unstructured.Unstructured, to string) (*unstructured.Unstructured, error) {
	from, target := u.GroupVersionKind().GroupVersion(), schema.GroupVersion{Group: s.gvk.Group, Version: to}
	if s.definition.versions[from.Version] == nil {
		return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", from)
	}
	if s.convert == nil {
		u.SetAPIVersion(target.String())
	} else {
		var err error
		if u, err = convertBy(s.convert, u, target); err != nil {
			return nil, err
		}
	}
	_, err := s.definition.coerce(u, false)
	return u, err
}

func (d *Definition) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: d.crd.Spec.Group, Kind: d.crd.Status.AcceptedNames.Kind}
}

// compiled returns the compiled schema of a version, or nil if there is no such
// version.
func (d *Definition) compiled(name string) (*compiled, error) {
	v := d.versions[name]
	if v == nil {
		return nil, nil
	}
	c := v.compiled()
	return c, c.err
}
