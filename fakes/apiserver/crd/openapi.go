package crd

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// openAPI are documents and converters that are made from the schema of a version
// when somebody asks for them.
type openAPI struct {
	document  func() (*spec3.OpenAPI, error)
	version2  func() (*spec.Swagger, error)
	converter func() (managedfields.TypeConverter, error)
}

func (o *openAPI) init(v *version) {
	o.document = sync.OnceValues(func() (*spec3.OpenAPI, error) {
		doc, err := builder.BuildOpenAPIV3(v.definition.crd, v.spec.Name, builder.Options{V2: false, IncludeSelectableFields: true})
		if err != nil {
			return nil, fmt.Errorf("build the OpenAPI document of %s: %w", v.gvk, err)
		}
		return doc, nil
	})
	o.version2 = sync.OnceValues(func() (*spec.Swagger, error) {
		doc, err := builder.BuildOpenAPIV2(v.definition.crd, v.spec.Name, builder.Options{V2: true, IncludeSelectableFields: true})
		if err != nil {
			return nil, fmt.Errorf("build the OpenAPI document, version 2, of %s: %w", v.gvk, err)
		}
		for _, name := range slices.Sorted(maps.Keys(doc.Definitions)) {
			doc.Definitions[name] = withoutDefaults(doc.Definitions[name])
		}
		return doc, nil
	})
	o.converter = sync.OnceValues(func() (managedfields.TypeConverter, error) {
		doc, err := builder.BuildOpenAPIV3(v.definition.crd, v.spec.Name, builder.Options{})
		if err != nil {
			return nil, fmt.Errorf("build the schema of %s for apply: %w", v.gvk, err)
		}
		c, err := managedfields.NewTypeConverter(doc.Components.Schemas, v.definition.crd.Spec.PreserveUnknownFields)
		if err != nil {
			return nil, fmt.Errorf("make the type converter of %s: %w", v.gvk, err)
		}
		return c, nil
	})
}

// OpenAPI implements registry.Schema. The document is shared: read-only.
func (s *instances) OpenAPI() (*spec3.OpenAPI, error) { return s.openAPI.document() }

// OpenAPIV2 implements registry.Schema. The document is shared: read-only.
func (s *instances) OpenAPIV2() (*spec.Swagger, error) { return s.openAPI.version2() }

// TypeConverter implements registry.Schema.
func (s *instances) TypeConverter() (managedfields.TypeConverter, error) {
	return s.openAPI.converter()
}

// withoutDefaults is s without the defaults in it, which version 2 of OpenAPI does
// not publish. What s refers to is not changed: metadata is shared by all documents.
func withoutDefaults(s spec.Schema) spec.Schema {
	s.Default = nil
	below := func(p *spec.Schema) *spec.Schema {
		if p == nil {
			return nil
		}
		out := withoutDefaults(*p)
		return &out
	}
	list := func(of []spec.Schema) []spec.Schema {
		of = slices.Clone(of)
		for i := range of {
			of[i] = withoutDefaults(of[i])
		}
		return of
	}
	s.Properties = maps.Clone(s.Properties)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		s.Properties[name] = withoutDefaults(s.Properties[name])
	}
	if s.Items != nil {
		s.Items = &spec.SchemaOrArray{Schema: below(s.Items.Schema), Schemas: list(s.Items.Schemas)}
	}
	if a := s.AdditionalProperties; a != nil {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: a.Allows, Schema: below(a.Schema)}
	}
	s.AllOf, s.AnyOf, s.OneOf, s.Not = list(s.AllOf), list(s.AnyOf), list(s.OneOf), below(s.Not)
	return s
}
