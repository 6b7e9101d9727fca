package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Core is a part of a cluster in which nothing goes wrong any more, while everything
// outside of it stays broken: more than half of the nodes, and at least one API server.
// Whoever needs a node or an API server that is outside is stuck; the core must not be.
//
// The machine of the control plane belongs to every core.
type Core struct {
	Nodes   []*Node     // in the order of the cluster
	Servers []*Instance // in the order of the cluster
	Outside []Outage    // what is broken

	mends []func()
}

// Outage is a node or an API server outside of a core.
type Outage struct {
	Name string
	How  string // what is wrong with it, such as "is down"
}

// HealCore ends all faults, as CeaseFaults does, but for a part of the cluster that is drawn:
// nodes that are down, cut off or frozen, and API servers that are down, until Mend. A
// cluster of less than three nodes loses none of them; of one API server likewise.
//
// What the script of the world has taken down stays down, and is outside. If it has cut
// links or frozen processes, or leaves no majority of the nodes, there is no core, and nil
// is returned; faults have ceased all the same.
func (c *Cluster) HealCore(draw *engine.Stream) *Core {
	c.cease("from here on nothing goes wrong any more in the core of the cluster")
	if c.Parted() || slices.ContainsFunc(c.processes, (*Process).Paused) {
		return nil
	}
	core, breakable := &Core{}, (len(c.nodes)-1)/2
	for _, n := range c.nodes {
		if n.down {
			breakable--
		}
	}
	if breakable < 0 && len(c.nodes) > 0 {
		return nil
	}
	outside := outsiders(draw, len(c.nodes), breakable)
	for i, n := range c.nodes {
		switch {
		case n.down:
			core.Outside = append(core.Outside, Outage{Name: n.name, How: "is down"})
		case outside[i]:
			core.breakNode(n, draw)
		default:
			core.Nodes = append(core.Nodes, n)
		}
	}
	core.chooseServers(c, draw)
	if len(core.Servers) == 0 {
		core.Mend()
		return nil
	}
	c.emit("story", "", "core", "", uint64(len(core.Nodes)), core.String())
	c.eng.Touch()
	return core
}

// chooseServers takes down some of the API servers that the core could have.
func (core *Core) chooseServers(c *Cluster, draw *engine.Stream) {
	var could []*Instance
	for _, i := range c.instances {
		switch {
		case i.down:
			core.Outside = append(core.Outside, Outage{Name: i.name, How: "is down"})
		case i.node == c.control || core.Has(i.node.name):
			could = append(could, i)
		}
	}
	outside := outsiders(draw, len(could), len(could)-1)
	for i, inst := range could {
		if outside[i] {
			core.breakServer(inst)
		} else {
			core.Servers = append(core.Servers, inst)
		}
	}
}

// outsiders draws up to most of n that are outside. Zeros, the simplest choices, leave all
// inside.
func outsiders(draw *engine.Stream, n, most int) []bool {
	outside := make([]bool, n)
	if most <= 0 {
		return outside
	}
	for range draw.Intn(most + 1) {
		outside[draw.Intn(n)] = true // one that is drawn twice is outside once
	}
	return outside
}

// breakNode breaks a node in a way that is drawn.
func (core *Core) breakNode(n *Node, draw *engine.Stream) {
	out := Outage{Name: n.name}
	switch draw.Intn(3) {
	case 0:
		out.How = "is down"
		n.Crash()
		core.mends = append(core.mends, n.Start)
	case 1:
		out.How = "is cut off"
		core.mends = append(core.mends, n.cluster.Isolate(n, true, true))
	default:
		out.How = "is frozen"
		for _, p := range n.processes {
			core.mends = append(core.mends, p.freeze())
		}
	}
	core.Outside = append(core.Outside, out)
}

// freeze holds a process, or what would start it again.
func (p *Process) freeze() (goOn func()) {
	switch {
	case p.alive:
		return p.Hold()
	case p.hasPending:
		p.unschedule()
		return func() { p.schedule(p.spec.Restart.after(0)) }
	}
	return func() {}
}

func (core *Core) breakServer(i *Instance) {
	core.Outside = append(core.Outside, Outage{Name: i.name, How: "is down"})
	i.Stop()
	core.mends = append(core.mends, i.Start)
}

// Has reports whether a node or an API server belongs to the core, by its name.
func (core *Core) Has(name string) bool {
	return slices.ContainsFunc(core.Nodes, func(n *Node) bool { return n.name == name }) ||
		slices.ContainsFunc(core.Servers, func(i *Instance) bool { return i.name == name })
}

// Mend brings everything back that is outside; once is enough.
func (core *Core) Mend() {
	for _, mend := range core.mends {
		mend()
	}
	core.mends = nil
}

// String says what belongs to the core and what is wrong outside.
func (core *Core) String() string {
	if core == nil {
		return "no core was chosen yet"
	}
	var inside, outside []string
	for _, n := range core.Nodes {
		inside = append(inside, n.name)
	}
	for _, i := range core.Servers {
		inside = append(inside, i.name)
	}
	for _, o := range core.Outside {
		outside = append(outside, o.Name+" "+o.How)
	}
	if len(outside) == 0 {
		return fmt.Sprintf("the core is the whole cluster: %s", strings.Join(inside, ", "))
	}
	return fmt.Sprintf("the core is %s, while %s", strings.Join(inside, ", "), strings.Join(outside, ", "))
}
