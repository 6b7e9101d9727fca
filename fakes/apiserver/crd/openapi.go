package crd

import (
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
)

// openAPI are documents and converters that are made from the schema of a version
// when somebody asks for them.
type openAPI struct {
	document  func() (*spec3.OpenAPI, error)
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

// TypeConverter implements registry.Schema.
func (s *instances) TypeConverter() (managedfields.TypeConverter, error) {
	return s.openAPI.converter()
}
