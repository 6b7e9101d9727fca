package crd

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	instancevalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
)

// verdict is what was found about a new definition.
type verdict struct {
	errs     field.ErrorList
	warnings []string
}

var _ registry.Definitions = (*Cache)(nil)

// Validate implements registry.Definitions. To check rules in CEL takes
// milliseconds, so what was found about a new definition is remembered.
func (c *Cache) Validate(ctx *registry.Context, d, old *apiextensions.CustomResourceDefinition) field.ErrorList {
	if old != nil {
		return judgeChange(ctx, d, old)
	}
	key := contentOf(struct {
		Name, Approval string
		Spec           *apiextensions.CustomResourceDefinitionSpec
		Stored         []string
	}{d.Name, d.Annotations[apiextensions.KubeAPIApprovedAnnotation], &d.Spec, d.Status.StoredVersions})
	c.mu.Lock()
	v, known := c.verdicts[key]
	c.mu.Unlock()
	if !known {
		v = judge(d)
		c.mu.Lock()
		if c.verdicts == nil {
			c.verdicts = map[string]verdict{}
		}
		c.verdicts[key] = v
		c.mu.Unlock()
	}
	if len(v.errs) == 0 {
		warn(ctx, v.warnings)
	}
	return slices.Clone(v.errs)
}

// judge checks a new definition.
func judge(d *apiextensions.CustomResourceDefinition) verdict {
	in, err := toInternal(d)
	if err != nil {
		return verdict{errs: field.ErrorList{field.InternalError(nil, err)}}
	}
	errs := definitions.ValidateCustomResourceDefinition(context.Background(), in)
	return verdict{errs: presentable(errs), warnings: append(unknownFormats(&in.Spec), oddSets(&in.Spec)...)}
}

// judgeChange checks a changed definition.
func judgeChange(ctx *registry.Context, d, old *apiextensions.CustomResourceDefinition) field.ErrorList {
	in, err := toInternal(d)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	was, err := toInternal(old)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	errs := definitions.ValidateCustomResourceDefinitionUpdate(context.Background(), in, was)
	if len(errs) > 0 {
		return presentable(errs)
	}
	warn(ctx, without(unknownFormats(&in.Spec), unknownFormats(&was.Spec)))
	warn(ctx, without(oddSets(&in.Spec), oddSets(&was.Spec)))
	return nil
}

// ValidateStatus implements registry.Definitions.
func (c *Cache) ValidateStatus(d, old *apiextensions.CustomResourceDefinition) field.ErrorList {
	in, err := toInternal(d)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	was, err := toInternal(old)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return presentable(definitions.ValidateUpdateCustomResourceDefinitionStatus(context.Background(), in, was))
}

func warn(ctx *registry.Context, texts []string) {
	if ctx == nil || ctx.Warn == nil {
		return
	}
	for _, text := range texts {
		ctx.Warn(text)
	}
}

func without(texts, known []string) []string {
	var out []string
	for _, text := range texts {
		if !slices.Contains(known, text) {
			out = append(out, text)
		}
	}
	return out
}

// toInternal converts to the type that the libraries validate.
func toInternal(d *apiextensions.CustomResourceDefinition) (*internal.CustomResourceDefinition, error) {
	out := &internal.CustomResourceDefinition{}
	err := apiextensions.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(d.DeepCopy(), out, nil)
	if err != nil {
		return nil, fmt.Errorf("convert CustomResourceDefinition %q: %w", d.Name, err)
	}
	return out, nil
}

// selfType is the name that a rule's compiler gives the type of self: another one
// each time, so that nobody uses it.
var selfType = regexp.MustCompile(`\bselfType[0-9]+\b`)

// presentable puts errors into an order and takes out of their texts what is not
// the same each time.
func presentable(errs field.ErrorList) field.ErrorList {
	for _, e := range errs {
		e.Detail = selfType.ReplaceAllString(e.Detail, "selfType")
	}
	return inOrder(errs)
}

// eachSchema calls f with every schema of spec, and every one below.
func eachSchema(s *internal.CustomResourceDefinitionSpec, f func(*internal.JSONSchemaProps)) {
	visit := func(v *internal.CustomResourceValidation) {
		if v != nil && v.OpenAPIV3Schema != nil {
			definitions.SchemaHas(v.OpenAPIV3Schema, func(s *internal.JSONSchemaProps) bool { f(s); return false })
		}
	}
	visit(s.Validation)
	for _, v := range s.Versions {
		visit(v.Schema)
	}
}

// unknownFormats are warnings about formats that are not validated.
func unknownFormats(s *internal.CustomResourceDefinitionSpec) []string {
	var out []string
	eachSchema(s, func(s *internal.JSONSchemaProps) {
		if s.Format == "" {
			return
		}
		open := &spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}}
		for _, format := range instancevalidation.GetUnrecognizedFormats(open, environment.DefaultCompatibilityVersion()) {
			out = append(out, fmt.Sprintf("unrecognized format %q", format))
		}
	})
	slices.Sort(out)
	return out
}

// oddSets are warnings about sets of what is no scalar.
func oddSets(s *internal.CustomResourceDefinitionSpec) []string {
	found := map[string]bool{}
	eachSchema(s, func(s *internal.JSONSchemaProps) {
		if s.XListType == nil || *s.XListType != "set" || s.Items == nil || s.Items.Schema == nil {
			return
		}
		if kind := s.Items.Schema.Type; kind == "object" || kind == "array" {
			found[fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", kind)] = true
		}
	})
	return slices.Sorted(maps.Keys(found))
}
