package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// asAlice returns the API of a user whose rights are the given rules in the
// namespace default, and the administrator's.
func asAlice(t *testing.T, rules ...rbacv1.PolicyRule) (alice, admin *api) {
	admin = newAPI(t, func(o *apiserver.Options) { o.RBAC = true })
	admin.create(rbacv1.SchemeGroupVersion.WithResource("roles"), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: rules})
	admin.create(rbacv1.SchemeGroupVersion.WithResource("rolebindings"), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "r"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "alice"}},
	})
	a := *admin
	a.user = &apiserver.User{Name: "alice", Groups: []string{"system:authenticated"}}
	return &a, admin
}

func TestRule16AUserWithoutRightsLearnsNothing(t *testing.T) {
	a, _ := asAlice(t)
	forbid := func(text string, r *apiserver.Request) { t.Helper(); a.refused(r, 403, "Forbidden", text) }
	forbid(`configmaps "none" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "default"`, a.request(apiserver.Get, configMaps, "none"))
	forbid(`configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" at the cluster scope`, a.request(apiserver.List, configMaps, "", in("")))
	forbid(`deployments.apps is forbidden: User "alice" cannot create resource "deployments" in API group "apps" in the namespace "default"`, a.request(apiserver.Create, deployments, "", body(deployment("d"))))
	forbid(`deployments.apps "d" is forbidden: User "alice" cannot patch resource "deployments/status" in API group "apps" in the namespace "default"`, a.request(apiserver.Patch, deployments, "d", sub("status"), merge(`{}`)))
	forbid(`nodes "n" is forbidden: User "alice" cannot get resource "nodes" in API group "" at the cluster scope`, a.request(apiserver.Get, nodes, "n"))
	unknown := configMaps
	unknown.Group, unknown.Resource = "nosuch.example.com", "things"
	forbid(`things.nosuch.example.com is forbidden: User "alice" cannot list resource "things" in API group "nosuch.example.com" in the namespace "default"`, a.request(apiserver.List, unknown, ""))
	_, err := a.Watch(a.request(apiserver.WatchVerb, pods, ""))
	a.status(err, 403, "Forbidden", `pods is forbidden: User "alice" cannot watch resource "pods" in API group "" in the namespace "default"`)
}

func TestRule16RulesAllow(t *testing.T) {
	a, admin := asAlice(t,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create"}},
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*/status"}, Verbs: []string{"patch"}},
	)
	a.create(configMaps, configMap("a"))
	a.get(configMaps, "a")
	admin.create(deployments, deployment("d"))
	a.patch(deployments, "d", `{"status":{"replicas":1}}`, sub("status"))
	a.refused(a.request(apiserver.Delete, configMaps, "a"), 403, "Forbidden",
		`configmaps "a" is forbidden: User "alice" cannot delete resource "configmaps" in API group "" in the namespace "default"`)
	masters := *a
	masters.user = &apiserver.User{Name: "root", Groups: []string{"system:masters"}}
	masters.delete(configMaps, "a")
}

// TestRule16ANamespaceIsInItself: a Role in a namespace is enough to read its object.
func TestRule16ANamespaceIsInItself(t *testing.T) {
	a, _ := asAlice(t, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}})
	a.get(namespaces, "default", in(""))
	forbid := func(text string, r *apiserver.Request) { t.Helper(); a.refused(r, 403, "Forbidden", text) }
	forbid(`namespaces "other" is forbidden: User "alice" cannot get resource "namespaces" in API group "" in the namespace "other"`, a.request(apiserver.Get, namespaces, "other", in("")))
	forbid(`namespaces "default" is forbidden: User "alice" cannot delete resource "namespaces" in API group "" in the namespace "default"`, a.request(apiserver.Delete, namespaces, "default", in("")))
	forbid(`namespaces is forbidden: User "alice" cannot list resource "namespaces" in API group "" at the cluster scope`, a.request(apiserver.List, namespaces, "", in("")))
}

// TestRule16NamesAllowAListOnlyWithASelector is what a controller that watches one
// named object needs to know.
func TestRule16NamesAllowAListOnlyWithASelector(t *testing.T) {
	a, admin := asAlice(t, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"mine"}, Verbs: []string{"get", "list", "watch"}})
	admin.create(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "mine"}})
	a.get(secrets, "mine")
	equal(t, "with a selector", names(a.list(secrets, fielded("metadata.name=mine"))), "mine")
	equal(t, "watch", drain(a.watch(secrets, fielded("metadata.name=mine"))), "+mine@7")
	a.refused(a.request(apiserver.List, secrets, ""), 403, "Forbidden",
		`secrets is forbidden: User "alice" cannot list resource "secrets" in API group "" in the namespace "default"`)
	a.refused(a.request(apiserver.List, secrets, "", fielded("metadata.name=other")), 403, "Forbidden",
		`secrets "other" is forbidden: User "alice" cannot list resource "secrets" in API group "" in the namespace "default"`)
}
