package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

// defaultQuality is that of links between machines of one cluster.
var defaultQuality = network.Quality{
	Delay: engine.Dist{Min: 100 * time.Microsecond, Mean: 500 * time.Microsecond, Max: 10 * time.Millisecond},
}

// Network carries messages between machines, by the names of nodes. API calls do
// not pass through it, but share its partitions.
func (c *Cluster) Network() *network.Network { return c.net }

// link is one direction between two machines.
type link struct{ from, to *Node }

// reaches reports whether what from sends arrives at to.
func (c *Cluster) reaches(from, to *Node) bool {
	return len(c.cuts) == 0 || from == to || c.cuts[link{from, to}] == 0
}

// Parted reports whether any link between two machines is cut.
func (c *Cluster) Parted() bool { return len(c.cuts) > 0 }

// Cut stops everything that from sends to to, until the returned function is
// called. Cuts of one link add up.
func (c *Cluster) Cut(from, to *Node) (heal func()) {
	if c.cuts == nil {
		c.cuts = map[link]int{}
	}
	l := link{from, to}
	c.cuts[l]++
	cut := c.net.PartitionOneWay([]string{from.name}, []string{to.name})
	c.linksChanged()
	healed := false
	return func() {
		if healed {
			return
		}
		healed = true
		cut.Heal()
		if c.cuts[l]--; c.cuts[l] == 0 {
			delete(c.cuts, l)
		}
		c.linksChanged()
	}
}

// Partition cuts both directions between each machine on the left and each on
// the right, until the returned function is called.
func (c *Cluster) Partition(left, right []*Node) (heal func()) {
	var heals []func()
	for _, a := range left {
		for _, b := range right {
			if a != b {
				heals = append(heals, c.Cut(a, b), c.Cut(b, a))
			}
		}
	}
	return all(heals)
}

// Isolate cuts a machine off: from what it sends (out), from what others send to
// it (in), or both, until the returned function is called.
func (c *Cluster) Isolate(n *Node, out, in bool) (heal func()) {
	var heals []func()
	for _, o := range c.machines() {
		if o == n {
			continue
		}
		if out {
			heals = append(heals, c.Cut(n, o))
		}
		if in {
			heals = append(heals, c.Cut(o, n))
		}
	}
	return all(heals)
}

func all(fs []func()) func() {
	return func() {
		for _, f := range fs {
			f()
		}
	}
}

// linksChanged stops and restarts the flow of watches.
func (c *Cluster) linksChanged() {
	for _, inst := range c.instances {
		for i := len(inst.sessions) - 1; i >= 0; i-- {
			s := inst.sessions[i]
			ok := c.reaches(inst.node, s.proc.node) && c.reaches(s.proc.node, inst.node)
			switch {
			case !ok && !s.cutOff:
				s.partitioned()
			case ok && s.cutOff:
				s.reconnected()
			}
		}
	}
	c.eng.Touch()
}

// requality computes the quality of links anew from the network faults in force.
func (c *Cluster) requality() {
	c.net.SetQuality(c.worsen(""))
	for _, a := range c.machines() {
		for _, b := range c.machines() {
			if a == b {
				continue
			}
			if name := a.name + ">" + b.name; c.singled(name) {
				c.net.SetLink(a.name, b.name, c.worsen(name))
			} else {
				c.net.ResetLink(a.name, b.name)
			}
		}
	}
}

// singled reports whether a network fault is aimed at that link in particular.
func (c *Cluster) singled(name string) bool {
	for _, f := range c.bad {
		if f.Target != "" && match(f.Target, name) {
			return true
		}
	}
	return false
}

// worsen adds the faults that concern a link to the quality of a good one.
func (c *Cluster) worsen(name string) network.Quality {
	q := c.cfg.Network
	for _, f := range c.bad {
		if f.Target != "" && !match(f.Target, name) {
			continue
		}
		switch f.Kind {
		case "network-loss":
			q.Loss = min(million, q.Loss+f.Rate)
		case "network-duplicate":
			q.Duplicate = min(million, q.Duplicate+f.Rate)
		case "network-reorder":
			q.Reorder = min(million, q.Reorder+f.Rate)
		case "network-delay":
			q.Delay.Min += f.Span.Min
			q.Delay.Mean += f.Span.Mean
			q.Delay.Max += f.Span.Max
		}
	}
	return q
}
