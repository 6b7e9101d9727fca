package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

var watchKnobs = []Knob{{"key", "which watches, by resource and namespace"}}

var _ = register(FaultKind{
	Name:    "watch-disconnect",
	Meaning: "The connection of a watch breaks; events are missed until the client has opened a new one.",
	Sites:   []Site{SiteWatch},
	Strikes: "process",
	Knobs:   watchKnobs,
	Default: Fault{Rate: 20_000},
	watch: func(w *session, s *site) {
		w.struck(s, 0, "its watch of "+w.key+" breaks")
		w.hangUp(errEOF)
	},
})

var _ = register(FaultKind{
	Name:    "watch-lag",
	Meaning: "Events of a watch arrive late, in order, so that the caches of a process lag behind.",
	Sites:   []Site{SiteWatch},
	Strikes: "process",
	Knobs:   []Knob{{"span", "how late"}, watchKnobs[0]},
	Default: Fault{
		Rate: 20_000,
		Span: engine.Dist{Min: 100 * time.Millisecond, Mean: 2 * time.Second, Max: time.Minute},
	},
	watch: func(w *session, s *site) {
		d := s.span()
		w.last = max(w.last, w.proc.eng.Elapsed()+d)
		w.struck(s, uint64(d), "its watch of "+w.key+" lags by "+d.String())
	},
})
