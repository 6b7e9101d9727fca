package crd

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	versions "k8s.io/apimachinery/pkg/version"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
)

// Definition is a CustomResourceDefinition ready to be served. It is immutable.
type Definition struct {
	crd      *apiextensions.CustomResourceDefinition // name, spec and accepted names only
	storage  string
	versions map[string]*version
}

// version is one version of a definition.
type version struct {
	definition *Definition
	spec       *apiextensions.CustomResourceDefinitionVersion
	gvk        schema.GroupVersionKind
	compiled   func() *compiled
	embeds     bool // objects of other kinds are part of the schema
	rules      bool // there are rules in CEL
	openAPI    openAPI
}

func newDefinition(d *apiextensions.CustomResourceDefinition) *Definition {
	def := &Definition{
		crd: &apiextensions.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: d.Name},
			Spec:       *d.Spec.DeepCopy(),
			Status:     apiextensions.CustomResourceDefinitionStatus{AcceptedNames: *d.Status.AcceptedNames.DeepCopy()},
		},
		versions: map[string]*version{},
	}
	for i := range def.crd.Spec.Versions {
		spec := &def.crd.Spec.Versions[i]
		v := &version{
			definition: def, spec: spec,
			gvk: schema.GroupVersionKind{Group: d.Spec.Group, Version: spec.Name, Kind: d.Status.AcceptedNames.Kind},
		}
		v.compiled = sync.OnceValue(v.compile)
		v.openAPI.init(v)
		if s := v.schema(); s != nil {
			v.embeds = schemaHas(s, func(s *apiextensions.JSONSchemaProps) bool { return s.XEmbeddedResource })
			v.rules = schemaHas(s, func(s *apiextensions.JSONSchemaProps) bool { return len(s.XValidations) > 0 })
		}
		def.versions[spec.Name] = v
		if spec.Storage {
			def.storage = spec.Name
		}
	}
	return def
}

// Storage is the group and the storage version of what is defined.
func (d *Definition) Storage() schema.GroupVersion {
	return schema.GroupVersion{Group: d.crd.Spec.Group, Version: d.storage}
}

// Webhook reports whether versions are converted by a webhook.
func (d *Definition) Webhook() bool {
	c := d.crd.Spec.Conversion
	return c != nil && c.Strategy == apiextensions.WebhookConverter
}

// Entries are what is served: one entry for each served version. A nil convert
// changes nothing but the apiVersion.
func (d *Definition) Entries(from *registry.Definition, convert Converter) []*registry.Entry {
	var out []*registry.Entry
	for i := range d.crd.Spec.Versions {
		if v := d.versions[d.crd.Spec.Versions[i].Name]; v.spec.Served {
			out = append(out, registry.NewEntry(v.kind(convert), from))
		}
	}
	return out
}

// kind is the kind that a version is served as.
func (v *version) kind(convert Converter) *registry.Kind {
	names := v.definition.crd.Status.AcceptedNames
	k := &registry.Kind{
		GroupVersionKind: v.gvk,
		Names: registry.Names{
			Plural: names.Plural, Singular: names.Singular, ListKind: names.ListKind,
			ShortNames: names.ShortNames, Categories: names.Categories,
		},
		Cluster:         v.definition.crd.Spec.Scope == apiextensions.ClusterScoped,
		Custom:          true,
		Generation:      registry.Content,
		Write:           registry.WriteRules{PutNeedsVersion: true},
		Schema:          &instances{version: v, convert: convert},
		Validate:        v.validateNew,
		ValidateUpdate:  v.validateUpdate,
		Revalidate:      v.rules || v.embeds,
		Warn:            warnOfFinalizers,
		Deprecation:     v.deprecation(),
		PlainFieldError: true,
		Pure:            !v.embeds,
		Scale:           v.scale(),
	}
	if sub := v.spec.Subresources; sub != nil && sub.Status != nil {
		k.Status = &registry.Status{Validate: v.validateStatus}
	}
	k.Fields = v.selectable(k.Schema)
	return k
}

func (v *version) schema() *apiextensions.JSONSchemaProps {
	if v.spec.Schema == nil {
		return nil
	}
	return v.spec.Schema.OpenAPIV3Schema
}

// deprecation is the warning that comes with every answer.
func (v *version) deprecation() string {
	switch {
	case !v.spec.Deprecated:
		return ""
	case v.spec.DeprecationWarning != nil:
		return *v.spec.DeprecationWarning
	}
	text := fmt.Sprintf("%s %s is deprecated", v.gvk.GroupVersion(), v.definition.crd.Spec.Names.Kind)
	var better []string
	for _, other := range v.definition.crd.Spec.Versions {
		if other.Served && !other.Deprecated && versions.CompareKubeAwareVersionStrings(v.spec.Name, other.Name) < 0 {
			better = append(better, other.Name)
		}
	}
	if len(better) == 0 {
		return text
	}
	best := slices.MaxFunc(better, versions.CompareKubeAwareVersionStrings)
	return text + fmt.Sprintf("; use %s/%s %s", v.gvk.Group, best, v.definition.crd.Spec.Names.Kind)
}

// schemaHas reports whether found is true of s or of a schema in it.
func schemaHas(s *apiextensions.JSONSchemaProps, found func(*apiextensions.JSONSchemaProps) bool) bool {
	if found(s) {
		return true
	}
	below := func(s *apiextensions.JSONSchemaProps) bool { return s != nil && schemaHas(s, found) }
	any := func(list []apiextensions.JSONSchemaProps) bool {
		return slices.ContainsFunc(list, func(s apiextensions.JSONSchemaProps) bool { return schemaHas(&s, found) })
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; schemaHas(&p, found) {
			return true
		}
	}
	return s.Items != nil && (below(s.Items.Schema) || any(s.Items.JSONSchemas)) ||
		s.AdditionalProperties != nil && below(s.AdditionalProperties.Schema) ||
		below(s.Not) || any(s.AllOf) || any(s.AnyOf) || any(s.OneOf)
}
