package gossipkeys

import rbacv1 "k8s.io/api/rbac/v1"

// Permissions is what one part needs: rules for a Role in the Secret's
// namespace, and rules for a ClusterRole.
type Permissions struct {
	Namespaced []rbacv1.PolicyRule
	Cluster    []rbacv1.PolicyRule
}

// ProvisionerPermissions lets the Provisioner read, watch and write its Secret.
// The right to create cannot be limited to a name, so it has a rule of its own.
// Nothing here needs to delete or patch.
func ProvisionerPermissions(opts ...Option) Permissions {
	return Permissions{Namespaced: []rbacv1.PolicyRule{
		secretRule(opts, "get", "list", "watch", "update"),
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	}}
}

// AgentPermissions lets an agent watch the Secret and the Nodes, and report on
// its Node.
//
// A rule with resourceNames allows list and watch only to requests with the
// exact field selector metadata.name=<the Secret>, which kube.Watch makes of
// its Name.
//
// All agents share one service account, so the right to patch Nodes is a right
// to patch every Node: RBAC cannot say "its own". Agents of this kind commonly
// have it, since they annotate their Nodes anyway. To take it back, add a
// ValidatingAdmissionPolicy which compares the Node's name with the
// authentication.kubernetes.io/node-name of the caller's bound token and allows
// a change of annotations only. A Reporter that writes elsewhere needs other
// rules.
func AgentPermissions(opts ...Option) Permissions {
	return Permissions{
		Namespaced: []rbacv1.PolicyRule{secretRule(opts, "get", "list", "watch")},
		Cluster:    []rbacv1.PolicyRule{nodesRule("get", "list", "watch", "patch")},
	}
}

// RotatorPermissions lets the Rotator write the Secret and read the reports. A
// person who starts or aborts a rotation from a shell needs the same.
func RotatorPermissions(opts ...Option) Permissions {
	return Permissions{
		Namespaced: []rbacv1.PolicyRule{secretRule(opts, "get", "list", "watch", "update")},
		Cluster:    []rbacv1.PolicyRule{nodesRule("get", "list", "watch")},
	}
}

func secretRule(opts []Option, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups:     []string{""},
		Resources:     []string{"secrets"},
		ResourceNames: []string{newSettings("", opts).secret.Name},
		Verbs:         verbs,
	}
}

func nodesRule(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: verbs}
}
