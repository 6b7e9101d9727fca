package gossip

import (
	"fmt"
	"testing"
	"time"
)

func benchmarkIdle(b *testing.B, nodes int, config func(string) Config) {
	b.ReportAllocs()
	var steps uint64
	for i := 0; b.Loop(); i++ {
		l := NewLab(uint64(i))
		l.KeepNone = true
		var first *Node
		for j := range nodes {
			cfg := config(fmt.Sprintf("node-%d", j))
			cfg.Keyring, _ = NewRing(nil, make([]byte, 32))
			n, err := l.Cluster.Create(cfg)
			if err != nil {
				b.Fatal(err)
			}
			if first == nil {
				first = n
			} else {
				n.Join([]string{first.Name()}, nil)
			}
			l.Run(10 * time.Millisecond)
		}
		l.Run(300 * time.Second)
		if first.NumMembers() != nodes {
			b.Fatalf("%d members", first.NumMembers())
		}
		steps += l.Steps
	}
	b.ReportMetric(float64(steps)/float64(b.N), "steps/op")
}

func BenchmarkIdle5Local(b *testing.B)  { benchmarkIdle(b, 5, LocalConfig) }
func BenchmarkIdle5LAN(b *testing.B)    { benchmarkIdle(b, 5, LANConfig) }
func BenchmarkIdle50Local(b *testing.B) { benchmarkIdle(b, 50, LocalConfig) }
