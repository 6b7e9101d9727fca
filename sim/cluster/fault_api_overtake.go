package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Faults that look for races where they are: not every request is late, but one whose
// object others use too, and for just as long as it takes one of them to come in
// between. Whatever else happens in the cluster does not dilute that. Watch events have
// theirs in fault_watch_overtake.go.

var overtakeDefault = Fault{
	Rate: 100_000,
	Span: engine.Dist{Min: time.Second, Mean: 10 * time.Second, Max: time.Minute},
}

var overtakeKnobs = []Knob{
	{"span", "how long it waits at most"},
	{"verb, key", "which requests"},
}

var _ = register(FaultKind{
	Name: "api-overtaken-request",
	Meaning: "A request about an object that others use too is held up until one of them has written the object, " +
		"so that it is carried out later than its sender thinks.",
	Sites:   []Site{SiteServe},
	Strikes: "process",
	Knobs:   overtakeKnobs,
	Default: overtakeDefault,
	Opt:     true,
	inside:  true,
	fits:    (*request).contested,
	call: func(r *request, s *site) {
		r.overtaken(s, "its "+r.verb+" "+r.key+" is overtaken by what others write")
	},
})

var _ = register(FaultKind{
	Name: "api-overtaken-answer",
	Meaning: "The answer about an object that others use too is held up until one of them has written the object, " +
		"so that it is out of date when it arrives.",
	Sites:   []Site{SiteReply},
	Strikes: "process",
	Knobs:   overtakeKnobs,
	Default: overtakeDefault,
	Opt:     true,
	inside:  true,
	fits:    (*request).contested,
	call: func(r *request, s *site) {
		r.overtaken(s, "the answer to its "+r.verb+" "+r.key+" is overtaken by what others write")
	},
})

// overtaken holds a request or its answer up.
func (r *request) overtaken(s *site, what string) {
	r.behind = s.span()
	r.struck(s, uint64(r.behind), what)
}

// contest is what a run has shown so far about the users of one object.
type contest struct {
	first  *Process // that asked for it
	times  int      // how often that process did
	shared bool     // another has asked for it as well
	held   *request // those that wait to be overtaken, the last to come first
}

// private is how many requests of one process alone make an object its own. Until then
// others may still come: who comes first must not always win.
const private = 3

// enter notes who asks for the object of a request. It does nothing unless a fault looks
// for races. Lists, and creations under generated names, are about no object.
func (c *Cluster) enter(r *request) {
	if c.contests == nil || target(&r.req) == "" {
		return
	}
	x := c.contests[r.key]
	if x == nil {
		x = &contest{first: r.proc}
		c.contests[r.key] = x
	}
	x.shared = x.shared || x.first != r.proc
	x.times++
}

// contested reports whether the request is about an object that others use or may yet
// come to use.
func (r *request) contested() bool {
	x := r.cluster.contests[r.key]
	return x != nil && (x.shared || x.times <= private)
}

// holdUp lets a request wait until it is overtaken, or for as long as it may; go on
// continues it.
func (r *request) holdUp(goOn func(any)) {
	x := r.cluster.contests[r.key]
	r.goOn = goOn
	r.behindNext, x.held = x.held, r
	r.limit = r.cluster.eng.After(r.behind, waitedEnough, r)
	r.behind = 0
}

// waitedEnough ends the wait of a request that nobody has overtaken.
func waitedEnough(arg any) {
	r := arg.(*request)
	x := r.cluster.contests[r.key]
	for at := &x.held; *at != nil; at = &(*at).behindNext {
		if *at == r {
			*at = r.behindNext
			break
		}
	}
	r.behindNext = nil
	r.goOn(r)
}

// overtake lets those go on that wait for a write to an object, which has just been
// made.
func (c *Cluster) overtake(key string) {
	x := c.contests[key]
	if x == nil {
		return
	}
	for x.held != nil {
		r := x.held
		x.held, r.behindNext = r.behindNext, nil
		r.limit.Cancel()
		c.eng.After(0, r.goOn, r)
	}
}
