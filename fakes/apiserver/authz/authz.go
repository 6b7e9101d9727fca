package authz

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// User is who makes a request.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Masters reports whether the user is in the group whose members may do everything.
func (u *User) Masters() bool { return slices.Contains(u.Groups, "system:masters") }

// Attributes are what a decision depends on.
type Attributes struct {
	User        *User
	Verb        string
	Group       string // API group
	Resource    string
	Subresource string
	Namespace   string // empty: cluster-scoped, or all namespaces
	Name        string // of a list or watch: from an exact metadata.name selector; of a create: none

	// Path is set instead of the resource for requests to other paths.
	Path string
}

// Authorizer decides. The reason is told to whoever is refused; it may be empty.
type Authorizer interface {
	Authorize(a *Attributes) (allowed bool, reason string)
}

// Func is an Authorizer.
type Func func(a *Attributes) (allowed bool, reason string)

// Authorize implements Authorizer.
func (f Func) Authorize(a *Attributes) (bool, string) { return f(a) }

// Forbidden returns the error for a refused request.
func Forbidden(a *Attributes, reason string) error {
	user := ""
	if a.User != nil {
		user = a.User.Name
	}
	if a.Path != "" {
		msg := fmt.Sprintf("forbidden: User %q cannot %s path %q", user, a.Verb, a.Path)
		return status(msg, reason, &metav1.StatusDetails{})
	}
	gr := schema.GroupResource{Group: a.Group, Resource: a.Resource}
	what := a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	subject := gr.String()
	if a.Name != "" {
		subject = fmt.Sprintf("%s %q", gr.String(), a.Name)
	}
	where := "at the cluster scope"
	if a.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.Namespace)
	}
	msg := fmt.Sprintf("%s is forbidden: User %q cannot %s resource %q in API group %q %s", subject, user, a.Verb, what, a.Group, where)
	return status(msg, reason, &metav1.StatusDetails{Name: a.Name, Group: a.Group, Kind: a.Resource})
}

func status(msg, reason string, details *metav1.StatusDetails) error {
	if reason != "" {
		msg += ": " + reason
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: msg, Details: details,
	}}
}
