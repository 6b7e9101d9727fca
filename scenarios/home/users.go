package home

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
)

const group = "system:serviceaccounts:" + Namespace

// user is who a Pod's token says it is.
func user(pod *grantPod) *apiserver.User {
	return &apiserver.User{
		Name: "system:serviceaccount:" + Namespace + ":" + pod.account, Groups: []string{group},
		Extra: map[string][]string{
			"authentication.kubernetes.io/pod-name": {pod.slot.name}, "authentication.kubernetes.io/pod-uid": {pod.uid},
		},
	}
}

// allow gives the accounts of grant Pods what a home needs, and nothing else.
func allow(w *scenarios.World) error {
	in := metav1.ObjectMeta{Name: "fiberd", Namespace: Namespace}
	err := w.Admin().Create(context.Background(), &rbacv1.Role{ObjectMeta: in, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "namespaces"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"pods/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaims"}, Verbs: []string{"get"}},
	}})
	if err == nil {
		err = w.Admin().Create(context.Background(), &rbacv1.RoleBinding{
			ObjectMeta: in, Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: in.Name},
		})
	}
	if err != nil {
		return fmt.Errorf("allow homes what they need: %w", err)
	}
	return nil
}
