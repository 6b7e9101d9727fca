package gossipkeys_test

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/gossipkeys"
)

// A story of your own: the operator is in a hurry, and drops the old key when
// the new one has hardly been added. Nodes that have moved on and nodes that have
// not cannot read each other.
func Example() {
	registry := scenarios.MustNew(gossipkeys.System())
	file, err := registry.Parse("hurry.yaml", []byte(`
apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata:
  name: hurry
  description: A rotation without the step in the middle.
cluster: {nodes: 3, nodeObjects: true, rbac: true}
systems:
  gossipkeys: {keys: [K1], rotator: false}
steps:
  - wait: {for: 'gossipkeys.agents.all(a, a.ready)', within: 1m}
  - gossipkeys.setKeys: [K1, K2]
  - sleep: 1m
  - gossipkeys.setKeys: [K2]
  - sleep: 1m
properties:
  - gossipkeys.all-nodes-understand-each-other
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	o := registry.RunSeed(file, 1)
	fmt.Println(o.Result, o.Property) // o.Found says who cannot read whom, and what their rings hold
	// Output:
	// violated gossipkeys.all-nodes-understand-each-other
}
