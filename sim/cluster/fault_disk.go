package cluster

import (
	"slices"
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
		f := &diskFault{fault: &s.fault.fault, added: map[*Node]rates{}}
		c.struck("disk-error", "", f.fault.Target, uint64(f.fault.Rate), "disks fail now and then")
		c.spoilt = append(c.spoilt, f)
		for _, n := range c.nodes {
			f.spoil(n)
		}
		return func() {
			c.spoilt = slices.DeleteFunc(c.spoilt, func(x *diskFault) bool { return x == f })
			for _, n := range c.nodes {
				f.repair(n)
			}
		}
	},
})

// diskFault is a disk-error in force, with how much it has added to the rates of
// each disk.
type diskFault struct {
	fault *Fault
	added map[*Node]rates
}

type rates struct{ write, sync engine.Prob }

// spoil makes the node's disk worse, if it has one yet and is aimed at.
func (f *diskFault) spoil(n *Node) {
	if n.disk == nil || !match(f.fault.Target, n.name) {
		return
	}
	o := n.disk.Options()
	add := rates{min(f.fault.Rate, million-o.WriteError), min(f.fault.Rate, million-o.SyncError)}
	o.WriteError += add.write
	o.SyncError += add.sync
	n.disk.SetOptions(o)
	f.added[n] = add
}

// repair leaves the node's disk as the cluster's configuration or somebody else
// wants it.
func (f *diskFault) repair(n *Node) {
	add, ok := f.added[n]
	if !ok {
		return
	}
	o := n.disk.Options()
	o.WriteError -= min(o.WriteError, add.write)
	o.SyncError -= min(o.SyncError, add.sync)
	n.disk.SetOptions(o)
}
