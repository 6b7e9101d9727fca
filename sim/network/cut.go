package network

import (
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Cut is an interruption that lasts until Heal. Cuts may overlap; a link works
// again when all of them have healed.
type Cut struct {
	n       *Network
	name    string
	links   []*link
	isolate []*Host
	number  int // of the isolation
	healed  bool
}

// Partition cuts both directions between every host on the left and every host on
// the right. Hosts named on both sides keep their links to both.
func (n *Network) Partition(left, right []string) *Cut {
	c := &Cut{n: n, name: strings.Join(left, ",") + "|" + strings.Join(right, ",")}
	c.add(left, right)
	c.add(right, left)
	return c.begin("partition")
}

// PartitionOneWay cuts the direction from hosts to other hosts; answers in the
// other direction still pass.
func (n *Network) PartitionOneWay(from, to []string) *Cut {
	c := &Cut{n: n, name: strings.Join(from, ",") + ">" + strings.Join(to, ",")}
	c.add(from, to)
	return c.begin("partition")
}

// Isolate cuts hosts off from all hosts that are not named, including hosts that
// appear later. Named hosts still reach each other.
func (n *Network) Isolate(hosts ...string) *Cut {
	c := &Cut{n: n, name: strings.Join(hosts, ",")}
	n.isolations++
	c.number = n.isolations
	for _, name := range hosts {
		h := n.Host(name)
		c.isolate = append(c.isolate, h)
		h.isolations = append(h.isolations, c.number)
	}
	return c.begin("isolate")
}

func (c *Cut) add(from, to []string) {
	for _, a := range from {
		for _, b := range to {
			if !slices.Contains(to, a) && !slices.Contains(from, b) {
				c.links = append(c.links, c.n.link(a, b))
			}
		}
	}
}

func (c *Cut) begin(verb string) *Cut {
	for _, l := range c.links {
		l.cuts++
	}
	c.n.e.Emit(engine.Event{Kind: "fault", Actor: "network", Verb: verb, Object: c.name})
	return c
}

// Heal ends the interruption. It does nothing the second time.
func (c *Cut) Heal() {
	if c.healed {
		return
	}
	c.healed = true
	for _, l := range c.links {
		l.cuts--
	}
	for _, h := range c.isolate {
		h.isolations = slices.DeleteFunc(h.isolations, func(n int) bool { return n == c.number })
	}
	c.n.e.Emit(engine.Event{Kind: "fault", Actor: "network", Verb: "heal", Object: c.name})
	c.n.flush()
}
