package gossipkeys

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// Users of the API, one per kind of process.
const (
	controllerUser = "system:serviceaccount:kube-system:gossip-controller"
	rotatorUser    = "system:serviceaccount:kube-system:gossip-rotator"
	agentUser      = "system:serviceaccount:kube-system:gossip-agent"
)

func user(name string) *apiserver.User { return &apiserver.User{Name: name} }

// grant gives each kind of process what the production code declares it needs,
// and nothing else.
func grant(w *scenarios.World) error {
	for _, g := range []struct {
		name, user string
		needs      gossipkeys.Permissions
	}{
		{"gossip-controller", controllerUser, gossipkeys.ProvisionerPermissions()},
		{"gossip-rotator", rotatorUser, gossipkeys.RotatorPermissions()},
		{"gossip-agent", agentUser, gossipkeys.AgentPermissions()},
	} {
		subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: g.user}}
		in := metav1.ObjectMeta{Name: g.name, Namespace: Namespace}
		everywhere := metav1.ObjectMeta{Name: g.name}
		err := w.Admin().Create(context.Background(), &rbacv1.Role{ObjectMeta: in, Rules: g.needs.Namespaced})
		if err == nil {
			err = w.Admin().Create(context.Background(), &rbacv1.RoleBinding{ObjectMeta: in, Subjects: subject,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: g.name}})
		}
		if err == nil {
			err = w.Admin().Create(context.Background(), &rbacv1.ClusterRole{ObjectMeta: everywhere, Rules: g.needs.Cluster})
		}
		if err == nil {
			err = w.Admin().Create(context.Background(), &rbacv1.ClusterRoleBinding{ObjectMeta: everywhere, Subjects: subject,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: g.name}})
		}
		if err != nil {
			return fmt.Errorf("grant %s its permissions: %w", g.name, err)
		}
	}
	return nil
}
