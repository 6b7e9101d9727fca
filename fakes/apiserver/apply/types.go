package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	applyconfigurations "k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// builtin has the schemas of the built-in kinds. To read them takes a tenth of a
// second, so it is done once, when a field is first asked after.
var (
	builtin = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(known()) })

	// known is the scheme of client-go as it comes: others add kinds to the one that
	// it shares, of which its configurations know nothing.
	known = sync.OnceValue(func() *runtime.Scheme {
		s := runtime.NewScheme()
		if err := scheme.AddToScheme(s); err != nil {
			panic(err) // constants
		}
		return s
	})
)

// BuiltinTypes returns a converter for the kinds that client-go knows, and for all
// others one that guesses: every field of a map is owned by itself, and lists are
// owned as a whole, but for those that all kinds have.
func BuiltinTypes() managedfields.TypeConverter { return lazyTypes{} }

// GuessedTypes returns a converter that only guesses, for kinds without a schema.
func GuessedTypes() managedfields.TypeConverter { return managedfields.NewDeducedTypeConverter() }

// UnknownTypes returns a converter that guesses, but for what all kinds have.
func UnknownTypes() managedfields.TypeConverter { return unknownTypes{} }

type unknownTypes struct{ lazyTypes }

// ObjectToTyped implements managedfields.TypeConverter.
func (unknownTypes) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return fromObject(unknownParser(), obj, opts)
}

type lazyTypes struct{}

// ObjectToTyped implements managedfields.TypeConverter.
func (lazyTypes) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if !known().Recognizes(obj.GetObjectKind().GroupVersionKind()) {
		return UnknownTypes().ObjectToTyped(obj, opts...)
	}
	return builtin().ObjectToTyped(obj, opts...)
}

// TypedToObject implements managedfields.TypeConverter.
func (lazyTypes) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	return GuessedTypes().TypedToObject(v)
}

// scaleSchema is the schema of autoscaling/v1 Scale, which client-go has no
// configurations for.
const scaleSchema typed.YAMLObject = `types:
- name: scale
  map:
    fields:
    - name: apiVersion
      type:
        scalar: string
    - name: kind
      type:
        scalar: string
    - name: metadata
      type:
        namedType: any
    - name: spec
      type:
        map:
          fields:
          - name: replicas
            type:
              scalar: numeric
    - name: status
      type:
        map:
          fields:
          - name: replicas
            type:
              scalar: numeric
          - name: selector
            type:
              scalar: string
- name: any
  scalar: untyped
  list:
    elementType:
      namedType: any
    elementRelationship: atomic
  map:
    elementType:
      namedType: any
    elementRelationship: separable
`

var scaleParser = sync.OnceValue(func() typed.ParseableType {
	p, err := typed.NewParser(scaleSchema)
	if err != nil {
		panic(err) // a constant
	}
	return p.Type("scale")
})

// scaleTypes knows scales.
type scaleTypes struct{ lazyTypes }

// ObjectToTyped implements managedfields.TypeConverter.
func (scaleTypes) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return fromObject(scaleParser(), obj, opts)
}

func fromObject(t typed.ParseableType, obj runtime.Object, opts []typed.ValidationOptions) (*typed.TypedValue, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return t.FromUnstructured(u.Object, opts...)
	}
	return t.FromStructured(obj, opts...)
}

// unknownSchema is what is known of a kind that client-go has no configurations for,
// such as CustomResourceDefinition: its metadata and its conditions.
const unknownSchema typed.YAMLObject = `types:
- name: unknown
  map:
    fields:
    - name: metadata
      type:
        map:
          fields:
          - name: finalizers
            type:
              list:
                elementType:
                  scalar: string
                elementRelationship: associative
          - name: ownerReferences
            type:
              list:
                elementType:
                  map:
                    elementType:
                      namedType: any
                    elementRelationship: atomic
                elementRelationship: associative
                keys: [uid]
          elementType:
            namedType: any
    - name: status
      type:
        map:
          fields:
          - name: conditions
            type:
              list:
                elementType:
                  map:
                    elementType:
                      namedType: any
                elementRelationship: associative
                keys: [type]
          elementType:
            namedType: any
    elementType:
      namedType: any
- name: any
  scalar: untyped
  list:
    elementType:
      namedType: any
    elementRelationship: atomic
  map:
    elementType:
      namedType: any
    elementRelationship: separable
`

var unknownParser = sync.OnceValue(func() typed.ParseableType {
	p, err := typed.NewParser(unknownSchema)
	if err != nil {
		panic(err) // a constant
	}
	return p.Type("unknown")
})
