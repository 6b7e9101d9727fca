package admission

import (
	"fmt"
	"slices"
	"strings"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Operation is what a request does to an object.
type Operation string

// The operations.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Review is what a hook is asked about.
type Review struct {
	Operation   Operation
	Kind        schema.GroupVersionKind
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string
	Name        string // empty if it is still to be generated

	// Object is the new state, nil on a delete. A mutating hook changes it in
	// place; a validating one must not.
	Object store.Object

	// Old is the present state, nil on a create. It is read-only.
	Old store.Object

	DryRun  bool
	User    *authz.User // nil is the cluster administrator
	Options runtime.Object
}

// Answer is a hook's verdict. The zero Answer allows the request.
type Answer struct {
	// Denied refuses the request, with Status as far as it is filled in. A
	// status without a code makes 400, as for a real webhook.
	Denied bool
	Status metav1.Status

	Warnings []string

	// Err says that the hook could not be asked. Whether the request then fails
	// is for the hook's Ignore to say.
	Err error
}

// Deny returns the answer of controller-runtime's webhooks: 403 with a reason.
func Deny(message string) Answer {
	return Answer{Denied: true, Status: metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: message}}
}

// TimedOut returns the answer of a webhook at an address that has not answered within
// its timeoutSeconds. A hook in process takes no time, so it says itself when it is
// to be late.
func TimedOut(address string, seconds int) Answer {
	return Answer{Err: fmt.Errorf("Post %q: context deadline exceeded", fmt.Sprintf("%s?timeout=%ds", address, seconds))}
}

// Hook is one admission webhook. A real one must have no side effects, at least in a
// dry run, so it is asked in dry runs as well; see [Review].DryRun.
type Hook struct {
	// Name is shown to whoever is refused. It should be a domain of three parts.
	Name string

	// Match says which requests it is asked about; those that any of Also says, besides.
	Match Match
	Also  []Match

	// Mutate and Validate are the webhook. Either may be nil.
	Mutate   func(*Review) Answer
	Validate func(*Review) Answer

	// Ignore lets requests pass if the hook cannot be asked.
	Ignore bool

	// Conditions in CEL must all be true of a request for the hook to be asked: its
	// matchConditions.
	Conditions []registrationv1.MatchCondition

	// Reinvoke lets Mutate be asked a second time if hooks after it have changed the
	// object: the reinvocationPolicy IfNeeded.
	Reinvoke bool
}

// Match says which requests a hook is asked about. Empty lists match nothing
// but what they say: use "*" for all.
type Match struct {
	Operations []Operation
	Groups     []string
	Versions   []string

	// Resources are plurals. A subresource is named with its resource, as in
	// "deployments/scale"; "*" is all resources without subresources, "pods/*"
	// all subresources of pods, "*/*" everything.
	Resources []string

	// Namespaces selects by the labels of the object's namespace, and Objects by
	// those of the object or its old state. Nil matches all.
	Namespaces labels.Selector
	Objects    labels.Selector
}

// matches reports whether the hook is for a request, conditions aside.
func (h *Hook) matches(r *Review, namespace func() labels.Set) bool {
	return h.Match.matches(r, namespace) || slices.ContainsFunc(h.Also, func(m Match) bool { return m.matches(r, namespace) })
}

func (m *Match) matches(r *Review, namespace func() labels.Set) bool {
	if !hasOperation(m.Operations, r.Operation) || !has(m.Groups, r.Resource.Group) || !has(m.Versions, r.Resource.Version) ||
		!m.resource(r.Resource.Resource, r.Subresource) {
		return false
	}
	if m.Objects != nil && !(r.Object != nil && m.Objects.Matches(labels.Set(r.Object.GetLabels())) ||
		r.Old != nil && m.Objects.Matches(labels.Set(r.Old.GetLabels()))) {
		return false
	}
	if m.Namespaces == nil || r.Namespace == "" && r.Resource.Resource != "namespaces" {
		return true
	}
	return m.Namespaces.Matches(namespace())
}

func hasOperation(list []Operation, op Operation) bool {
	for _, o := range list {
		if o == op || o == "*" {
			return true
		}
	}
	return false
}

func has(list []string, s string) bool {
	for _, e := range list {
		if e == s || e == "*" {
			return true
		}
	}
	return false
}

func (m *Match) resource(resource, sub string) bool {
	for _, e := range m.Resources {
		r, s, ok := strings.Cut(e, "/")
		if (r == "*" || r == resource) && (ok && (s == "*" || s == sub) || !ok && sub == "") {
			return true
		}
	}
	return false
}
