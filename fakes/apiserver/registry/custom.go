package registry

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Info describes a custom resource in as few words as possible.
type Info struct {
	// GVK is required. If a scheme knows it, objects are of that Go type,
	// otherwise they are unstructured.
	GVK schema.GroupVersionKind

	// Plural, the resource's name; empty means a guess at the plural.
	Plural     string
	ShortNames []string
	Categories []string

	// Cluster says that objects are in no namespace.
	Cluster bool

	// Status gives the kind a status subresource: status is then written by
	// nothing else, and does not count for the generation.
	Status bool

	// Default, Validate and ValidateUpdate stand for the schema's.
	Default        func(Object)
	Validate       func(Object) field.ErrorList
	ValidateUpdate func(obj, old Object) field.ErrorList

	// Selectable are the field selectors beside metadata.name and
	// metadata.namespace, by their path.
	Selectable map[string]func(Object) string

	// Unstructured says that objects are unstructured although the scheme knows
	// the kind.
	Unstructured bool
}

// Custom returns the kind that info describes. The prototype may be nil.
func Custom(info Info, prototype Object) *Kind {
	k := &Kind{
		GroupVersionKind: info.GVK,
		Names:            Names{Plural: info.Plural, ShortNames: info.ShortNames, Categories: info.Categories},
		Cluster:          info.Cluster,
		Custom:           true,
		Prototype:        prototype,
		Generation:       Content,
		Write:            WriteRules{PutNeedsVersion: true},
		Default:          info.Default,
		Pure:             info.Default == nil,
	}
	if k.Plural == "" {
		gvr, _ := meta.UnsafeGuessKindToResource(info.GVK)
		k.Plural = gvr.Resource
	}
	if info.Status {
		k.Status = &Status{}
	}
	if info.Validate != nil {
		k.Validate = func(_ *Context, obj Object) field.ErrorList { return info.Validate(obj) }
	}
	if info.ValidateUpdate != nil {
		k.ValidateUpdate = func(_ *Context, obj, old Object) field.ErrorList { return info.ValidateUpdate(obj, old) }
	} else if info.Validate != nil {
		k.ValidateUpdate = func(_ *Context, obj, _ Object) field.ErrorList { return info.Validate(obj) }
	}
	for _, name := range sortedKeys(info.Selectable) {
		k.Fields = append(k.Fields, &store.Field{Name: name, Get: info.Selectable[name]})
	}
	return k
}

func lower(s string) string { return strings.ToLower(s) }
