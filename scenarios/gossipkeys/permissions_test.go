package gossipkeys_test

import (
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
)

const permissionsScenario = `apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: permissions, description: A test.}
cluster: {nodes: 2, nodeObjects: true, rbac: true}
systems: {gossipkeys: {}}
properties: [permissions-suffice]
steps:
`

// TestPermissionsSuffice: what the production code declares is enough, and a role
// that misses something is found. The second scenario is the planted bug.
func TestPermissionsSuffice(t *testing.T) {
	r, _ := read(t, "01-fresh-cluster.yaml")
	for _, test := range []struct {
		name, steps string
		result      scenarios.Result
		found       string
	}{
		{"as declared", "- sleep: 2m\n", scenarios.Held, ""},
		{
			"without its ClusterRole", "- delete: {kind: ClusterRole, name: gossip-agent}\n- sleep: 2m\n", scenarios.Violated,
			"/agent (system:serviceaccount:kube-system:gossip-agent) was refused: ",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := r.Parse("test.yaml", []byte(permissionsScenario+test.steps))
			if err != nil {
				t.Fatal(err)
			}
			o := r.RunSeed(file, 1)
			if o.Result != test.result || !strings.Contains(o.Found, test.found) || test.result == scenarios.Violated && o.Property != scenarios.PermissionsSuffice {
				t.Errorf("%s %s: %s (%v)", o.Result, o.Property, o.Found, o.Err)
			}
		})
	}
}
