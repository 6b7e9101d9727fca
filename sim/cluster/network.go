package cluster

import (
	"slices"
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
func (c *Cluster) Cut(from, to *Node) (heal func()) { return c.cutAll([]link{{from, to}}) }

// cutAll is Cut for several links.
func (c *Cluster) cutAll(links []link) (heal func()) {
	if c.cuts == nil {
		c.cuts = map[link]int{}
	}
	cuts := make([]*network.Cut, 0, len(links))
	for _, l := range links {
		c.cuts[l]++
		cuts = append(cuts, c.net.PartitionOneWay([]string{l.from.name}, []string{l.to.name}))
	}
	c.linksChanged()
	return func() {
		if cuts == nil {
			return
		}
		for i, l := range links {
			cuts[i].Heal()
			if c.cuts[l]--; c.cuts[l] == 0 {
				delete(c.cuts, l)
			}
		}
		cuts = nil
		c.linksChanged()
	}
}

// Partition cuts both directions between each machine on the left and each on
// the right, until the returned function is called.
func (c *Cluster) Partition(left, right []*Node) (heal func()) {
	var links []link
	for _, a := range left {
		for _, b := range right {
			if a != b {
				links = append(links, link{a, b}, link{b, a})
			}
		}
	}
	return c.cutAll(links)
}

// Isolate cuts a machine off: from what it sends (out), from what others send to
// it (in), or both, until the returned function is called.
func (c *Cluster) Isolate(n *Node, out, in bool) (heal func()) {
	var links []link
	for _, o := range c.machines() {
		if o == n {
			continue
		}
		if out {
			links = append(links, link{n, o})
		}
		if in {
			links = append(links, link{o, n})
		}
	}
	return c.cutAll(links)
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
	for _, n := range c.nodes {
		c.kubelet.listen(n)
	}
	c.eng.Touch()
}

// requality makes links as good or bad as the network faults in force want them.
// Links that a fault is aimed at in particular learn of it when they are used: there
// are as many links as pairs of machines.
func (c *Cluster) requality() {
	c.net.SetQuality(c.worsen(""))
	if !slices.ContainsFunc(c.bad, func(f *Fault) bool { return f.Target != "" }) {
		c.net.SetRule(nil)
		return
	}
	c.net.SetRule(func(from, to string) *network.Quality {
		name := from + ">" + to
		if !c.singled(name) {
			return nil
		}
		q := c.worsen(name)
		return &q
	})
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
