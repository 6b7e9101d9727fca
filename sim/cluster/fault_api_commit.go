package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

var _ = register(FaultKind{
	Name:    "api-slow-commit",
	Meaning: "A create, update or patch takes long from when the API server has encoded it until its etcd has committed it: what is written is sealed by what the server had loaded before.",
	Sites:   []Site{SiteServe},
	Strikes: "process",
	Knobs: []Knob{
		{"span", "how long"},
		{"verb, key", "which requests"},
	},
	Default: Fault{
		Rate: 5_000,
		Span: engine.Dist{Min: 10 * time.Millisecond, Mean: 2 * time.Second, Max: time.Minute},
	},
	Opt:    true,
	inside: true,
	call: func(r *request, s *site) {
		if !r.req.Verb.Write() || r.verb == "delete" || r.verb == "deletecollection" {
			return
		}
		d := s.span()
		r.hold += d
		r.struck(s, uint64(d), "the commit of "+r.verb+" "+r.key+" takes "+d.String()+" longer")
	},
})
