package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

var processKnobs = []Knob{{"verb, key", "at which requests"}}

var _ = register(FaultKind{
	Name:    "process-crash",
	Meaning: "A process crashes at an API call: before it has sent the request, or after the request was carried out and before it hears of it.",
	Sites:   []Site{SiteSend, SiteReply},
	Strikes: "process",
	Knobs:   processKnobs,
	Default: Fault{Rate: 3_000},
	inside:  true,
	call: func(r *request, s *site) {
		r.crash = true
		when := "before it sends "
		if r.inst != nil {
			when = "after "
		}
		r.struck(s, 0, "it crashes "+when+r.verb+" "+r.key)
	},
})

var _ = register(FaultKind{
	Name:    "process-kill",
	Meaning: "A process is killed wherever it happens to be, such as by the kernel for want of memory.",
	Sites:   []Site{SiteTimed},
	Strikes: "process",
	Knobs:   timedKnobs("a process"),
	Default: Fault{Rate: 100_000, Every: 10 * time.Second},
	timed: func(c *Cluster, s *strike) func() {
		if p, ok := pick(s, c.processes); ok && p.alive {
			c.struck("process-kill", p.name, "", 0, "it is killed")
			p.Crash()
		}
		return nil
	},
})

var _ = register(FaultKind{
	Name:    "process-pause",
	Meaning: "A process stands still for a while, as in a long garbage collection, while time and its leases run on.",
	Sites:   []Site{SiteTimed},
	Strikes: "process",
	Knobs:   append(timedKnobs("a process"), Knob{"span", "for how long"}),
	Default: Fault{
		Rate: 100_000, Every: 10 * time.Second,
		Span: engine.Dist{Min: 100 * time.Millisecond, Mean: 5 * time.Second, Max: time.Minute},
	},
	timed: func(c *Cluster, s *strike) func() {
		p, ok := pick(s, c.processes)
		if !ok || !p.alive {
			return nil
		}
		c.struck("process-pause", p.name, "", 0, "it stands still")
		return p.hold()
	},
})

var _ = register(FaultKind{
	Name:    "process-stall",
	Meaning: "A process loses the processor at a read of its cache, so that its cache and the world move on between two reads.",
	Sites:   []Site{SiteRead},
	Strikes: "process",
	Knobs:   []Knob{{"span", "for how long"}, {"verb, key", "at which reads"}},
	Default: Fault{
		Rate: 20_000,
		Span: engine.Dist{Min: time.Millisecond, Mean: 50 * time.Millisecond, Max: 5 * time.Second},
	},
	read: func(p *Process, s *site) {
		d := s.span()
		p.cluster.struck("process-stall", p.name, "", uint64(d), "it loses the processor for "+d.String())
		_ = p.proc.Sleep(background, d) // background never ends
	},
})

// timedKnobs are the knobs of kinds that strike one entity per opportunity.
func timedKnobs(what string) []Knob {
	return []Knob{{"every", "time between two opportunities, over the whole cluster"}, {"target", "which " + what + " may be struck"}}
}
