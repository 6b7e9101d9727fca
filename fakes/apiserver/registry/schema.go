package registry

import (
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Schema is what the schema of a CustomResourceDefinition does to objects of one
// version. It is immutable and safe for concurrent use.
//
// Objects are stored in one version and seen in the one that was asked for: Load
// goes from the first to the second, Save back. In between the kind's rules work
// on objects of its own version.
type Schema interface {
	// Coerce does to obj, in place, what reading it from JSON does beside
	// decoding: metadata gets its Go types, unknown fields are dropped, and so is
	// null where it means nothing. It returns the paths of what it dropped,
	// sorted, if they are wanted. An object of another kind is left alone.
	Coerce(obj Object, wanted bool) (unknown []string, err error)

	// Default fills in the defaults of obj's version, in place.
	Default(obj Object)

	// Load returns a stored object in the version of the schema. Nothing in it is
	// changed; the result may share memory with it.
	Load(stored Object) (Object, error)

	// Save returns obj as it is to be stored. The result may share memory with it.
	Save(obj Object) (Object, error)

	// Settled reports whether objects that were stored by this schema's Save are
	// seen as they are: Load then does nothing that shows.
	Settled() bool

	// OpenAPI is the document of the version, as a real server serves it for this
	// kind alone. It is made once and shared: read-only.
	OpenAPI() (*spec3.OpenAPI, error)

	// OpenAPIV2 is the same in version 2, without defaults.
	OpenAPIV2() (*spec.Swagger, error)

	// TypeConverter tells the fields of objects apart, for server-side apply.
	TypeConverter() (managedfields.TypeConverter, error)
}
