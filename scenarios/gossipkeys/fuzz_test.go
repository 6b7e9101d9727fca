package gossipkeys_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/gossipkeys"
	"github.com/seedbed-sim/seedbed/sim"
)

// storm is a rotation in a small cluster in which everything goes wrong for a
// while.
const storm = `apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: fuzzed-rotation, description: A rotation while anything may go wrong.}
cluster: {nodes: 3, nodeObjects: true, rbac: true, apiServers: 2}
systems:
  gossipkeys: {keys: [K1], applyLag: 0s..10s}
faults: {profile: swarm, until: 5m}
steps:
  - sleep: 0s..1m
  - gossipkeys.rotate: K2
  - sleep: 5m
  - note: What has crashed too often comes back within five minutes.
    wait: {for: 'processes.all(p, p.alive || !p.name.endsWith("/agent"))', within: 6m}
  - wait: {for: 'gossipkeys.secret == ["K2"]', within: 30m}
properties:
  - gossipkeys.*
explore: {horizon: 2h}
`

// FuzzRotation lets the fuzzer decide everything that is decided by chance: each
// byte is a choice, of the order of tasks, of latencies, of faults, and coverage
// of the production code tells it which choices lead somewhere new. A failure is
// shrunk, and told as in any other test.
//
//	go test -fuzz FuzzRotation -fuzztime 1m ./scenarios/gossipkeys
func FuzzRotation(f *testing.F) {
	r, err := scenarios.New(gossipkeys.System())
	if err != nil {
		f.Fatal(err)
	}
	file, err := r.Parse("storm.yaml", []byte(storm))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{}) // nothing but the simplest choices
	f.Add(bytes.Repeat([]byte{255}, 64))
	for n := range byte(8) {
		f.Add(noise(n, 4000))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		options, build := r.Simulation(file)
		options.Artifacts = t.TempDir()
		sim.Fuzz(t, choices, options, build)
	})
}

// noise is a number of bytes without any pattern, always the same for one seed.
func noise(seed byte, size int) []byte {
	var out []byte
	block := sha256.Sum256([]byte{seed})
	for len(out) < size {
		out = append(out, block[:]...)
		block = sha256.Sum256(block[:])
	}
	return out[:size]
}
