package authz_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
)

func TestRuleAllows(t *testing.T) {
	pods := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	all := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	status := rbacv1.PolicyRule{Verbs: []string{"update"}, APIGroups: []string{"*"}, Resources: []string{"pods/status"}}
	scales := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"*/scale"}}
	named := rbacv1.PolicyRule{Verbs: []string{"get", "list", "create"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"a"}}
	star := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"*"}}
	paths := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/metrics/*"}}
	for _, c := range []struct {
		name string
		rule rbacv1.PolicyRule
		attr authz.Attributes
		want bool
	}{
		{"the verb", pods, authz.Attributes{Verb: "get", Resource: "pods", Name: "a"}, true},
		{"another verb", pods, authz.Attributes{Verb: "list", Resource: "pods"}, false},
		{"another group", pods, authz.Attributes{Verb: "get", Group: "apps", Resource: "pods"}, false},
		{"a resource says nothing of subresources", pods, authz.Attributes{Verb: "get", Resource: "pods", Subresource: "status"}, false},
		{"all resources are also all subresources", all, authz.Attributes{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale"}, true},
		{"all is not all paths", all, authz.Attributes{Verb: "get", Path: "/healthz"}, false},
		{"a subresource", status, authz.Attributes{Verb: "update", Resource: "pods", Subresource: "status"}, true},
		{"a subresource says nothing of its resource", status, authz.Attributes{Verb: "update", Resource: "pods"}, false},
		{"a subresource of all", scales, authz.Attributes{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale"}, true},
		{"another subresource of all", scales, authz.Attributes{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "status"}, false},
		{"a name", named, authz.Attributes{Verb: "get", Resource: "pods", Name: "a"}, true},
		{"another name", named, authz.Attributes{Verb: "get", Resource: "pods", Name: "b"}, false},
		{"a list has no name", named, authz.Attributes{Verb: "list", Resource: "pods"}, false},
		{"a create has no name", named, authz.Attributes{Verb: "create", Resource: "pods"}, false},
		{"names have no wildcard", star, authz.Attributes{Verb: "get", Resource: "pods", Name: "a"}, false},
		{"a path", paths, authz.Attributes{Verb: "get", Path: "/healthz"}, true},
		{"a path below", paths, authz.Attributes{Verb: "get", Path: "/metrics/slis"}, true},
		{"another path", paths, authz.Attributes{Verb: "get", Path: "/healthz/x"}, false},
	} {
		if got := authz.Allows(&c.rule, &c.attr); got != c.want {
			t.Errorf("%s: allowed %v, want %v", c.name, got, c.want)
		}
	}
}

func TestBindings(t *testing.T) {
	get := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	rules := &rules{
		roles:        map[string]*rbacv1.Role{"x/r": {Rules: get}},
		clusterRoles: map[string]*rbacv1.ClusterRole{"c": {Rules: get}},
		bindings: map[string][]*rbacv1.RoleBinding{
			"x": {
				{Subjects: []rbacv1.Subject{{Kind: "User", Name: "role"}}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"}},
				{Subjects: []rbacv1.Subject{{Kind: "User", Name: "lost"}}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "gone"}},
				{Subjects: []rbacv1.Subject{{Kind: "User", Name: "within"}, {Kind: "ServiceAccount", Name: "bot"}}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "c"}},
			},
		},
		clusterBindings: []*rbacv1.ClusterRoleBinding{
			{Subjects: []rbacv1.Subject{{Kind: "Group", Name: "all"}, {Kind: "ServiceAccount", Name: "bot"}}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "c"}},
		},
	}
	rbac := &authz.RBAC{Rules: rules}
	for _, c := range []struct {
		user      authz.User
		namespace string
		want      bool
	}{
		{authz.User{Name: "role"}, "x", true},
		{authz.User{Name: "role"}, "y", false},
		{authz.User{Name: "role"}, "", false},
		{authz.User{Name: "lost"}, "x", false},
		{authz.User{Name: "within"}, "x", true},
		{authz.User{Name: "within"}, "", false},
		{authz.User{Name: "anyone", Groups: []string{"all"}}, "", true},
		{authz.User{Name: "anyone", Groups: []string{"all"}}, "y", true},
		{authz.User{Name: "system:serviceaccount:x:bot"}, "x", true},
		{authz.User{Name: "system:serviceaccount:y:bot"}, "x", false},
		{authz.User{Name: "root", Groups: []string{"system:masters"}}, "", true},
	} {
		attr := authz.Attributes{User: &c.user, Verb: "get", Resource: "pods", Namespace: c.namespace, Name: "a"}
		if got, _ := rbac.Authorize(&attr); got != c.want {
			t.Errorf("%s %v in %q: allowed %v, want %v", c.user.Name, c.user.Groups, c.namespace, got, c.want)
		}
	}
	if ok, _ := rbac.Authorize(&authz.Attributes{Verb: "get", Resource: "pods"}); ok {
		t.Error("nobody is allowed something")
	}
}

func TestForbidden(t *testing.T) {
	u := &authz.User{Name: "u"}
	for _, c := range []struct {
		attr         authz.Attributes
		reason, want string
	}{
		{
			authz.Attributes{User: u, Verb: "list", Resource: "pods", Namespace: "x"}, "",
			`pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "x"`,
		},
		{
			authz.Attributes{User: u, Verb: "update", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "x", Name: "a"}, "no",
			`deployments.apps "a" is forbidden: User "u" cannot update resource "deployments/scale" in API group "apps" in the namespace "x": no`,
		},
		{
			authz.Attributes{User: u, Verb: "get", Resource: "nodes", Name: "a"}, "",
			`nodes "a" is forbidden: User "u" cannot get resource "nodes" in API group "" at the cluster scope`,
		},
		{authz.Attributes{User: u, Verb: "get", Path: "/healthz"}, "", `forbidden: User "u" cannot get path "/healthz"`},
	} {
		if got := authz.Forbidden(&c.attr, c.reason).Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

type rules struct {
	roles           map[string]*rbacv1.Role
	clusterRoles    map[string]*rbacv1.ClusterRole
	bindings        map[string][]*rbacv1.RoleBinding
	clusterBindings []*rbacv1.ClusterRoleBinding
}

func (r *rules) Role(namespace, name string) (*rbacv1.Role, bool) {
	o, ok := r.roles[namespace+"/"+name]
	return o, ok
}

func (r *rules) ClusterRole(name string) (*rbacv1.ClusterRole, bool) {
	o, ok := r.clusterRoles[name]
	return o, ok
}

func (r *rules) RoleBindings(namespace string) []*rbacv1.RoleBinding { return r.bindings[namespace] }

func (r *rules) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding { return r.clusterBindings }
