package encryption

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// ControllerPermissions are what the controllers need, as rules of a ClusterRole and of
// Roles in namespaces.
type ControllerPermissions struct {
	Cluster []rbacv1.PolicyRule

	// Keys are for the namespace of the key Secrets and configurations, References for
	// that of what KMS plugins refer to, and Servers for that of the Pods and Leases of
	// API servers.
	Keys, References, Servers []rbacv1.PolicyRule
}

// PermissionsFor returns what the controllers need to encrypt resources. Whoever may write
// all objects of a resource may do anything with them: the account of the controllers is
// worth what they encrypt, and their namespace has the keys of all of it.
//
// A rule with resourceNames allows list and watch to requests with the exact field
// selector, which kube.Watch makes of its Name.
func PermissionsFor(resources []schema.GroupResource) ControllerPermissions {
	group := v1alpha1.GroupVersion.Group
	p := ControllerPermissions{
		Cluster: []rbacv1.PolicyRule{
			{APIGroups: []string{group}, Resources: []string{"encryptionpolicies"}, ResourceNames: []string{v1alpha1.PolicyName}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{group}, Resources: []string{"encryptionpolicies/status"}, ResourceNames: []string{v1alpha1.PolicyName}, Verbs: []string{"patch"}},
			{APIGroups: []string{group}, Resources: []string{"encryptionnodestates"}, Verbs: []string{"list"}},
			core("nodes", "list"),
			{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}, // what API servers have loaded
		},
		Keys: []rbacv1.PolicyRule{
			core("secrets", "get", "list", "watch", "create", "update", "delete"),
			core("pods", "get", "create", "delete"), core("serviceaccounts", "create", "delete"), // of the check of KMS plugins
		},
		References: []rbacv1.PolicyRule{core("secrets", "get")},
		Servers: []rbacv1.PolicyRule{
			core("pods", "list", "watch"),
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list"}},
		},
	}
	for _, gr := range resources {
		p.Cluster = append(p.Cluster, rbacv1.PolicyRule{APIGroups: []string{gr.Group}, Resources: []string{gr.Resource}, Verbs: []string{"get", "list", "update"}})
	}
	return p
}

func core(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}
