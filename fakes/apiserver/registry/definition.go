package registry

import (
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Definitions are the rules of CustomResourceDefinitions, which need the schema
// libraries. The package crd has them.
type Definitions interface {
	// Validate checks a definition, or a change of old if that is not nil. It
	// warns about what is valid but odd.
	Validate(c *Context, d, old *apiextensions.CustomResourceDefinition) field.ErrorList

	// ValidateStatus checks a write to the status of a definition.
	ValidateStatus(d, old *apiextensions.CustomResourceDefinition) field.ErrorList
}

var definitions = &Kind{
	GroupVersionKind: apiextensions.SchemeGroupVersion.WithKind("CustomResourceDefinition"),
	Names:            Names{Plural: "customresourcedefinitions", ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"}},
	Cluster:          true,
	Prototype:        &apiextensions.CustomResourceDefinition{},
	Generation:       SpecOnly,
	Write:            WriteRules{PutNeedsVersion: true},
	Default: func(obj Object) {
		apiextensions.SetObjectDefaults_CustomResourceDefinition(obj.(*apiextensions.CustomResourceDefinition))
	},
	Status: &Status{
		OnCreate: func(_ *Context, obj Object) { noteStorageVersion(obj.(*apiextensions.CustomResourceDefinition)) },
		Validate: func(c *Context, obj, old Object) field.ErrorList {
			return c.Definitions.ValidateStatus(obj.(*apiextensions.CustomResourceDefinition), old.(*apiextensions.CustomResourceDefinition))
		},
	},
	PrepareUpdate: func(_ *Context, obj, _ Object) { noteStorageVersion(obj.(*apiextensions.CustomResourceDefinition)) },
	Validate: func(c *Context, obj Object) field.ErrorList {
		return c.Definitions.Validate(c, obj.(*apiextensions.CustomResourceDefinition), nil)
	},
	ValidateUpdate: func(c *Context, obj, old Object) field.ErrorList {
		return c.Definitions.Validate(c, obj.(*apiextensions.CustomResourceDefinition), old.(*apiextensions.CustomResourceDefinition))
	},
}

// noteStorageVersion notes the version in which objects are stored from now on.
func noteStorageVersion(d *apiextensions.CustomResourceDefinition) {
	for _, v := range d.Spec.Versions {
		if !v.Storage {
			continue
		}
		for _, known := range d.Status.StoredVersions {
			if known == v.Name {
				return
			}
		}
		d.Status.StoredVersions = append(d.Status.StoredVersions[:len(d.Status.StoredVersions):len(d.Status.StoredVersions)], v.Name)
		return
	}
}
