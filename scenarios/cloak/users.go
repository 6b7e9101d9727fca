package cloak

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// agentUser is who the token of an agent says it is, and workloadUser who makes Pods.
const (
	agentUser    = "system:serviceaccount:kloak-system:agent"
	workloadUser = "system:serviceaccount:apps:workloads"
)

func user(name string) *apiserver.User { return &apiserver.User{Name: name} }

// allow gives agents what they need, and nothing else; and whoever makes Pods what that
// takes.
func allow(w *scenarios.World) error {
	for _, role := range []struct {
		name  string
		rules []rbacv1.PolicyRule
	}{
		{agentUser, cloak.AgentPermissions()},
		{workloadUser, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "create", "delete"}}}},
	} {
		in := metav1.ObjectMeta{Name: role.name}
		err := w.Admin().Create(context.Background(), &rbacv1.ClusterRole{ObjectMeta: in, Rules: role.rules})
		if err == nil {
			err = w.Admin().Create(context.Background(), &rbacv1.ClusterRoleBinding{
				ObjectMeta: in, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: role.name}},
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: in.Name},
			})
		}
		if err != nil {
			return fmt.Errorf("allow %s what it needs: %w", role.name, err)
		}
	}
	return nil
}
