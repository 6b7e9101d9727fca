package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Object is any API object: a registered Go type or unstructured content.
type Object = store.Object

// User is who makes a request.
type User = authz.User

// Verb is what a request asks for, in the words of Kubernetes' authorisation.
type Verb string

// The verbs of the API.
const (
	Get              Verb = "get"
	List             Verb = "list"
	WatchVerb        Verb = "watch"
	Create           Verb = "create"
	Update           Verb = "update"
	Patch            Verb = "patch"
	Delete           Verb = "delete"
	DeleteCollection Verb = "deletecollection"
)

// Write reports whether v may change the store.
func (v Verb) Write() bool { return v != Get && v != List && v != WatchVerb }

// Request is one API call, as it stands after the path and the query have been
// parsed. Fields that the verb has no use for are ignored. The server does not
// change it.
type Request struct {
	Verb        Verb
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string // empty for cluster-scoped kinds, and for all namespaces
	Name        string

	// Object is the body of a create or an update, typed or unstructured. The
	// server copies it unless Owned is set.
	Object Object

	// Owned hands Object over: the server may store it as it is, and the caller
	// must not touch it again, whatever the outcome.
	Owned bool

	derived bool // Object shares memory with the stored object

	// Shared lets the server answer with stored objects themselves. They are
	// read-only for ever. Without it the caller owns what is returned.
	Shared bool

	// Encoded are the transformers that were in force when the server encoded what the
	// request writes; nil for those that are in force now. It is for drivers in which
	// time passes between that and the commit.
	Encoded *encryption.Transformers `json:"-"`

	// ManagedFields asks for objects with metadata.managedFields, as a real server
	// always returns them. Without it they come as if stripped of it: to tell who
	// owns what costs far more than to read an object, and few readers care.
	ManagedFields bool

	// Body is the raw body instead of Object: JSON or YAML for a create, update
	// or delete, as ContentType says (empty: JSON), and the patch for a patch.
	Body        []byte
	ContentType string

	// PatchType says how to read the Body of a patch.
	PatchType types.PatchType

	// Options of writes. DryRun holds the values as sent; "All" is the only
	// valid one. Force is nil when it was not sent.
	DryRun          []string
	FieldManager    string
	FieldValidation string
	Force           *bool

	// DeleteOptions of a delete or deletecollection; nil means defaults, or what
	// the Body says. DryRun may stand in either place.
	DeleteOptions *metav1.DeleteOptions

	// Logs are the options of a get of pods/log.
	Logs *corev1.PodLogOptions

	// Options of get, list and watch, as in metav1.ListOptions.
	ResourceVersion      string
	ResourceVersionMatch metav1.ResourceVersionMatch
	Limit                int64
	Continue             string
	TimeoutSeconds       *int64
	SendInitialEvents    *bool
	AllowWatchBookmarks  bool

	// Selectors, parsed or as text. A parsed one wins.
	Labels        labels.Selector
	Fields        fields.Selector
	LabelSelector string
	FieldSelector string

	// User makes the request. Nil is the cluster administrator, who is never
	// asked for permission.
	User *User

	// UserAgent names the field manager of a write that has none.
	UserAgent string
}

// Response is the answer to a request that succeeded. Which of Object, Items
// and Status is set depends on the verb; see [Server.Do].
type Response struct {
	// Code is the HTTP status: 200, 201 or 202.
	Code int

	// Object is the answer, or nil if it is a list or a Status. Objects of Go
	// types have no kind and apiVersion; unstructured ones have.
	Object Object

	// Items and List are the answer to a list or deletecollection.
	Items []Object
	List  metav1.ListMeta

	// Status is the answer to a delete that does not return the object, and to
	// some subresources.
	Status *metav1.Status

	// Raw is the answer of pods/log, not nil even if it is empty.
	Raw []byte

	// Warnings are the texts of the Warning headers, in order.
	Warnings []string

	// Shared says that Object and Items belong to the store: read-only.
	Shared bool
}
