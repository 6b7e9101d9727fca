package deploy

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/realmode/kube"
)

// Account is a ServiceAccount.
type Account struct{ Namespace, Name string }

// Roles returns what gives an account what is granted and nothing else: a ClusterRole for
// what is granted everywhere, a Role in each namespace for what is granted there, and their
// bindings. All have one name.
func Roles(account Account, name string, grants []kube.Grant) []client.Object {
	rules := map[string][]rbacv1.PolicyRule{}
	for _, g := range grants {
		for _, rule := range g.Rules {
			known := func(r rbacv1.PolicyRule) bool { return reflect.DeepEqual(r, rule) }
			if !slices.ContainsFunc(rules[g.Namespace], known) {
				rules[g.Namespace] = append(rules[g.Namespace], rule)
			}
		}
	}
	var all []client.Object
	for _, namespace := range slices.SortedFunc(maps.Keys(rules), cmp.Compare[string]) {
		all = append(all, bound(account, name, namespace, rules[namespace])...)
	}
	return all
}

// bound returns a role and its binding.
func bound(account Account, name, namespace string, rules []rbacv1.PolicyRule) []client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	types := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
	if namespace == "" {
		ref.Kind = "ClusterRole"
		return []client.Object{
			&rbacv1.ClusterRole{TypeMeta: types("ClusterRole"), ObjectMeta: meta, Rules: rules},
			&rbacv1.ClusterRoleBinding{TypeMeta: types("ClusterRoleBinding"), ObjectMeta: meta, Subjects: subjects, RoleRef: ref},
		}
	}
	return []client.Object{
		&rbacv1.Role{TypeMeta: types("Role"), ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{TypeMeta: types("RoleBinding"), ObjectMeta: meta, Subjects: subjects, RoleRef: ref},
	}
}
