package gossip

import (
	"errors"
	"time"
)

// probe is the one probe round a node may have under way.
//
//	t0                 ping (with the accusation, if the target is a suspect)
//	+ProbeTimeout      ask IndirectChecks others, and ping over a stream
//	+interval*(score+1)  still nothing: suspect
type probe struct {
	running bool
	missed  bool // a tick came while running; one is kept, the rest are lost
	target  NodeID
	addr    Addr
	inc     uint32 // of the target, when the round began
	seq     uint32
	start   time.Duration
	end     time.Duration
	timer   Timer
	asked   int // nacks expected
	nacks   int
	stream  bool // the ping over a stream was answered
	delta   int  // change of health when the ping is answered
}

func onProbeTick(a any) {
	n := a.(*Node)
	if n.dormant(onProbeTick, a) {
		return
	}
	n.after(n.untilTick(n.cfg.ProbeInterval), onProbeTick, n)
	if n.probe.running {
		// A failed round lasts whole intervals, so it ends just as a tick is due.
		// That tick finds the kept one still there and is lost: it does not count
		// for the round that begins at this instant.
		if n.probe.start != n.now() {
			n.probe.missed = true
		}
		return
	}
	n.probeNext()
}

// probeNext probes the next node of the order that is neither this one nor gone.
// At the end of the order it forgets the dead and starts again, once.
func (n *Node) probeNext() {
	for checked := 0; checked < len(n.order); {
		if n.next >= len(n.order) {
			n.reap()
			n.next = 0
			checked++
			continue
		}
		id := n.order[n.next]
		n.next++
		if id == n.id || n.view[id].state.gone() {
			checked++
			continue
		}
		n.probeNode(id)
		return
	}
}

func (n *Node) probeNode(id NodeID) {
	p := n.view[id]
	interval := n.cfg.ProbeInterval * time.Duration(n.score+1)
	n.probe = probe{
		running: true, missed: n.probe.missed, target: id, addr: p.addr, inc: p.inc,
		seq: n.nextSeq(), start: n.now(), end: n.now() + interval,
	}
	err := n.ping(p.state == Suspect)
	switch {
	case err == nil:
		n.probe.delta = -1
		n.probe.timer = n.after(min(n.cfg.ProbeTimeout, interval), onProbeTimeout, n)
	case errors.Is(err, ErrUnreachable):
		n.askOthers()
	default:
		// The fault is ours, says memberlist, and suspects nobody. A transport
		// that reports dead hosts this way switches failure detection off.
		n.endProbe(0)
	}
}

// ping sends the direct ping. A suspect gets the accusation along with it, and
// nothing else, so that it can refute at once.
func (n *Node) ping(suspected bool) error {
	pr := &n.probe
	m := Msg{Kind: MsgPing, Node: pr.target, Seq: pr.seq, From: n.id, Reply: n.addr}
	if !suspected {
		return n.packet(pr.addr, m)
	}
	e := n.c.envelope()
	e.From, e.To, e.Head = n.addr, pr.addr, m
	e.Rest = []Msg{{Kind: MsgSuspect, Node: pr.target, Inc: pr.inc, From: n.id}}
	n.seal(e)
	return n.c.env.Send(e)
}

func onProbeTimeout(a any) {
	n := a.(*Node)
	if n.dormant(onProbeTimeout, a) {
		return
	}
	n.askOthers()
}

// askOthers is the second half of a round.
func (n *Node) askOthers() {
	pr := &n.probe
	var few [8]NodeID
	for _, id := range n.pickPeers(few[:0], n.cfg.IndirectChecks, helper) {
		pr.asked++
		_ = n.packet(n.view[id].addr, Msg{
			Kind: MsgIndirectPing, Node: pr.target, Addr: pr.addr, Seq: pr.seq, From: n.id, Reply: n.addr,
		})
	}
	rest := pr.end - n.now()
	pr.timer = n.after(rest, onProbeEnd, n)
	if !n.cfg.DisableTCPPings {
		n.dial(pr.addr, rest, Msg{Kind: MsgPing, Node: pr.target, Seq: pr.seq, From: n.id, Reply: n.addr}, onStreamPing)
	}
}

// onStreamPing notes the outcome; the round looks at it only at its end, to give
// packets the time to get through first.
func onStreamPing(cn *conn, reply *Envelope, err error) {
	pr := &cn.n.probe
	if err == nil && pr.running && pr.seq == cn.request.Seq {
		pr.stream = reply.Head.Kind == MsgAck && reply.Head.Seq == pr.seq
	}
}

func onProbeEnd(a any) {
	n := a.(*Node)
	if n.dormant(onProbeEnd, a) {
		return
	}
	pr := &n.probe
	if pr.stream {
		n.endProbe(pr.delta)
		return
	}
	// Helpers that did not even send a nack cast doubt on this node rather than
	// on the target.
	delta := 1
	if pr.asked > 0 {
		delta = max(0, pr.asked-pr.nacks)
	}
	m := Msg{Kind: MsgSuspect, Node: pr.target, Inc: pr.inc, From: n.id}
	n.suspect(&m)
	n.endProbe(delta)
}

// acked handles an ack: of the running round, or of a ping on behalf of somebody.
func (n *Node) acked(seq uint32) {
	if pr := &n.probe; pr.running && pr.seq == seq {
		pr.timer.Cancel()
		n.endProbe(pr.delta)
		return
	}
	n.relayed(seq)
}

func (n *Node) nacked(seq uint32) {
	if pr := &n.probe; pr.running && pr.seq == seq {
		pr.nacks++
	}
}

// endProbe closes a round. A tick missed meanwhile is made up for at once.
func (n *Node) endProbe(delta int) {
	n.credit(delta)
	n.probe.running = false
	if n.probe.missed {
		n.probe.missed = false
		n.probeNext()
	}
}
