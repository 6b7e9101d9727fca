package network

import (
	"errors"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// ErrBroken is the reason why a stream takes no more messages.
var ErrBroken = errors.New("connection broken")

// Conn is a two-way stream between two hosts, in the manner of TCP: messages
// arrive once and in order, or the connection breaks. Loss costs time for
// retransmission. During a partition messages are stuck; when the partition heals
// in time they arrive, and else the sending end breaks after
// [Network.StreamTimeout]. An end that sends nothing does not notice a partition.
type Conn struct {
	n    *Network
	ends [2]end
}

// end is one end of a Conn.
type end struct {
	host    *Host
	boot    int // of the host when the connection was made
	out     pipe
	broken  error
	onBreak []func(error)
}

// gone reports whether the end's machine has been switched off since.
func (e *end) gone() bool { return e.host.boots != e.boot }

// pipe is one direction of a Conn.
type pipe struct {
	c      *Conn
	side   int // the sending end
	l      *link
	last   time.Duration // arrival of the last message sent
	flying []*message    // sent and not delivered, in order
	stuck  []*message    // those of them that wait for the link to work
	timer  engine.Timer
}

type message struct {
	p       *pipe
	fn      func(any)
	arg     any
	reset   bool // the sending end has broken
	arrived bool
}

// Dial returns a connection. There is no handshake: whether the other host can be
// reached shows when something is sent.
func (n *Network) Dial(from, to string) *Conn {
	c := &Conn{n: n}
	for i, l := range []*link{n.link(from, to), n.link(to, from)} {
		c.ends[i] = end{host: l.from, boot: l.from.boots, out: pipe{c: c, side: i, l: l}}
	}
	return c
}

// side returns the index of a host's end. Of a connection from a host to itself
// it is the dialing end.
func (c *Conn) side(host string) int {
	for i := range c.ends {
		if c.ends[i].host.name == host {
			return i
		}
	}
	panic(fmt.Sprintf("network: host %s has no end of the connection %s", host, c))
}

// String returns "from>to".
func (c *Conn) String() string { return c.ends[0].host.name + ">" + c.ends[1].host.name }

// Send sends a message from one end; fn(arg) is called when it arrives at the
// other. The error wraps [ErrBroken] if this end knows that the connection is
// broken; nil does not mean that the message will arrive.
func (c *Conn) Send(from string, fn func(any), arg any) error {
	i := c.side(from)
	if c.ends[i].gone() {
		c.breakEnd(i, "the machine was switched off")
	}
	if err := c.ends[i].broken; err != nil {
		return err
	}
	c.n.stats.Sent++
	c.ends[i].out.send(&message{fn: fn, arg: arg})
	return nil
}

// Broken returns the error with which an end has broken, or nil.
func (c *Conn) Broken(host string) error { return c.ends[c.side(host)].broken }

// OnBreak calls fn when the end at host breaks; at once if it has.
func (c *Conn) OnBreak(host string, fn func(error)) {
	e := &c.ends[c.side(host)]
	if e.broken != nil {
		fn(e.broken)
		return
	}
	e.onBreak = append(e.onBreak, fn)
}

// Close breaks the connection at one end, as when its process ends. What it has
// sent stays on its way; behind it goes a message that tells the other end.
func (c *Conn) Close(host string) {
	i := c.side(host)
	if c.ends[i].broken != nil {
		return
	}
	c.breakEnd(i, "closed by "+host)
	c.ends[i].out.send(&message{reset: true})
}

// Reset breaks both ends at once; what is on its way is lost.
func (c *Conn) Reset() {
	for i := range c.ends {
		c.ends[i].out.drop()
		c.breakEnd(i, "reset")
	}
}

func (c *Conn) breakEnd(i int, why string) {
	e := &c.ends[i]
	if e.broken != nil {
		return
	}
	e.broken = fmt.Errorf("%s: %s: %w", c, why, ErrBroken)
	callbacks := e.onBreak
	e.onBreak = nil
	for _, fn := range callbacks {
		fn(e.broken)
	}
}

const (
	firstRetransmission = 200 * time.Millisecond
	retransmissions     = 5
)

func (p *pipe) send(m *message) {
	m.p = p
	p.flying = append(p.flying, m)
	if len(p.stuck) > 0 || p.l.isCut() {
		p.hold(m)
		return
	}
	p.transmit(m)
}

// transmit lets m travel; loss delays it.
func (p *pipe) transmit(m *message) {
	n := p.l.n
	now := n.e.Elapsed()
	var d time.Duration
	if p.l.from != p.l.to {
		q := p.l.currentQuality()
		d = p.l.delay.Duration(q.Delay)
		for i := range retransmissions {
			if !p.l.loss.Hit(q.Loss) {
				break
			}
			n.stats.Lost++
			d += firstRetransmission << i
		}
	}
	p.last = max(p.last, now+d)
	n.e.After(p.last-now, arrive, m)
}

// hold keeps m until the link works again or the sending end gives up.
func (p *pipe) hold(m *message) {
	p.stuck = append(p.stuck, m)
	if len(p.stuck) > 1 {
		return
	}
	p.l.blocked = append(p.l.blocked, p)
	p.timer = p.l.n.e.After(p.l.n.StreamTimeout, giveUp, p)
}

// drop forgets everything that was sent and has not arrived.
func (p *pipe) drop() {
	p.timer.Cancel()
	p.flying, p.stuck = nil, nil
}

func giveUp(arg any) {
	p := arg.(*pipe)
	p.drop()
	if !p.c.ends[p.side].gone() {
		p.c.breakEnd(p.side, "timed out")
	}
}

// flush transmits again what is stuck on links that work again.
func (n *Network) flush() {
	for _, l := range n.order {
		if len(l.blocked) == 0 || l.isCut() {
			continue
		}
		blocked := l.blocked
		l.blocked = nil
		for _, p := range blocked {
			p.timer.Cancel()
			stuck := p.stuck
			p.stuck = nil
			if p.c.ends[p.side].gone() {
				p.drop()
				continue
			}
			for _, m := range stuck {
				p.transmit(m)
			}
		}
	}
}

// arrive is called when a message reaches the other host. It is delivered when
// all messages before it are.
func arrive(arg any) {
	m := arg.(*message)
	p := m.p
	if len(p.flying) == 0 {
		return // the sending end gave up
	}
	if p.l.isCut() { // lost on its way; it will be sent again
		p.hold(m)
		return
	}
	m.arrived = true
	for len(p.flying) > 0 && p.flying[0].arrived {
		first := p.flying[0]
		p.flying = p.flying[1:]
		p.deliver(first)
	}
}

func (p *pipe) deliver(m *message) {
	from, to := &p.c.ends[p.side], &p.c.ends[1-p.side]
	switch {
	case to.gone() || to.broken != nil: // nobody is there: the host answers with a reset
		if from.broken == nil && !m.reset {
			to.out.send(&message{reset: true})
		}
	case m.reset:
		p.c.breakEnd(1-p.side, "closed by the peer")
	default:
		p.l.n.stats.Arrived++
		m.fn(m.arg)
	}
}
