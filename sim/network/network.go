package network

import (
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Quality describes a directed link. The zero Quality is perfect: no delay.
type Quality struct {
	// Delay is the time from sending to arrival.
	Delay engine.Dist
	// Loss is the probability that a datagram disappears. On a stream the same
	// event is a retransmission, which costs time.
	Loss engine.Prob
	// Duplicate is the probability that a datagram arrives a second time.
	Duplicate engine.Prob
	// Reorder is the probability that a datagram is held up by one more Delay and
	// may be overtaken. All others arrive in the order in which they were sent.
	Reorder engine.Prob
}

// Stats counts what has happened to messages since the start.
type Stats struct {
	Sent, Arrived, Lost, Duplicated, Reordered, Cut uint64
}

// Network connects hosts by name. Its methods follow the engine's rules: they are
// called by tasks, by callbacks, or while the engine does not run.
type Network struct {
	e          *engine.Engine
	quality    Quality
	rule       Rule
	rules      int // generation of the rule
	hosts      map[string]*Host
	hostList   []*Host
	links      map[pair]*link
	order      []*link
	isolations int
	stats      Stats
	// StreamTimeout is how long a stream may be stuck before the sending end
	// gives up. Default: 15 s.
	StreamTimeout time.Duration
}

type pair struct{ from, to string }

// link is one direction between two hosts.
type link struct {
	n        *Network
	from, to *Host
	quality  *Quality // nil: by the rule
	ruled    *Quality // what the rule says; nil: the network's
	rules    int      // the rule that said so
	cuts     int
	inOrder  time.Duration // arrival of the last datagram that keeps the order
	blocked  []*pipe       // streams with messages stuck on this link

	delay, loss, duplicate, reorder *engine.Stream // nil until something is sent
}

// Rule says what the quality of the links between hosts is that have none of their
// own; nil stands for that of the network.
type Rule func(from, to string) *Quality

// New returns a network whose links all have quality q until set otherwise.
func New(e *engine.Engine, q Quality) *Network {
	return &Network{e: e, quality: q, hosts: map[string]*Host{}, links: map[pair]*link{},
		StreamTimeout: 15 * time.Second}
}

// Stats returns the counters.
func (n *Network) Stats() Stats { return n.stats }

// SetQuality sets the quality of all links that have none of their own. Messages
// on their way keep their time of arrival.
func (n *Network) SetQuality(q Quality) { n.quality = q }

// SetRule lets a rule decide for the links that SetLink has left alone, those that
// do not exist yet included. It is asked once per link, when something is sent.
func (n *Network) SetRule(r Rule) {
	n.rule = r
	n.rules++
}

// SetLink sets the quality of one direction between two hosts.
func (n *Network) SetLink(from, to string, q Quality) { n.link(from, to).quality = &q }

// ResetLink gives one direction the quality of the network again.
func (n *Network) ResetLink(from, to string) { n.link(from, to).quality = nil }

func (n *Network) link(from, to string) *link {
	k := pair{from, to}
	l, ok := n.links[k]
	if !ok {
		l = &link{n: n, from: n.Host(from), to: n.Host(to)}
		n.links[k] = l
		n.order = append(n.order, l)
	}
	return l
}

// open makes the streams of choices of a link that is used for the first time.
func (l *link) open() {
	e, name := l.n.e, l.from.name+">"+l.to.name
	l.delay = e.Stream("net/delay", name)
	l.loss = e.Stream("fault/net-loss", name)
	l.duplicate = e.Stream("fault/net-duplicate", name)
	l.reorder = e.Stream("fault/net-reorder", name)
}

// currentQuality is that of a message which is sent now.
func (l *link) currentQuality() *Quality {
	n := l.n
	if l.delay == nil {
		l.open()
	}
	if l.quality != nil {
		return l.quality
	}
	if l.rules != n.rules {
		l.rules, l.ruled = n.rules, nil
		if n.rule != nil {
			l.ruled = n.rule(l.from.name, l.to.name)
		}
	}
	if l.ruled != nil {
		return l.ruled
	}
	return &n.quality
}

// isCut reports whether nothing passes: by a cut of this link, the isolation of
// an end, or a host that is down.
func (l *link) isCut() bool {
	if l.from == l.to {
		return l.from.down
	}
	return l.cuts > 0 || l.from.down || l.to.down ||
		!slices.Equal(l.from.isolations, l.to.isolations)
}

// Send sends a datagram: fn(arg) is called at the moment of arrival, or never, or
// twice. A message from a host to itself arrives at once and always.
func (n *Network) Send(from, to string, fn func(any), arg any) {
	l := n.link(from, to)
	n.stats.Sent++
	if l.isCut() {
		n.stats.Cut++
		return
	}
	if l.from == l.to {
		n.e.After(0, deliver, &packet{l: l, fn: fn, arg: arg})
		return
	}
	q := l.currentQuality()
	if l.loss.Hit(q.Loss) {
		n.stats.Lost++
		l.fault("lose")
		return
	}
	l.transmit(q, fn, arg)
	if l.duplicate.Hit(q.Duplicate) {
		n.stats.Duplicated++
		l.fault("duplicate")
		l.transmit(q, fn, arg)
	}
}

func (l *link) transmit(q *Quality, fn func(any), arg any) {
	now := l.n.e.Elapsed()
	at := now + l.delay.Duration(q.Delay)
	if l.reorder.Hit(q.Reorder) {
		at += l.delay.Duration(q.Delay)
		l.n.stats.Reordered++
		l.fault("reorder")
	} else {
		at = max(at, l.inOrder)
		l.inOrder = at
	}
	l.n.e.After(at-now, deliver, &packet{l: l, fn: fn, arg: arg})
}

func (l *link) fault(verb string) {
	l.n.e.Emit(engine.Event{Kind: "fault", Actor: l.from.name, Verb: verb, Object: l.to.name})
}

// packet is a datagram on its way.
type packet struct {
	l   *link
	fn  func(any)
	arg any
}

func deliver(arg any) {
	p := arg.(*packet)
	if p.l.isCut() { // cut while it was on its way
		p.l.n.stats.Cut++
		return
	}
	p.l.n.stats.Arrived++
	p.fn(p.arg)
}
