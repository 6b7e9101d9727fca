package table

import (
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
)

func (t tables) addAccess() {
	// A real server takes the descriptions from the old version, which lack a sentence.
	add(t, rbacv1.GroupName, "RoleBinding", bindingCols(doc[rbacv1beta1.RoleBinding]("roleRef"), "roleBinding"),
		func(o *rbacv1.RoleBinding, now time.Time) []any {
			return bindingRow(o.Name, &o.RoleRef, age(o, now), o.Subjects)
		})
	add(t, rbacv1.GroupName, "ClusterRoleBinding", bindingCols(doc[rbacv1beta1.ClusterRoleBinding]("roleRef"), "clusterRoleBinding"),
		func(o *rbacv1.ClusterRoleBinding, now time.Time) []any {
			return bindingRow(o.Name, &o.RoleRef, age(o, now), o.Subjects)
		})
}

func bindingCols(role, kind string) []column {
	return head(
		col("Role", role), ageCol(),
		col("Users", "Users in the "+kind).wide(),
		col("Groups", "Groups in the "+kind).wide(),
		col("ServiceAccounts", "ServiceAccounts in the "+kind).wide(),
	)
}

func bindingRow(name string, role *rbacv1.RoleRef, age string, subjects []rbacv1.Subject) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{
		name, role.Kind + "/" + role.Name, age, strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}
