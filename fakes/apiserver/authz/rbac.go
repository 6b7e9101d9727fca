package authz

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
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

// Authorize implements Authorizer.
func (r *RBAC) Authorize(a *Attributes) (bool, string) {
	if a.User == nil {
		return false, ""
	}
	for _, g := range a.User.Groups {
		if g == "system:masters" {
			return true, ""
		}
	}
	for _, b := range r.Rules.ClusterRoleBindings() {
		if bound(b.Subjects, a.User, "") && r.allows(b.RoleRef, "", a) {
			return true, ""
		}
	}
	if a.Namespace == "" {
		return false, ""
	}
	for _, b := range r.Rules.RoleBindings(a.Namespace) {
		if bound(b.Subjects, a.User, a.Namespace) && r.allows(b.RoleRef, a.Namespace, a) {
			return true, ""
		}
	}
	return false, ""
}

// bound reports whether one of the subjects is the user.
func bound(subjects []rbacv1.Subject, u *User, namespace string) bool {
	for i := range subjects {
		s := &subjects[i]
		switch s.Kind {
		case rbacv1.UserKind:
			if s.Name == u.Name {
				return true
			}
		case rbacv1.GroupKind:
			for _, g := range u.Groups {
				if s.Name == g {
					return true
				}
			}
		case rbacv1.ServiceAccountKind:
			ns := s.Namespace
			if ns == "" {
				ns = namespace
			}
			if ns != "" && u.Name == "system:serviceaccount:"+ns+":"+s.Name {
				return true
			}
		}
	}
	return false
}

func (r *RBAC) allows(ref rbacv1.RoleRef, namespace string, a *Attributes) bool {
	var rules []rbacv1.PolicyRule
	switch ref.Kind {
	case "ClusterRole":
		if role, ok := r.Rules.ClusterRole(ref.Name); ok {
			rules = role.Rules
		}
	case "Role":
		if role, ok := r.Rules.Role(namespace, ref.Name); ok {
			rules = role.Rules
		}
	}
	for i := range rules {
		if Allows(&rules[i], a) {
			return true
		}
	}
	return false
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
