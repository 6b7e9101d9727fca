package encryption

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/preflightpod"
	"github.com/seedbed-sim/seedbed/core/leaderelection"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// nodeUser begins the names of what kubelets run.
const nodeUser = "system:node:"

// grantee is somebody who gets a role in a namespace, or everywhere.
type grantee struct {
	name, user, namespace string
	rules                 []rbacv1.PolicyRule
}

// appUser is who has objects that are encrypted.
const appUser = "user"

// controllersRole is the name of the roles of the controllers.
const controllersRole = "encryption-controllers"

// grant gives the controllers and the check of KMS plugins what they declare to need, in a
// world whose API servers enforce it. What runs on nodes declares nothing yet, and users may do
// as they please: both may do everything.
func (s *State) grant(w *scenarios.World) error {
	if w.Cluster.Store().Authorizer() == nil {
		return nil
	}
	needs := encryption.PermissionsFor(s.resources)
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	// In a cluster it is the kubelet that reads what is mounted into the Pod.
	mounted := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{encryption.PreflightConfigName}, Verbs: []string{"get"}}
	grants := []grantee{
		{controllersRole, controllersUser, "", needs.Cluster},
		{controllersRole, controllersUser, Namespace, append(needs.Keys, leaderelection.Permissions(leaseName)...)},
		{controllersRole, controllersUser, References, needs.References},
		{controllersRole, controllersUser, serverNamespace, needs.Servers},
		{checkPod, checkerUser, Namespace, append(preflightpod.Permissions(), mounted)},
		{"agents", agentUser, "", everything},
		{"users", appUser, "", everything},
	}
	for _, n := range s.nodes {
		grants = append(grants, grantee{n.name, nodeUser + n.name, "", everything})
	}
	for _, g := range grants {
		in := metav1.ObjectMeta{Name: g.name, Namespace: g.namespace}
		subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: g.user}}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: g.name}
		var err error
		if g.namespace == "" {
			ref.Kind = "ClusterRole"
			err = w.Admin().Create(background, &rbacv1.ClusterRole{ObjectMeta: in, Rules: g.rules})
			if err == nil {
				err = w.Admin().Create(background, &rbacv1.ClusterRoleBinding{ObjectMeta: in, Subjects: subjects, RoleRef: ref})
			}
		} else {
			err = w.Admin().Create(background, &rbacv1.Role{ObjectMeta: in, Rules: g.rules})
			if err == nil {
				err = w.Admin().Create(background, &rbacv1.RoleBinding{ObjectMeta: in, Subjects: subjects, RoleRef: ref})
			}
		}
		if err != nil {
			return fmt.Errorf("grant %s its permissions: %w", g.name, err)
		}
	}
	return nil
}
