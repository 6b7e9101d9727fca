package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

var _ = register(FaultKind{
	Name:    "apiserver-restart",
	Meaning: "An API server goes down and comes back: connections and watches break, and its watch cache starts empty, so that old watches get 410 Gone.",
	Sites:   []Site{SiteTimed},
	Strikes: "instance",
	Knobs:   append(timedKnobs("an API server"), Knob{"span", "how long it stays down"}),
	Default: Fault{
		Rate: 50_000, Every: 10 * time.Second,
		Span: engine.Dist{Min: time.Second, Mean: 15 * time.Second, Max: 2 * time.Minute},
	},
	timed: func(c *Cluster, s *strike) func() {
		i, ok := pick(s, c.instances)
		if !ok || i.down {
			return nil
		}
		c.struck("apiserver-restart", i.name, "", 0, "it goes down")
		i.Stop()
		return i.Start
	},
})

var _ = register(FaultKind{
	Name:    "watch-stale",
	Meaning: "The watch cache of an API server stops following the store: watches and cached lists through it are old, live reads are not.",
	Sites:   []Site{SiteTimed},
	Strikes: "instance",
	Knobs:   append(timedKnobs("an API server"), Knob{"span", "for how long"}),
	Default: Fault{
		Rate: 100_000, Every: 10 * time.Second,
		Span: engine.Dist{Min: time.Second, Mean: 15 * time.Second, Max: 3 * time.Minute},
	},
	timed: func(c *Cluster, s *strike) func() {
		i, ok := pick(s, c.instances)
		if !ok {
			return nil
		}
		c.struck("watch-stale", i.name, "", 0, "its watch cache stops following")
		return i.freeze()
	},
})

var _ = register(FaultKind{
	Name:    "compaction",
	Meaning: "The store and all watch caches forget their history: lists and watches from an old revision get 410 Gone and begin anew, without what happened in between.",
	Sites:   []Site{SiteTimed},
	Strikes: "instance",
	Knobs:   timedKnobs("an API server")[:1],
	Default: Fault{Rate: 50_000, Every: 10 * time.Second},
	timed: func(c *Cluster, s *strike) func() {
		c.struck("compaction", "", "", 0, "the store forgets its history")
		c.store.ForgetHistory()
		return nil
	},
})
