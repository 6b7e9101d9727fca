package home_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/home"
)

// BenchmarkHostileWorld is one run of six hostile hours, with every property checked,
// on one processor.
func BenchmarkHostileWorld(b *testing.B) {
	r, files := read(b, "hostile/01-everything.yaml")
	b.ReportAllocs()
	for n := range b.N {
		if o := r.RunSeed(files[0], uint64(n)); !o.Line().Expected {
			b.Fatalf("seed %d: %s", n, o.Found)
		}
	}
}

// BenchmarkThousandHomes is a quarter of an hour of a thousand homes in one cluster of a hundred
// nodes, in which nothing goes wrong.
func BenchmarkThousandHomes(b *testing.B) {
	const text = `apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: thousand, description: A thousand homes.}
cluster: {nodes: 100, nodeObjects: true, rbac: true}
systems: {home: {pods: 1000, claims: template}}
steps:
- sleep: 10m
- assert: home.pods.all(p, p.ready && p.home.requests <= %d)
properties: [home.*]
explore: {horizon: 20m}
`
	// A round each 15 s of Pod, Namespace and claim, and one patch; the first round is at once.
	const perMinute, minutes = 4 * 3, 10
	r, err := scenarios.New(home.System())
	if err != nil {
		b.Fatal(err)
	}
	file, err := r.Parse("thousand.yaml", fmt.Appendf(nil, text, (minutes*perMinute)+3+1))
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	verdicts, err := r.Run(context.Background(), scenarios.Plan{Files: []*scenarios.File{file}, Seeds: b.N, Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Bad != nil {
			b.Fatalf("seed %d: %s", v.Bad.Seed, v.Bad.Found)
		}
		b.ReportMetric(v.Simulated.Seconds()/b.Elapsed().Seconds(), "sim-s/s")
	}
	b.ReportMetric(perMinute, "requests/home/min")
}
