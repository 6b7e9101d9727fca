package authz

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// RulesFor returns every rule that applies to a user in a namespace (empty: at the
// cluster scope only). The error names the roles that bindings refer to and that
// are missing; the rules of all others are returned with it.
func (r *RBAC) RulesFor(u *User, namespace string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	var missing []error
	r.visit(u, namespace, func(b *binding) bool {
		found, err := r.RoleRules(*b.ref, b.namespace)
		if err != nil {
			missing = append(missing, err)
		}
		rules = append(rules, found...)
		return true
	})
	return rules, utilerrors.NewAggregate(missing)
}

// RoleRules returns the rules of the role that a binding in a namespace refers to,
// or a NotFound error.
func (r *RBAC) RoleRules(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "ClusterRole":
		if role, ok := r.Rules.ClusterRole(ref.Name); ok {
			return role.Rules, nil
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrole"), ref.Name)
	case "Role":
		if role, ok := r.Rules.Role(namespace, ref.Name); ok {
			return role.Rules, nil
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource("role"), ref.Name)
	default:
		return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
	}
}

// ConfirmHeld returns an error that names the rules among wanted that the user
// does not hold in the namespace, or nil if he holds them all.
func (r *RBAC) ConfirmHeld(u *User, namespace string, wanted []rbacv1.PolicyRule) error {
	held, unresolved := r.RulesFor(u, namespace)
	covered, missing := validation.Covers(held, wanted)
	if covered {
		return nil
	}
	var texts []string
	for _, rule := range compact(missing) {
		texts = append(texts, describe(rule))
	}
	slices.Sort(texts)
	msg := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		u.Name, u.Groups, strings.Join(slices.Compact(texts), "\n"))
	if unresolved != nil {
		msg += fmt.Sprintf("; resolution errors: %v", []error{unresolved})
	}
	return errors.New(msg)
}

// compact joins rules about one resource that differ in nothing but their verbs.
func compact(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	at := map[string]int{}
	for _, rule := range rules {
		if len(rule.APIGroups) != 1 || len(rule.Resources) != 1 || len(rule.ResourceNames) > 1 || len(rule.NonResourceURLs) > 0 {
			out = append(out, rule)
			continue
		}
		key := fmt.Sprintf("%q %q %q", rule.APIGroups, rule.Resources, rule.ResourceNames)
		if i, ok := at[key]; ok {
			out[i].Verbs = append(slices.Clip(out[i].Verbs), rule.Verbs...)
			continue
		}
		at[key] = len(out)
		out = append(out, rule)
	}
	return out
}

// describe writes a rule on one line.
func describe(rule rbacv1.PolicyRule) string {
	var parts []string
	for _, p := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", rule.APIGroups}, {"Resources", rule.Resources}, {"NonResourceURLs", rule.NonResourceURLs},
		{"ResourceNames", rule.ResourceNames}, {"Verbs", rule.Verbs},
	} {
		if len(p.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", p.name, p.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
