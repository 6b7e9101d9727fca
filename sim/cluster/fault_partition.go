package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

var partitionDefault = Fault{
	Rate: 50_000, Every: 10 * time.Second,
	Span: engine.Dist{Min: time.Second, Mean: 20 * time.Second, Max: 3 * time.Minute},
}

var _ = register(FaultKind{
	Name:    "partition",
	Meaning: "A node can neither send to the others nor hear from them, the control plane included.",
	Sites:   []Site{SiteTimed},
	Strikes: "node",
	Knobs:   append(timedKnobs("a node"), Knob{"span", "for how long"}),
	Default: partitionDefault,
	timed: func(c *Cluster, s *strike) func() {
		n, ok := pick(s, c.nodes)
		if !ok {
			return nil
		}
		c.struck("partition", n.name, "", 0, "it is cut off from all others")
		return c.isolate(n, true, true)
	},
})

var _ = register(FaultKind{
	Name:    "partition-one-way",
	Meaning: "A node can send to the others but not hear from them, or the other way round.",
	Sites:   []Site{SiteTimed},
	Strikes: "node",
	Knobs:   append(timedKnobs("a node"), Knob{"span", "for how long"}),
	Default: partitionDefault,
	timed: func(c *Cluster, s *strike) func() {
		n, ok := pick(s, c.nodes)
		if !ok {
			return nil
		}
		deaf := s.spans.Intn(2) == 0
		what := "it is not heard by any other"
		if deaf {
			what = "it does not hear any other"
		}
		c.struck("partition-one-way", n.name, "", 0, what)
		return c.isolate(n, !deaf, deaf)
	},
})

// isolate is Isolate with words.
func (c *Cluster) isolate(n *Node, out, in bool) (heal func()) {
	whole := c.Isolate(n, out, in)
	return func() {
		c.emit("fault", n.name, "heal", "", 0, "its network is whole again")
		whole()
	}
}
