package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

var _ = register(FaultKind{
	Name:    "node-crash",
	Meaning: "A node goes down with all its processes and loses what was not synced to its disk; later it boots.",
	Sites:   []Site{SiteTimed},
	Strikes: "node",
	Knobs:   append(timedKnobs("a node"), Knob{"span", "how long it stays down"}),
	Default: Fault{
		Rate: 50_000, Every: 10 * time.Second,
		Span: engine.Dist{Min: 5 * time.Second, Mean: 30 * time.Second, Max: 5 * time.Minute},
	},
	timed: func(c *Cluster, s *strike) func() {
		n, ok := pick(s, c.nodes)
		if !ok || n.down {
			return nil
		}
		c.struck("node-crash", n.name, "", 0, "it goes down")
		n.Crash()
		return n.Start
	},
})

var _ = register(FaultKind{
	Name:    "clock-skew",
	Meaning: "The wall clock of a node is wrong for a while, by up to ten minutes either way.",
	Sites:   []Site{SiteTimed},
	Strikes: "node",
	Knobs: append(timedKnobs("a node"), Knob{"span", "for how long"},
		Knob{"limit", "by how many seconds at most"}),
	Default: Fault{
		Rate: 50_000, Every: 10 * time.Second, Limit: 600,
		Span: engine.Dist{Min: 10 * time.Second, Mean: time.Minute, Max: 5 * time.Minute},
	},
	timed: func(c *Cluster, s *strike) func() {
		n, ok := pick(s, c.machines())
		if !ok || n.offset != 0 {
			return nil
		}
		off := time.Duration(1+s.spans.Intn(int(s.fault.fault.Limit))) * time.Second
		if s.spans.Intn(2) == 1 {
			off = -off
		}
		c.struck("clock-skew", n.name, "", uint64(off), "its wall clock jumps by "+off.String())
		n.SetClock(off, n.drift)
		return func() { n.SetClock(0, n.drift) }
	},
})

var _ = register(FaultKind{
	Name:    "clock-drift",
	Meaning: "The clocks of a node run fast or slow for a while, so that its timers and time-outs do too.",
	Sites:   []Site{SiteTimed},
	Strikes: "node",
	Knobs: append(timedKnobs("a node"), Knob{"span", "for how long"},
		Knob{"limit", "by how many parts per million at most"}),
	Default: Fault{
		Rate: 50_000, Every: 10 * time.Second, Limit: 100_000,
		Span: engine.Dist{Min: 10 * time.Second, Mean: time.Minute, Max: 5 * time.Minute},
	},
	timed: func(c *Cluster, s *strike) func() {
		n, ok := pick(s, c.machines())
		if !ok || n.drift != 0 {
			return nil
		}
		ppm := int64(1 + s.spans.Intn(int(s.fault.fault.Limit)))
		if s.spans.Intn(2) == 1 {
			ppm = -ppm
		}
		c.struck("clock-drift", n.name, "", uint64(ppm), "its clocks run off by "+itoa(int(ppm))+" ppm")
		n.SetClock(n.offset, ppm)
		return func() { n.SetClock(n.offset, 0) }
	},
})

// machines are all nodes and the control plane's machine.
func (c *Cluster) machines() []*Node { return append([]*Node{c.control}, c.nodes...) }
