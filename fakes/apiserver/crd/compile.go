package crd

import (
	"fmt"

	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// compiled is what the schema of a version comes down to.
type compiled struct {
	err        error // why the version cannot be served
	structural *structural.Structural
	whole      validation.SchemaValidator
	status     validation.SchemaValidator // nil without a schema for the status
	rules      *cel.Validator             // nil without rules
	negates    bool                       // the schema has a not or a oneOf
}

func (v *version) compile() *compiled {
	c, err := v.tryCompile()
	if err != nil { // a definition that passes validation compiles
		return &compiled{err: fmt.Errorf("compile the schema of %s: %w", v.gvk, err)}
	}
	return c
}

func (v *version) tryCompile() (*compiled, error) {
	var props *internal.JSONSchemaProps
	c := &compiled{}
	if s := v.schema(); s != nil {
		c.negates = schemaHas(s, func(s *apiextensions.JSONSchemaProps) bool { return s.Not != nil || len(s.OneOf) > 0 })
		props = &internal.JSONSchemaProps{}
		if err := apiextensions.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s, props, nil); err != nil {
			return nil, err
		}
		ss, err := structural.NewStructural(props)
		if err != nil {
			return nil, err
		}
		c.structural = ss.DeepCopy() // defaults belong to props
		if err := defaulting.PruneDefaults(c.structural); err != nil {
			return nil, err
		}
	}
	var err error
	if c.whole, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, err
	}
	if props != nil {
		if status, ok := props.Properties["status"]; ok {
			if c.status, _, err = validation.NewSchemaValidator(&status); err != nil {
				return nil, err
			}
		}
	}
	if c.structural != nil {
		c.rules = cel.NewValidator(c.structural, true, celconfig.PerCallLimit)
	}
	return c, nil
}
