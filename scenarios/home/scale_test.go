package home

import (
	"fmt"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// BenchmarkThousandHomes is ten minutes of a thousand homes in one cluster of a hundred
// nodes, in which nothing goes wrong. It counts what a home costs the API servers and the
// issuer, the start included.
func BenchmarkThousandHomes(b *testing.B) {
	const text = `apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: thousand, description: A thousand homes.}
cluster: {nodes: 100, nodeObjects: true, rbac: true}
systems: {home: {pods: %d, claims: template}}
steps:
- sleep: %dm
- assert: home.pods.all(p, p.ready && p.home.requests <= %d)
properties: [home.*]
explore: {horizon: 20m}
`
	// A round each 15 s of Pod, Namespace and claim; the first is at once, and finds out
	// what is served; and one patch.
	const homes, minutes, most = 1000, 10, 10*4*3 + 3 + 1
	var w witness
	r := w.registry(b)
	file, err := r.Parse("thousand.yaml", fmt.Appendf(nil, text, homes, minutes, most))
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
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
	s := w.states[0]
	asked, minutesRun := 0, s.world.Engine().Elapsed().Minutes()
	for _, l := range s.lives {
		asked += l.requests
	}
	b.ReportMetric(float64(asked)/homes/minutesRun, "requests/home/min")
	b.ReportMetric(float64(len(s.controller.issuer.Requests()))/homes/minutesRun, "issuer-requests/home/min")
}
