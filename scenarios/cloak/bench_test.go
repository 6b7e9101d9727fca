package cloak_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// BenchmarkHostileWorld is one run of a hostile hour on ten nodes, with every property
// checked, on one processor.
func BenchmarkHostileWorld(b *testing.B) {
	r := registry(b)
	files, err := r.Read("hostile-world.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for n := range b.N {
		if o := r.RunSeed(files[0], uint64(n)); !o.Line().Expected {
			b.Fatalf("seed %d: %s", n, o.Found)
		}
	}
}

// BenchmarkNodes is ten minutes of nodes with thirty Pods each, which resolve names and send
// requests over TLS all the time: how much virtual time passes in a second of real time,
// and how that changes with the number of nodes.
func BenchmarkNodes(b *testing.B) {
	for _, nodes := range []int{5, 50} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			r := registry(b)
			file, err := r.Parse("nodes.yaml", manyPods(nodes, 30))
			if err != nil {
				b.Fatal(err)
			}
			verdicts, err := r.Run(b.Context(), scenarios.Plan{Files: []*scenarios.File{file}, Seeds: b.N, Workers: 1})
			if err != nil {
				b.Fatal(err)
			}
			for _, v := range verdicts {
				if v.Bad != nil {
					b.Fatalf("seed %d: %s", v.Bad.Seed, v.Bad.Found)
				}
				b.ReportMetric(v.Simulated.Seconds()/b.Elapsed().Seconds(), "sim-s/s")
			}
		})
	}
}

// manyPods is a scenario with so many nodes, and so many Pods on each.
func manyPods(nodes, pods int) []byte {
	var list strings.Builder
	for i := range nodes * pods {
		fmt.Fprintf(&list, "      - {name: app-%d, uses: [s%d], host: h%d.example.com, keep: %t}\n", i, i%20, i%20, i%2 == 0)
	}
	var secrets strings.Builder
	for i := range 20 {
		fmt.Fprintf(&secrets, "      - {name: s%d, value: V%d, hosts: h%d.example.com}\n", i, i, i)
	}
	return fmt.Appendf(nil, `apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: nodes, description: Many Pods on many nodes.}
cluster: {nodes: %d}
systems:
  cloak:
    every: 5s..15s
    secrets:
%s    pods:
%ssteps:
- sleep: 10m
- assert: cloak.pods.all(p, p.inARow > 3)
properties: [cloak.*]
explore: {horizon: 20m}
`, nodes, secrets.String(), list.String())
}
