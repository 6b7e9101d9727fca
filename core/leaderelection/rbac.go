package leaderelection

import rbacv1 "k8s.io/api/rbac/v1"

// Permissions are the rules of the Role that candidates for a Lease need in its namespace.
// The right to create cannot be limited to a name, so it has a rule of its own.
func Permissions(lease string) []rbacv1.PolicyRule {
	const group = "coordination.k8s.io"
	return []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: []string{"leases"}, ResourceNames: []string{lease}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{group}, Resources: []string{"leases"}, Verbs: []string{"create"}},
	}
}
