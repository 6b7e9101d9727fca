package registry

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Object is any API object.
type Object = store.Object

// Kind is one kind of object and its rules. It does not change once it is
// registered. Every function may be nil, for "nothing to do".
type Kind struct {
	schema.GroupVersionKind
	Names

	// Cluster says that objects are in no namespace.
	Cluster bool

	// Custom says that the rules of custom resources apply: stored as JSON, no
	// strategic patches, items of lists carry their kind.
	Custom bool

	// Prototype is an empty object of the kind's Go type; nil for unstructured.
	Prototype Object

	// Schema does what the schema of a CustomResourceDefinition demands when an
	// object is read or written. Nil for kinds whose rules are written in Go.
	Schema Schema

	// Refused says that a real server serves the kind and this one does not: it is
	// in no list of what there is, and every request for it is refused as not
	// modelled.
	Refused bool

	// Virtual lists the verbs of a kind of which nothing is stored: the server
	// answers them out of what it knows. Nil means that objects are stored.
	Virtual []string

	// Uncached says that a real server has no watch cache of the kind.
	Uncached bool

	// NoCollection says that there is no deletecollection.
	NoCollection bool

	Naming     NameFunc   // rule for metadata.name; nil means a DNS subdomain
	Generation Generation // when metadata.generation grows
	Write      WriteRules
	Delete     DeleteRules
	Status     *Status // the status subresource, or nil
	Scale      *Scale  // the scale subresource, or nil

	// Default fills in what decoding fills in. It runs on every object that
	// comes from a client, so it must be idempotent, and cheap.
	Default func(Object)

	// Blank fills in what even an object has that nobody has written: a bookmark.
	Blank func(Object)

	// Admit is what built-in admission plug-ins do on a write: fill in more, or
	// refuse. Old is nil on create.
	Admit func(c *Context, obj, old Object) error

	// Review is what built-in admission plug-ins refuse of an object that is valid. Old
	// is nil on create.
	Review func(c *Context, obj, old Object) error

	// LooseMetadata says that a real server checks nothing of the metadata but what it
	// checks of all kinds, custom resources too; late, if nothing else is wrong with a
	// new object.
	LooseMetadata bool
	LateMetadata  bool

	// Begin allocates what a write needs, and fails if that cannot be had. It runs
	// before anything is prepared or validated. Old is nil on create.
	Begin func(c *Context, obj, old Object) error

	PrepareCreate func(c *Context, obj Object)
	PrepareUpdate func(c *Context, obj, old Object)

	// Validate checks a new object, apart from its metadata; ValidateUpdate
	// checks a change.
	Validate       func(c *Context, obj Object) field.ErrorList
	ValidateUpdate func(c *Context, obj, old Object) field.ErrorList

	// Settle fills in what reading a stored object fills in and nothing has before,
	// and reports whether there was anything. The next write is then none that
	// changes nothing. It is the very last.
	Settle func(obj Object) bool

	// Canonicalize is the last change before an object is stored.
	Canonicalize func(obj Object)

	// Warn returns warnings about a valid write. Old is nil on create.
	Warn func(obj, old Object) []string

	// Deprecation is a warning that comes with every answer; empty means none.
	Deprecation string

	// Revalidate says that a write that changes nothing but metadata is validated
	// as well.
	Revalidate bool

	// Fields are what the kind can be selected by, beside metadata.name and
	// metadata.namespace. PlainFieldError says that an unknown one is refused
	// in the words of a kind that declares fields of its own.
	Fields          []*store.Field
	PlainFieldError bool

	// Pure says that no function above writes through the pointers, lists and
	// maps of an object, where they hold something already: a new version may then
	// share what did not change with the old one. Setting what is unset is fine.
	Pure bool

	// Other versions of the same resource that are served, by conversion.
	Versions []Version

	shape    *shape.Shape
	metadata shape.Part
	spec     shape.Part
	status   shape.Part
	beside   func(a, b runtime.Object) bool // equal in all but metadata and status
}

// Names are the names under which a kind goes.
type Names struct {
	Plural     string
	Singular   string
	ListKind   string // empty means the kind with List behind it
	ShortNames []string
	Categories []string
}

