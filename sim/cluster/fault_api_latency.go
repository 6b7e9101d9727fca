package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

var _ = register(FaultKind{
	Name:    "api-latency",
	Meaning: "An API request or its answer takes much longer than usual, so that others overtake it.",
	Sites:   []Site{SiteSend},
	Strikes: "process",
	Knobs: []Knob{
		{"span", "how much longer"},
		{"verb, key", "which requests"},
	},
	Default: Fault{
		Rate: 20_000,
		Span: engine.Dist{Min: 50 * time.Millisecond, Mean: 500 * time.Millisecond, Max: 20 * time.Second},
	},
	inside: true,
	call: func(r *request, s *site) {
		d := s.span()
		way := "to the API server"
		if s.spans.Intn(2) == 0 {
			r.delay += d
		} else {
			r.late += d
			way = "of the answer"
		}
		r.struck(s, uint64(d), "the way "+way+" takes "+d.String()+" longer")
	},
})
