package cluster

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Faults for plans that try every place in turn where a process may see an old world.
// They are no part of presets, in which kinds of their own do the same at random.

var staleSpan = Fault{
	Rate: 20_000,
	Span: engine.Dist{Min: time.Second, Mean: 10 * time.Second, Max: time.Minute},
}

var _ = register(FaultKind{
	Name:    "cache-stale",
	Meaning: "From one of its reads on, the caches of a process stand still for a while: what it reads next is what it has read.",
	Sites:   []Site{SiteRead},
	Strikes: "process",
	Knobs:   []Knob{{"span", "for how long"}, {"verb, key", "from which reads on"}},
	Default: staleSpan,
	Opt:     true,
	read: func(p *Process, s *site) {
		d := s.span()
		until := p.eng.Elapsed() + d
		for _, inf := range p.informers {
			if session := inf.reflector.session; session != nil {
				session.last = max(session.last, until)
			}
		}
		p.cluster.struck("cache-stale", p.name, "", uint64(d), "its caches stand still for "+d.String())
	},
})

var _ = register(FaultKind{
	Name: "watch-gap",
	Meaning: "A watch falls silent and ends with 410 Gone, so that the client lists again: " +
		"it sees what is there then, and never what has happened in between.",
	Sites:   []Site{SiteWatch},
	Strikes: "process",
	Knobs:   []Knob{{"span", "how long it is silent"}, watchKnobs[0]},
	Default: staleSpan,
	Opt:     true,
	watch: func(w *session, s *site) {
		d := s.span()
		w.struck(s, uint64(d), "its watch of "+w.key+" is silent for "+d.String()+" and then too old")
		w.last = max(w.last, w.proc.eng.Elapsed()+d)
		status := apierrors.NewResourceExpired("the history that the watch needs is gone").ErrStatus
		w.sendEvent(apiserver.Event{Type: watch.Error, Status: &status})
		w.release()
	},
})

var _ = register(FaultKind{
	Name: "time-travel",
	Meaning: "After a write, the watch cache of another API server stops following; some time later the process that wrote is " +
		"restarted, lists from that server's cache as clients do that do not stream lists, and so sees the past. It needs two API servers.",
	Sites:   []Site{SiteReply},
	Strikes: "process",
	Knobs:   []Knob{{"span", "how far back"}, {"verb, key", "after which requests"}},
	Default: staleSpan,
	Opt:     true,
	inside:  true,
	call: func(r *request, s *site) {
		c, p := r.cluster, r.proc
		past := c.otherThan(r.inst)
		if past == nil || p.past != nil || !r.req.Verb.Write() {
			return
		}
		back, stay := s.span(), s.span()
		r.struck(s, uint64(back), past.name+" stays behind; in "+back.String()+" the process comes back to it")
		thaw := past.freeze()
		restart := c.eng.After(back, func(any) {
			p.past = past
			p.crash("is restarted")
		}, nil)
		c.lasts(s.kind, back+stay, func() {
			restart.Cancel()
			p.past = nil
			thaw()
		})
	},
})

// otherThan returns an API server that is up and is not the given one, or nil.
func (c *Cluster) otherThan(inst *Instance) *Instance {
	for _, i := range c.instances {
		if i != inst && !i.down {
			return i
		}
	}
	return nil
}

// lasts ends something that a fault of a kind has begun after d, or when the fault
// ends.
func (c *Cluster) lasts(kind *FaultKind, d time.Duration, undo func()) {
	for _, a := range c.faults.active {
		if a.kind == kind {
			o := &ongoing{fault: a, undo: undo}
			c.faults.ongoing = append(c.faults.ongoing, o)
			o.timer = c.eng.After(d, func(any) { c.end(o) }, nil)
			return
		}
	}
	undo()
}
