package encryption_test

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
)

// rotationOf is a cluster of three API servers with so many Secrets, in which one key
// is made, rolled out, migrated to and followed by another.
const rotationOf = `apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: rotation, description: One key follows another.}
cluster: {nodes: 3, apiServers: 3, nodeObjects: true}
systems:
  encryption: {objects: %d}
steps:
  - encryption.policy: {type: aescbc}
  - wait: {for: 'encryption.done', within: 12h}
  - encryption.policy: {reason: again}
  - wait: {for: 'encryption.keys.size() == 2 && encryption.done', within: 12h}
properties:
  - encryption.the-policy-is-met
explore: {horizon: 30h}
expect: pass
`

// BenchmarkRotation measures a first key and a rotation: simulated is what it takes in
// the cluster.
func BenchmarkRotation(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r, _ := read(b, "rotation/01-aescbc.yaml")
			file, err := r.Parse("rotation.yaml", fmt.Appendf(nil, rotationOf, n))
			if err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				o := r.RunSeed(file, uint64(i))
				if o.Result != scenarios.Held {
					b.Fatalf("%s: %s %s %v", o.Result, o.Property, o.Found, o.Err)
				}
				b.ReportMetric(o.Simulated.Minutes()-90, "simulated-min")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(i+1)/float64(n), "µs/object")
			}
		})
	}
}

// BenchmarkHostileDay measures a day and a night of an operator who does what should not
// be done.
func BenchmarkHostileDay(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(sim.GCPercent))
	r, files := read(b, "operator/hostile.yaml")
	var simulated time.Duration
	for i := 0; b.Loop(); i++ {
		o := r.RunSeed(files[0], uint64(i))
		if o.Result != scenarios.Held {
			b.Fatalf("seed %d: %s %s %s %v", i, o.Result, o.Property, o.Found, o.Err)
		}
		simulated += o.Simulated
		b.ReportMetric(simulated.Hours()/b.Elapsed().Seconds(), "simulated-h/s")
	}
}
