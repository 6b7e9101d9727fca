package cluster

import (
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

var _ = register(FaultKind{
	Name: "watch-overtaken",
	Meaning: "Events of a watch are held up until the process that watches has written something, " +
		"so that it acts on a cache that is out of date.",
	Sites:   []Site{SiteWatch},
	Strikes: "process",
	Knobs:   []Knob{{"span", "how long they wait at most"}, watchKnobs[0]},
	Default: overtakeDefault,
	Opt:     true,
	watch: func(w *session, s *site) {
		d := s.span()
		w.struck(s, uint64(d), "its watch of "+w.key+" is overtaken by what it writes")
		w.waitForWrite(d)
	},
})

// waiting is what a session holds back.
type waiting struct {
	event apiserver.Event // the first
	limit engine.Timer
}

// waitForWrite holds the events of the session back until its process has written
// something, or for d.
func (s *session) waitForWrite(d time.Duration) {
	if s.waiting != nil {
		return
	}
	s.waiting = &waiting{limit: s.proc.eng.After(d, func(any) { s.stopWaiting(); s.goOn() }, nil)}
	s.proc.waiting = append(s.proc.waiting, s)
}

// stopWaiting takes the session from those that wait.
func (s *session) stopWaiting() {
	s.waiting.limit.Cancel()
	s.proc.waiting = slices.DeleteFunc(s.proc.waiting, func(x *session) bool { return x == s })
}

// goOn sends what was held back.
func (s *session) goOn() {
	ev := s.waiting.event
	s.waiting = nil
	s.sendEvent(ev)
	s.pump()
}

// moveOn lets the watches of a process go on that wait for it to write.
func (p *Process) moveOn() {
	for len(p.waiting) > 0 {
		s := p.waiting[0]
		s.stopWaiting()
		s.goOn()
	}
}
