package gossip

import "time"

// packet sends m to an address, with as many broadcasts as fit beside it.
func (n *Node) packet(to Addr, m Msg) error {
	e := n.c.envelope()
	e.From, e.To, e.Head = n.addr, to, m
	if len(n.queue.items) > 0 {
		room := n.cfg.UDPBufferSize - n.c.Size(&m) - sizeCompound - n.labelSize()
		if n.cfg.GossipVerifyOutgoing && n.encrypting() {
			room -= sizeSealing
		}
		e.Rest = n.take(room)
	}
	n.seal(e)
	return n.c.env.Send(e)
}

func (n *Node) labelSize() int {
	if n.cfg.Label == "" {
		return 0
	}
	return 2 + len(n.cfg.Label)
}

// wakeGossip schedules the next gossip tick if there is something to say. A tick
// of an idle node does nothing at all, so the model leaves those out: ticks come
// at whole intervals from the node's creation, and only while the queue is not
// empty. What is queued in the very instant of a tick has missed it.
func (n *Node) wakeGossip() {
	if n.ticking || n.cfg.GossipNodes <= 0 || len(n.queue.items) == 0 {
		return
	}
	n.ticking = true
	n.after(n.untilTick(n.cfg.GossipInterval), onGossipTick, n)
}

// untilTick is the time to the next whole interval from the node's creation,
// never zero. memberlist makes its tickers at creation and then waits a random
// part of the first interval before it listens to them; that wait is over before
// the first tick, so it moves nothing.
func (n *Node) untilTick(interval time.Duration) time.Duration {
	return interval - (n.now()-n.created)%interval
}

func onGossipTick(a any) {
	n := a.(*Node)
	if n.dormant(onGossipTick, a) {
		return
	}
	n.ticking = false
	n.gossip()
	n.wakeGossip()
}

// gossip sends the queue to a few random nodes, each time counting as one
// transmission.
func (n *Node) gossip() {
	var few [8]NodeID
	room := n.cfg.UDPBufferSize - sizeCompound - n.labelSize()
	if n.encrypting() { // whether or not outgoing is encrypted
		room -= sizeSealing
	}
	for _, id := range n.pickPeers(few[:0], n.cfg.GossipNodes, gossipPeer) {
		msgs := n.take(room)
		if len(msgs) == 0 {
			return
		}
		e := n.c.envelope()
		e.From, e.To = n.addr, n.view[id].addr
		e.Head, e.Rest = msgs[0], msgs[1:]
		n.seal(e)
		_ = n.c.env.Send(e) // gossip is best effort
	}
}

// receive handles whatever arrives for this instance.
func (n *Node) receive(e *Envelope) {
	if e.Stream {
		n.receiveStream(e)
		return
	}
	if !n.labelled(e) {
		return
	}
	if refused := n.openPacket(e); refused != "" {
		n.refuse(e, refused)
		return
	}
	n.answer(&e.Head)
	for i := range e.Rest {
		n.answer(&e.Rest[i])
	}
	n.digest(e)
}

func (n *Node) refuse(e *Envelope, reason string) {
	n.emit(Event{Kind: EventDecryptFail, Peer: n.c.Owner(e.From), By: Nobody, Reason: reason})
}

// answer handles the messages that memberlist handles while it still reads the
// packet.
func (n *Node) answer(m *Msg) {
	switch m.Kind {
	case MsgPing:
		if m.Node == n.id { // or it was meant for an earlier owner of the address
			_ = n.packet(m.Reply, Msg{Kind: MsgAck, Seq: m.Seq})
		}
	case MsgIndirectPing:
		n.relay(m)
	case MsgAck:
		n.acked(m.Seq)
	case MsgNack:
		n.nacked(m.Seq)
	}
}

// digest handles the messages that memberlist queues for a second goroutine:
// news of the living first, and the last of a packet first.
func (n *Node) digest(e *Envelope) {
	for i := len(e.Rest) - 1; i >= 0; i-- {
		if e.Rest[i].Kind == MsgAlive {
			n.alive(&e.Rest[i], false)
		}
	}
	if e.Head.Kind == MsgAlive {
		n.alive(&e.Head, false)
	}
	for i := len(e.Rest) - 1; i >= 0; i-- {
		n.accuse(&e.Rest[i])
	}
	n.accuse(&e.Head)
}

func (n *Node) accuse(m *Msg) {
	switch m.Kind {
	case MsgSuspect:
		n.suspect(m)
	case MsgDead:
		n.dead(m, LeftGossip)
	}
}
