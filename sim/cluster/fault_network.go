package cluster

import (
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Faults of messages between nodes. Partitions are in fault_partition.go.

var linkKnobs = []Knob{{"target", `which links, such as "node-1>node-2" or "node-1>*"`}, {"rate", "how many of the messages"}}

var _ = register(FaultKind{
	Name:    "network-loss",
	Meaning: "Messages between nodes get lost.",
	Sites:   []Site{SiteHeld}, Strikes: "link", Knobs: linkKnobs,
	Default: Fault{Rate: 20_000},
	timed:   degrade,
})

var _ = register(FaultKind{
	Name:    "network-duplicate",
	Meaning: "Messages between nodes arrive twice.",
	Sites:   []Site{SiteHeld}, Strikes: "link", Knobs: linkKnobs,
	Default: Fault{Rate: 20_000},
	timed:   degrade,
})

var _ = register(FaultKind{
	Name:    "network-reorder",
	Meaning: "Messages between nodes overtake each other.",
	Sites:   []Site{SiteHeld}, Strikes: "link", Knobs: linkKnobs,
	Default: Fault{Rate: 50_000},
	timed:   degrade,
})

var _ = register(FaultKind{
	Name:    "network-delay",
	Meaning: "All messages between nodes take longer.",
	Sites:   []Site{SiteHeld}, Strikes: "link",
	Knobs: []Knob{linkKnobs[0], {"span", "how much longer"}},
	Default: Fault{Span: engine.Dist{
		Min: time.Millisecond, Mean: 20 * time.Millisecond, Max: time.Second,
	}},
	timed: degrade,
})

// degrade makes links worse while the fault is in force.
func degrade(c *Cluster, s *strike) (undo func()) {
	f := &s.fault.fault
	c.struck(f.Kind, "", f.Target, uint64(f.Rate), "links get worse")
	c.bad = append(c.bad, f)
	c.requality()
	return func() {
		c.bad = slices.DeleteFunc(c.bad, func(x *Fault) bool { return x == f })
		c.requality()
	}
}
