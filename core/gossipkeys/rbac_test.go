package gossipkeys_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// Section 6: who may do what to Secrets, and no more than that to anything.
func TestPermissions(t *testing.T) {
	named := func(rules []rbacv1.PolicyRule) (verbs []string) {
		for _, r := range rules {
			if slices.Equal(r.ResourceNames, []string{"antrea-memberlist-keys"}) && slices.Equal(r.Resources, []string{"secrets"}) {
				verbs = append(verbs, r.Verbs...)
			}
		}
		slices.Sort(verbs)
		return verbs
	}
	for _, tc := range []struct {
		who     string
		got     gossipkeys.Permissions
		secret  []string
		unnamed []string
		nodes   []string
	}{
		{"provisioner", gossipkeys.ProvisionerPermissions(), []string{"get", "list", "update", "watch"}, []string{"create"}, nil},
		{"agent", gossipkeys.AgentPermissions(), []string{"get", "list", "watch"}, nil, []string{"get", "list", "watch", "patch"}},
		{"rotator", gossipkeys.RotatorPermissions(), []string{"get", "list", "update", "watch"}, nil, []string{"get", "list", "watch"}},
	} {
		if got := named(tc.got.Namespaced); !slices.Equal(got, tc.secret) {
			t.Errorf("%s may %v the Secret, want %v", tc.who, got, tc.secret)
		}
		var unnamed []string
		for _, r := range tc.got.Namespaced {
			if len(r.ResourceNames) == 0 {
				unnamed = append(unnamed, r.Verbs...)
			}
		}
		if !slices.Equal(unnamed, tc.unnamed) {
			t.Errorf("%s may %v any Secret, want %v", tc.who, unnamed, tc.unnamed)
		}
		var nodes []string
		for _, r := range tc.got.Cluster {
			if !slices.Equal(r.Resources, []string{"nodes"}) {
				t.Errorf("%s has cluster-wide rights to %v", tc.who, r.Resources)
			}
			nodes = append(nodes, r.Verbs...)
		}
		if !slices.Equal(nodes, tc.nodes) {
			t.Errorf("%s may %v Nodes, want %v", tc.who, nodes, tc.nodes)
		}
	}
	rules := gossipkeys.AgentPermissions(gossipkeys.WithSecret("mine", "")).Namespaced
	if got := rules[0].ResourceNames[0]; got != "mine" {
		t.Errorf("the rule names %s", got)
	}
}