// Generation says which changes make metadata.generation grow. It is 1 on
// create for all but the first.
type Generation uint8

// The rules for generations.
const (
	NoGeneration      Generation = iota // the field is never set
	SpecOnly                            // spec, which is all the content there is
	SpecOrAnnotations                   // spec and annotations: Deployment
	Content                             // everything but metadata and an own status; the same, for kinds without a spec
	ContentOrLabels                     // that and labels: EndpointSlice
	Fixed                               // stays 1 unless PrepareUpdate moves it
)

// NameFunc returns what is wrong with a name, or with a prefix of one.
type NameFunc func(name string, prefix bool) []string

// WriteRules are what differs between kinds in writing whole objects.
type WriteRules struct {
	PutCreates      bool // PUT to a missing name creates
	PutNeedsVersion bool // PUT without a resourceVersion is refused
}

// DeleteRules are what differs between kinds in deleting.
type DeleteRules struct {
	ReturnsObject bool // the answer is the object and not a Status
	Orphan        bool // dependents are orphaned unless the request says otherwise
	NoGC          bool // propagation policies mean nothing (Event)

	// Grace decides about graceful deletion. Nil means there is none. It gets
	// the period that was asked for, or nil, and returns the one to use.
	Grace func(obj Object, asked *int64) int64
}

// Status is a status subresource. Without Prepare, a write to it takes the
// metadata that clients may change and the status, and nothing else.
type Status struct {
	// KeepLabels says that labels stay as they are.
	KeepLabels bool

	// OnCreate makes the status of a new object; nil means an empty one, and
	// Kept that the one sent is taken.
	OnCreate func(c *Context, obj Object)
	Kept     bool

	Prepare  func(c *Context, obj, old Object)
	Validate func(c *Context, obj, old Object) field.ErrorList
}

// Scale is a scale subresource.
type Scale struct {
	// Check returns why obj has no scale, or nil. A nil Check finds nothing wrong.
	Check func(obj Object) error

	Replicas    func(Object) int32
	SetReplicas func(Object, int32)
	Current     func(Object) int32  // status.replicas
	Selector    func(Object) string // in the syntax of queries

	// Path is where the number of replicas is; nil means spec.replicas.
	Path fieldpath.Path
}

// Version is another API version in which a kind is served.
type Version struct {
	schema.GroupVersionKind
	Prototype Object
	From      func(stored Object) Object // the returned object is fresh
	To        func(sent Object) Object
	Fields    map[string]string // names of fields here → names in the stored version
}

// complete compiles what is derived from the rest.
func (k *Kind) complete() {
	enc := shape.Protobuf
	if k.Custom {
		enc = shape.JSON
	}
	if k.Prototype != nil {
		k.shape = shape.Of(k.Prototype, enc)
	}
	k.metadata, k.spec, k.status = k.shape.Part("metadata"), k.shape.Part("spec"), k.shape.Part("status")
	if k.Status != nil {
		k.beside = k.shape.Beside("status")
	} else {
		k.beside = k.shape.Beside()
	}
	if k.Singular == "" {
		k.Singular = lower(k.Kind)
	}
	if k.ListKind == "" {
		k.ListKind = k.Kind + "List"
	}
}

// Resource returns the group, version and plural.
func (k *Kind) Resource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Plural)
}

// GroupResource returns the group and plural.
func (k *Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Plural}
}

// Shape returns the compiled shape of the kind's Go type, or nil.
func (k *Kind) Shape() *shape.Shape { return k.shape }

// Typed reports whether objects are of a Go type.
func (k *Kind) Typed() bool { return k.Prototype != nil }

// New returns an empty object.
func (k *Kind) New() Object {
	if k.Prototype == nil {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(k.GroupVersionKind)
		return u
	}
	return reflect.New(reflect.TypeOf(k.Prototype).Elem()).Interface().(Object)
}

