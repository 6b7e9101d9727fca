package authz

import (
	_ "embed" // defaultsJSON
	"encoding/json"
	"fmt"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Policy is a set of roles and bindings.
type Policy struct {
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
}

// defaultsJSON holds the roles and bindings that a real API server makes when it
// starts, as one answered with them.
//
//go:embed defaults.json
var defaultsJSON []byte

// Defaults returns the roles and bindings that every real cluster has, among them
// cluster-admin, system:discovery, system:basic-user and the roles view, edit and
// admin. Those three have no rules of their own: a controller gathers them, from
// roles that are here as well. What is returned is shared and read-only.
var Defaults = sync.OnceValue(func() *Policy {
	p := &Policy{}
	if err := json.Unmarshal(defaultsJSON, p); err != nil {
		panic(fmt.Sprintf("authz: embedded default roles: %v", err))
	}
	return p
})
