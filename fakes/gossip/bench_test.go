package gossip

import (
	"fmt"
	"testing"
	"time"
)

// form makes count nodes with one key, each joining the first.
func form(b *testing.B, l *Lab, count int, config func(string) Config) []*Node {
	nodes := make([]*Node, count)
	for i := range nodes {
		cfg := config(fmt.Sprintf("node-%d", i))
		cfg.Keyring = ringOf(1)
		n, err := l.Cluster.Create(cfg)
		if err != nil {
			b.Fatal(err)
		}
		if nodes[i] = n; i > 0 {
			n.Join([]string{nodes[0].Name()}, nil)
		}
		l.Run(10 * time.Millisecond)
	}
	return nodes
}

// benchmarkCluster is one run of 300 virtual seconds per operation.
func benchmarkCluster(b *testing.B, count int, config func(string) Config, story func(*Lab, []*Node)) {
	b.ReportAllocs()
	var steps uint64
	for i := 0; b.Loop(); i++ {
		l := NewLab(uint64(i))
		l.KeepNone = true
		nodes := form(b, l, count, config)
		if story != nil {
			story(l, nodes)
		}
		l.Run(300*time.Second - l.Now())
		steps += l.Steps
	}
	b.ReportMetric(float64(steps)/float64(b.N), "events/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/event")
}

// BenchmarkIdle is the price of a cluster in which nothing happens.
func BenchmarkIdle(b *testing.B) {
	for _, count := range []int{5, 50} {
		b.Run(fmt.Sprintf("local/%d", count), func(b *testing.B) { benchmarkCluster(b, count, LocalConfig, nil) })
		b.Run(fmt.Sprintf("lan/%d", count), func(b *testing.B) { benchmarkCluster(b, count, LANConfig, nil) })
	}
}

// BenchmarkHardSwap splits the cluster in the second minute and rejoins it every
// minute, with half of all traffic unreadable in between.
func BenchmarkHardSwap(b *testing.B) {
	benchmarkCluster(b, 5, AgentConfig, func(l *Lab, nodes []*Node) {
		l.Run(time.Minute)
		for i, n := range nodes {
			if i == 3 {
				l.Run(time.Minute)
			}
			r := n.Keyring().(*Ring)
			_ = r.AddKey(testKey(2))
			_ = r.UseKey(testKey(2))
			_ = r.RemoveKey(testKey(1))
		}
		for range 3 {
			for _, n := range nodes {
				n.Join([]string{"node-0", "node-4"}, nil)
			}
			l.Run(50 * time.Second)
		}
	})
}
