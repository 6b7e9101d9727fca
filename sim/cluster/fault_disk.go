package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

var _ = register(FaultKind{
	Name:    "disk-full",
	Meaning: "The disk of a node has no room left for a while: writes fail with ENOSPC.",
	Sites:   []Site{SiteTimed},
	Strikes: "node",
	Knobs:   append(timedKnobs("a node"), Knob{"span", "for how long"}),
	Default: Fault{
		Rate: 50_000, Every: 10 * time.Second,
		Span: engine.Dist{Min: 5 * time.Second, Mean: 30 * time.Second, Max: 5 * time.Minute},
	},
	timed: func(c *Cluster, s *strike) func() {
		n, ok := pick(s, c.nodes)
		if !ok || n.disk == nil || n.full {
			return nil
		}
		c.struck("disk-full", n.name, "", 0, "its disk is full")
		n.full = true
		o := n.disk.Options()
		before := o.Capacity
		o.Capacity = max(1, n.disk.Used())
		n.disk.SetOptions(o)
		return func() {
			n.full = false
			o := n.disk.Options()
			o.Capacity = before
			n.disk.SetOptions(o)
			c.emit("fault", n.name, "disk-free", "", 0, "its disk has room again")
		}
	},
})

var _ = register(FaultKind{
	Name:    "disk-error",
	Meaning: "Writes to a node's disk fail with EIO, and so do syncs, after which what was written may be lost.",
	Sites:   []Site{SiteHeld},
	Strikes: "node",
	Knobs:   []Knob{{"target", "which nodes"}, {"rate", "how many of the writes and syncs"}},
	Default: Fault{Rate: 5_000},
	timed: func(c *Cluster, s *strike) func() {
		f := s.fault.fault
		set := func(p engine.Prob) {
			for _, n := range c.nodes {
				if !match(f.Target, n.name) {
					continue
				}
				o := n.Disk().Options()
				o.WriteError, o.SyncError = p, p
				n.Disk().SetOptions(o)
			}
		}
		c.struck("disk-error", "", f.Target, uint64(f.Rate), "disks fail now and then")
		set(f.Rate)
		return func() { set(0) }
	},
})
