package cloak

import rbacv1 "k8s.io/api/rbac/v1"

// AgentPermissions are the rules of the ClusterRole that agents need. The events of the
// agents are recorded by whoever runs them, with a permission of its own.
//
// Agents read every Secret, since any may be protected, and write shadows wherever these
// are. RBAC cannot say which Secrets, so whoever has an agent's token has all of them: it
// belongs on the nodes and nowhere else.
func AgentPermissions() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}},
	}
}

// ShadowPermissions are the rules of the ClusterRole that whoever keeps the shadows needs,
// where that is not the agents. RBAC cannot say which Secrets, so they are all of them.
func ShadowPermissions() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
	}
}

// WebhookPermissions are the rules of the ClusterRole that the webhook needs.
func WebhookPermissions() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets", "namespaces"}, Verbs: []string{"get"}},
	}
}