// Field returns the field that can be selected by under name, or nil.
func (k *Kind) Field(name string) *store.Field {
	switch {
	case name == "metadata.name":
		return nameField
	case name == "metadata.namespace" && !(k.Cluster && k.PlainFieldError):
		return namespaceField
	}
	for _, f := range k.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

var (
	nameField      = &store.Field{Name: "metadata.name", Get: func(o Object) string { return o.GetName() }}
	namespaceField = &store.Field{Name: "metadata.namespace", Get: func(o Object) string { return o.GetNamespace() }}
)

// Equal reports whether a and b would be stored as the same bytes.
func (k *Kind) Equal(a, b Object) bool { return k.shape.Equal(a, b) }

// SameContent reports whether a and b are equal in everything but metadata and,
// if it is a subresource, status.
func (k *Kind) SameContent(a, b Object) bool { return k.beside(a, b) }

// SameRest reports whether a and b are equal in what SameContent leaves out.
func (k *Kind) SameRest(a, b Object) bool {
	return k.metadata.Equal(a, b) && (k.Status == nil || k.status.Equal(a, b))
}

// grown reports whether the change from old to obj counts as a new generation.
func (k *Kind) grown(obj, old Object, same bool) bool {
	switch k.Generation {
	case SpecOnly, Content:
		return !same
	case SpecOrAnnotations:
		return !same || !sameStrings(obj.GetAnnotations(), old.GetAnnotations())
	case ContentOrLabels:
		return !same || !sameStrings(obj.GetLabels(), old.GetLabels())
	default:
		return false
	}
}

// BeforeCreate makes obj what is validated and stored: status, generation, and
// what the kind fills in.
func (k *Kind) BeforeCreate(c *Context, obj Object) {
	if k.Status != nil && !k.Status.Kept {
		k.status.Clear(obj)
		if k.Status.OnCreate != nil {
			k.Status.OnCreate(c, obj)
		}
	}
	if k.Generation != NoGeneration {
		obj.SetGeneration(1)
	} else if obj.GetGeneration() != 0 && k.Custom {
		obj.SetGeneration(0)
	}
	if k.PrepareCreate != nil {
		k.PrepareCreate(c, obj)
	}
}

// BeforeUpdate is BeforeCreate for a change of the whole object: its status
// stays, and its generation grows if something that counts has changed. It
// returns what SameContent says of the result.
func (k *Kind) BeforeUpdate(c *Context, obj, old Object) (same bool) {
	if k.Status != nil {
		k.status.Share(obj, old)
	}
	if k.PrepareUpdate != nil {
		k.PrepareUpdate(c, obj, old)
	}
	same = k.beside(obj, old)
	if k.grown(obj, old, same) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
	return same
}

// BeforeStatus is BeforeUpdate for a write to the status subresource: all but
// the status, and what metadata the kind lets through, stays. It returns the
// object to store.
func (k *Kind) BeforeStatus(c *Context, obj, old Object) Object {
	if k.Custom {
		out := shape.ShallowCopy(old).(Object)
		k.status.Share(out, obj)
		return out
	}
	k.spec.Share(obj, old)
	if k.Status.KeepLabels {
		obj.SetLabels(old.GetLabels())
	}
	if k.Status.Prepare != nil {
		k.Status.Prepare(c, obj, old)
	}
	return obj
}

func sameStrings(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// Context is what the rules may know beside the object.
type Context struct {
	// Now is the server's time, in whole seconds.
	Now metav1.Time

	// Version is the version in which the request was made.
	Version schema.GroupVersion

	// User makes the request.
	User *authz.User

	// Peers reads other objects, as they are now.
	Peers Peers

	// Warn adds a warning to the answer.
	Warn func(text string)

	// DryRun says that nothing may be kept.
	DryRun bool

	// Definitions are the rules of CustomResourceDefinitions.
	Definitions Definitions
}

// Peers reads objects of other kinds. What it returns is read-only.
type Peers interface {
	Peer(gr schema.GroupResource, namespace, name string) (Object, bool)
	Peers(gr schema.GroupResource, namespace string) []Object

	// PeerBy reports whether an object has the value in a field.
	PeerBy(gr schema.GroupResource, f *store.Field, value string) bool

	// Next returns a number that grows with each call for the same purpose.
	Next(purpose string) uint64
}
