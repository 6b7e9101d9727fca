package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

const million = 1_000_000

// site is one active fault at one entity: where its hits are drawn.
type site struct {
	fault Fault
	kind  *FaultKind
	hits  *engine.Stream // 1 = the fault strikes
	spans *engine.Stream // how long, how late
}

// span draws how long a fault lasts or how much delay it adds.
func (s *site) span() time.Duration { return s.spans.Duration(s.fault.Span) }

// sites are the active faults of one process, by where they strike. Empty lists
// are nil, which is all that a call costs when nothing is wrong.
type sites struct {
	read, send, serve, reply, watch []*site
}

// unharmed are the sites of all processes that no fault is aimed at.
var unharmed sites

// ofCalls reports whether the site is one of a process.
func (s Site) ofCalls() bool { return new(sites).of(s) != nil }

// of returns the list for a site of calls, or nil.
func (l *sites) of(s Site) *[]*site {
	switch s {
	case SiteRead:
		return &l.read
	case SiteSend:
		return &l.send
	case SiteServe:
		return &l.serve
	case SiteReply:
		return &l.reply
	case SiteWatch:
		return &l.watch
	}
	return nil
}

// aim finds the faults that concern p. It runs whenever a fault begins or ends.
func (c *Cluster) aim(p *Process) {
	p.sites = &unharmed
	for _, a := range c.faults.active {
		if !match(a.fault.Target, p.name) {
			continue
		}
		for _, at := range a.kind.Sites {
			if at.ofCalls() && p.sites == &unharmed {
				p.sites = &sites{}
			}
			if list := p.sites.of(at); list != nil {
				*list = append(*list, &site{
					fault: a.fault, kind: a.kind,
					hits:  c.eng.Stream("fault/"+a.kind.Name, p.name),
					spans: c.eng.Stream("span/"+a.kind.Name, p.name),
				})
			}
		}
	}
}

// concerns reports whether the fault narrows itself to other requests.
func (s *site) concerns(verb, key string) bool {
	return (s.fault.Verb == "" || s.fault.Verb == verb) && (s.fault.Key == "" || match(s.fault.Key, key))
}

// strike gives each fault of the list its chance at r.
func (p *Process) strike(list []*site, r *request) {
	for _, s := range list {
		if s.concerns(r.verb, r.key) && (s.kind.fits == nil || s.kind.fits(r)) && s.hits.Hit(s.fault.Rate) {
			s.kind.call(r, s)
		}
	}
}

// strikeSend is strike for a task that is about to send r; a process that
// crashes here has not sent it.
func (p *Process) strikeSend(r *request) {
	p.strike(p.sites.send, r)
	if r.crash {
		c := r.cluster
		c.freeRequest(r)
		p.crash("crashes")
	}
}

// departs is strikeSend for requests that no task waits for, or not in this step:
// those of informers, and what a client sends again by itself. It returns false if
// the process has crashed instead.
func (p *Process) departs(r *request) bool {
	if p.sites.send == nil {
		return true
	}
	p.strike(p.sites.send, r)
	if !r.crash {
		return true
	}
	r.cluster.freeRequest(r)
	p.crash("crashes")
	return false
}

// blow is what faults have done to the opening of a watch.
type blow struct {
	delay, late time.Duration
	cut         cut
	crash       bool
	err         error
}

// strikeOpen gives the faults of a list their chance at a watch request, which is
// at an API server already if inst is not nil.
func (p *Process) strikeOpen(list []*site, s *session, inst *Instance) (b blow) {
	if list == nil {
		return b
	}
	r := p.cluster.newRequest(p, s.req)
	r.inst = inst
	p.strike(list, r)
	b = blow{r.delay, r.late, r.cut, r.crash, r.err}
	p.cluster.freeRequest(r)
	return b
}

// strikeWatch gives faults of watches their chance at one event; false if the
// session has ended and the event cannot be sent.
func (p *Process) strikeWatch(w *session) (open bool) {
	for _, s := range p.sites.watch {
		if s.concerns("watch", w.key) && s.hits.Hit(s.fault.Rate) {
			s.kind.watch(w, s)
		}
	}
	return !w.hungUp
}

// strikeRead gives faults of cached reads their chance.
func (p *Process) strikeRead(verb, key string) {
	for _, s := range p.sites.read {
		if s.concerns(verb, key) && s.hits.Hit(s.fault.Rate) {
			s.kind.read(p, s)
		}
	}
}
