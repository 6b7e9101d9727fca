package authz

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Rules is where RBAC finds its rules. What it returns is read-only.
type Rules interface {
	Role(namespace, name string) (*rbacv1.Role, bool)
	ClusterRole(name string) (*rbacv1.ClusterRole, bool)
	RoleBindings(namespace string) []*rbacv1.RoleBinding
	ClusterRoleBindings() []*rbacv1.ClusterRoleBinding
}

// RBAC is Kubernetes' role-based access control. Members of system:masters may
// do everything.
type RBAC struct{ Rules Rules }

// Authorize implements Authorizer. It gives a reason only for a refusal.
func (r *RBAC) Authorize(a *Attributes) (bool, string) {
	by, missing := r.decide(a)
	if by != nil || missing == nil {
		return by != nil, ""
	}
	return false, "RBAC: " + missing.Error()
}

// Explain is Authorize with the reason why a request is allowed.
func (r *RBAC) Explain(a *Attributes) (bool, string) {
	by, missing := r.decide(a)
	switch {
	case by != nil:
		return true, by.reason()
	case missing != nil:
		return false, "RBAC: " + missing.Error()
	default:
		return false, ""
	}
}

// decide returns the binding that allows the request, or the errors about roles
// that are missing.
func (r *RBAC) decide(a *Attributes) (*binding, error) {
	if a.User == nil {
		return nil, nil
	}
	if a.User.Masters() {
		return &masters, nil
	}
	var by *binding
	var missing []error
	r.visit(a.User, a.Namespace, func(b *binding) bool {
		rules, err := r.RoleRules(*b.ref, b.namespace)
		if err != nil {
			missing = append(missing, err)
		}
		for i := range rules {
			if Allows(&rules[i], a) {
				by = b
				return false
			}
		}
		return true
	})
	if by != nil || len(missing) == 0 {
		return by, nil
	}
	return nil, utilerrors.NewAggregate(missing)
}

// binding is what gives a role to a user: by the subject that is the user.
type binding struct {
	kind, name string
	namespace  string // empty for a ClusterRoleBinding
	ref        *rbacv1.RoleRef
	subject    *rbacv1.Subject
}

// masters stands for what needs no binding.
var masters = binding{}

func (b *binding) reason() string {
	if b.ref == nil {
		return ""
	}
	name := b.name
	if b.kind == "RoleBinding" {
		name += "/" + b.namespace
	}
	subject := b.subject.Name
	if b.subject.Kind == rbacv1.ServiceAccountKind {
		namespace := b.subject.Namespace
		if namespace == "" {
			namespace = b.namespace
		}
		subject += "/" + namespace
	}
	return fmt.Sprintf("RBAC: allowed by %s %q of %s %q to %s %q", b.kind, name, b.ref.Kind, b.ref.Name, b.subject.Kind, subject)
}

// visit calls f with every binding of a user, cluster-wide ones first, until f
// returns false.
func (r *RBAC) visit(u *User, namespace string, f func(*binding) bool) {
	for _, b := range r.Rules.ClusterRoleBindings() {
		if s := bound(b.Subjects, u, ""); s != nil && !f(&binding{kind: "ClusterRoleBinding", name: b.Name, ref: &b.RoleRef, subject: s}) {
			return
		}
	}
	if namespace == "" {
		return
	}
	for _, b := range r.Rules.RoleBindings(namespace) {
		s := bound(b.Subjects, u, namespace)
		if s != nil && !f(&binding{kind: "RoleBinding", name: b.Name, namespace: namespace, ref: &b.RoleRef, subject: s}) {
			return
		}
	}
}

// bound returns the first of the subjects that is the user, or nil.
func bound(subjects []rbacv1.Subject, u *User, namespace string) *rbacv1.Subject {
	for i := range subjects {
		s := &subjects[i]
		switch s.Kind {
		case rbacv1.UserKind:
			if s.Name == u.Name {
				return s
			}
		case rbacv1.GroupKind:
			for _, g := range u.Groups {
				if s.Name == g {
					return s
				}
			}
		case rbacv1.ServiceAccountKind:
			ns := s.Namespace
			if ns == "" {
				ns = namespace
			}
			if ns != "" && u.Name == "system:serviceaccount:"+ns+":"+s.Name {
				return s
			}
		}
	}
	return nil
}

// Allows reports whether one rule allows the request.
func Allows(rule *rbacv1.PolicyRule, a *Attributes) bool {
	if !has(rule.Verbs, a.Verb) {
		return false
	}
	if a.Path != "" {
		for _, url := range rule.NonResourceURLs {
			if url == "*" || url == a.Path || strings.HasSuffix(url, "*") && strings.HasPrefix(a.Path, strings.TrimSuffix(url, "*")) {
				return true
			}
		}
		return false
	}
	return has(rule.APIGroups, a.Group) && hasResource(rule.Resources, a) && hasName(rule.ResourceNames, a.Name)
}

func has(list []string, s string) bool {
	for _, e := range list {
		if e == s || e == "*" {
			return true
		}
	}
	return false
}

func hasResource(list []string, a *Attributes) bool {
	full := a.Resource
	if a.Subresource != "" {
		full += "/" + a.Subresource
	}
	for _, e := range list {
		if e == "*" || e == full || a.Subresource != "" && e == "*/"+a.Subresource {
			return true
		}
	}
	return false
}

// hasName: no names allow all; names never allow a request that names nothing.
func hasName(list []string, name string) bool {
	if len(list) == 0 {
		return true
	}
	for _, e := range list {
		if e == name && name != "" {
			return true
		}
	}
	return false
}
