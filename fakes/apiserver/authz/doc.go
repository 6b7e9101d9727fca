// Package authz decides who may do what.
//
// An [Authorizer] is asked before anything else is looked up, so a user without
// rights cannot tell a missing object from an existing one. [RBAC] is the one
// that real clusters use: it reads Roles, ClusterRoles and their bindings. A
// test may use any other.
package authz
