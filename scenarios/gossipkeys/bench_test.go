package gossipkeys_test

import (
	"context"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/gossipkeys"
)

// BenchmarkSafeRotation is one run of a gated rotation on five nodes, about five
// virtual minutes, with every property checked, on all processors.
func BenchmarkSafeRotation(b *testing.B) {
	registry, err := scenarios.New(gossipkeys.System())
	if err != nil {
		b.Fatal(err)
	}
	files, err := registry.Read("16-safe-rotation.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	verdicts, err := registry.Run(context.Background(), scenarios.Plan{Files: files, Seeds: b.N})
	if err != nil {
		b.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Bad != nil {
			b.Fatalf("seed %d: %s", v.Bad.Seed, v.Bad.Found)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "s/1000-runs")
}
