package apiserver_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	roles        = rbacv1.SchemeGroupVersion.WithResource("roles")
	roleBindings = rbacv1.SchemeGroupVersion.WithResource("rolebindings")
	clusterRoles = rbacv1.SchemeGroupVersion.WithResource("clusterroles")
)

func roleOf(name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func bindingOf(name, kind, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: kind, Name: role},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "bob"}},
	}
}

func clusterRoleOf(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

// bindCluster gives a user a ClusterRole in the whole cluster.
func (a *api) bindCluster(role, user string) {
	a.Helper()
	a.create(rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
	}, in(""))
}

// reasonOf is the reason of a refusal, empty if it is none.
func reasonOf(err error) metav1.StatusReason { return apierrors.ReasonForError(err) }

func may(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

const notHeld = `user "alice" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:` + "\n"

func TestRule16NobodyGrantsWhatHeLacks(t *testing.T) {
	a, admin := asAlice(t, may(rbacv1.GroupName, "roles", "create", "update", "patch", "get"), may("", "pods", "get", "list"))
	a.create(roles, roleOf("own", may("", "pods", "get")))
	a.refused(a.request(apiserver.Create, roles, "", body(roleOf("more", may("", "pods", "get", "watch", "delete"), may("", "secrets", "get")))), 403, "Forbidden",
		`roles.rbac.authorization.k8s.io "more" is forbidden: `+notHeld+
			`{APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}`+"\n"+`{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`)
	a.refused(a.request(apiserver.Patch, roles, "own", merge(`{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["delete"]}]}`)), 403, "Forbidden",
		`roles.rbac.authorization.k8s.io "own" is forbidden: `+notHeld+`{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}`)

	strong := admin.create(roles, roleOf("strong", may("", "secrets", "*")))
	a.patch(roles, "strong", `{"metadata":{"finalizers":["example.com/a"]}}`) // as the garbage collector does
	equal(t, "rules", admin.get(roles, "strong").(*rbacv1.Role).Rules, strong.(*rbacv1.Role).Rules)
	a.refused(a.request(apiserver.Patch, roles, "strong", merge(`{"metadata":{"labels":{"a":"b"}}}`)), 403, "Forbidden",
		`roles.rbac.authorization.k8s.io "strong" is forbidden: `+notHeld+`{APIGroups:[""], Resources:["secrets"], Verbs:["*"]}`)
}

func TestRule16EscalateAndBindAreTheWayRound(t *testing.T) {
	a, _ := asAlice(t, may(rbacv1.GroupName, "roles", "create", "escalate"), may(rbacv1.GroupName, "rolebindings", "create"),
		rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{"later"}, Verbs: []string{"bind"}})
	a.create(roles, roleOf("more", may("", "secrets", "get")))
	a.create(roleBindings, bindingOf("unborn", "ClusterRole", "later"))
	a.refused(a.request(apiserver.Create, roleBindings, "", body(bindingOf("missing", "Role", "nosuch"))), 404, "NotFound",
		`rolebindings.rbac.authorization.k8s.io "nosuch" not found`)
	a.refused(a.request(apiserver.Create, roleBindings, "", body(bindingOf("other", "Role", "more"))), 403, "Forbidden",
		`rolebindings.rbac.authorization.k8s.io "other" is forbidden: `+notHeld+`{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`)
}

func TestRule16AggregationIsForClusterAdministrators(t *testing.T) {
	_, admin := asAlice(t)
	admin.create(clusterRoles, clusterRoleOf("maker", may(rbacv1.GroupName, "clusterroles", "create")))
	admin.bindCluster("maker", "carol")
	carol := *admin
	carol.user = &apiserver.User{Name: "carol"}
	gathering := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "all"}, AggregationRule: &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"a": "b"}}},
	}}
	carol.refused(carol.request(apiserver.Create, clusterRoles, "", body(gathering)), 403, "Forbidden",
		`clusterroles.rbac.authorization.k8s.io "all" is forbidden: must have cluster-admin privileges to use the aggregationRule`)
	admin.create(clusterRoles, gathering)
}

func TestRule16AMissingRoleIsNamed(t *testing.T) {
	a, admin := asAlice(t)
	lost := bindingOf("lost", "ClusterRole", "gone")
	lost.Subjects = []rbacv1.Subject{{Kind: "User", Name: "alice"}}
	admin.create(roleBindings, lost)
	a.refused(a.request(apiserver.List, pods, ""), 403, "Forbidden",
		`pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default": RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found`)
}

func TestRule16DefaultRoles(t *testing.T) {
	admin := newAPI(t, func(o *apiserver.Options) { o.RBAC, o.DefaultRoles = true, true })
	equal(t, "what a controller gathers is empty", len(admin.get(clusterRoles, "view").(*rbacv1.ClusterRole).Rules), 0)
	root := *admin
	root.user = &apiserver.User{Name: "root", Groups: []string{"system:authenticated"}}
	root.refused(root.request(apiserver.List, secrets, ""), 403, "Forbidden",
		`secrets is forbidden: User "root" cannot list resource "secrets" in API group "" in the namespace "default"`)
	admin.create(roleBindings, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "root"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "root"}},
	})
	root.list(secrets)
	root.refused(root.request(apiserver.List, secrets, "", in("kube-system")), 403, "Forbidden",
		`secrets is forbidden: User "root" cannot list resource "secrets" in API group "" in the namespace "kube-system"`)
}
