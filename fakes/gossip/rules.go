package gossip

// The state rules: what a node does with a claim that somebody is alive, suspect
// or dead. Incarnations order the claims; only the node itself raises its own.

// alive handles "Node is alive at Addr, with incarnation Inc".
//
//  1. A node that is leaving ignores claims about itself.
//  2. An unknown node enters the view as dead, at a random place of the probe
//     order, and goes on from there.
//  3. Another address than the known one is a conflict and is ignored, unless the
//     known one has left, or is dead for longer than DeadNodeReclaimTime; then
//     the address is taken over and rule 4 does not apply.
//  4. The claim counts if Inc is higher than known. About the node itself, equal
//     is enough.
//  5. A claim about the node itself is an old ghost: equal means nothing new,
//     higher is refuted. Its own first one (bootstrap) is taken as it is.
//  6. What counts ends a suspicion, is broadcast, and makes the node alive.
func (n *Node) alive(m *Msg, bootstrap bool) {
	self := m.Node == n.id
	if n.left && self {
		return
	}
	p := n.peer(m.Node)
	moved := false
	if !p.known {
		*p = peer{known: true, state: Dead, addr: m.Addr, changed: longAgo}
		n.enter(m.Node)
	} else if p.addr != m.Addr {
		reclaim := n.cfg.DeadNodeReclaimTime > 0 && n.now()-p.changed > n.cfg.DeadNodeReclaimTime
		if p.state != Left && !(p.state == Dead && reclaim) {
			n.emit(Event{Kind: EventConflict, Peer: m.Node, By: Nobody, PeerAddr: m.Addr, Inc: m.Inc})
			return
		}
		moved = true
	}
	if self {
		if m.Inc < p.inc {
			return
		}
	} else if m.Inc <= p.inc && !moved {
		return
	}
	p.clearSuspicion()
	before := p.state
	if self && !bootstrap {
		if m.Inc == p.inc {
			return
		}
		n.refute(m.Inc, Nobody)
	} else {
		n.broadcast(*m, m.Node, nil)
		p.inc, p.addr = m.Inc, m.Addr
		if p.state != Alive {
			p.state, p.changed = Alive, n.now()
		}
	}
	if before.gone() {
		n.emit(Event{Kind: EventJoin, Peer: m.Node, By: Nobody, PeerAddr: p.addr, Inc: p.inc})
	}
}

// enter puts a new node at a random place of the probe order, so that the time
// to its first probe does not grow with the cluster.
func (n *Node) enter(id NodeID) {
	last := len(n.order)
	at := n.intn(last)
	n.order = append(n.order, id)
	n.order[at], n.order[last] = n.order[last], n.order[at]
}

// suspect handles "From suspects Node of being dead since incarnation Inc".
//
//  1. Unknown nodes and older incarnations are ignored.
//  2. Under suspicion already: a new accuser shortens the timer and is passed on;
//     a known one is not.
//  3. Otherwise only the alive can become suspect.
//  4. The node itself refutes.
//  5. Others become suspect, are broadcast as such, and a timer starts.
func (n *Node) suspect(m *Msg) {
	p := n.peer(m.Node)
	if !p.known || m.Inc < p.inc {
		return
	}
	if p.susp != nil {
		if p.susp.confirm(m.From) {
			n.broadcast(*m, m.Node, nil)
		}
		return
	}
	if p.state != Alive {
		return
	}
	if m.Node == n.id {
		n.refute(m.Inc, m.From)
		return
	}
	n.broadcast(*m, m.Node, nil)
	p.inc, p.state, p.changed = m.Inc, Suspect, n.now()
	p.susp = n.startSuspicion(m.Node, m.From)
	n.emit(Event{Kind: EventSuspect, Peer: m.Node, By: m.From, Inc: m.Inc})
}

// dead handles "From says that Node is dead since incarnation Inc"; when From is
// Node itself, it has left.
//
//  1. Unknown nodes and older incarnations are ignored; so are the dead and left.
//  2. What counts ends a suspicion.
//  3. The node itself refutes, unless it is leaving; then it broadcasts.
//  4. Others become dead or left and are broadcast as such.
func (n *Node) dead(m *Msg, reason string) {
	p := n.peer(m.Node)
	if !p.known || m.Inc < p.inc {
		return
	}
	p.clearSuspicion()
	if p.state.gone() {
		return
	}
	if m.Node == n.id {
		if !n.left {
			n.refute(m.Inc, m.From)
			return
		}
		n.broadcast(*m, m.Node, n.leaveSent)
	} else {
		n.broadcast(*m, m.Node, nil)
	}
	p.inc, p.state, p.changed = m.Inc, Dead, n.now()
	if m.From == m.Node {
		p.state, reason = Left, LeftGracefully
	}
	n.emit(Event{Kind: EventLeave, Peer: m.Node, By: m.From, PeerAddr: p.addr, Inc: m.Inc, Reason: reason})
}

// refute tells everybody that this node is alive, with an incarnation that beats
// the accusation. Being accused at all costs a point of health.
func (n *Node) refute(accused uint32, by NodeID) {
	n.inc++
	if accused >= n.inc {
		n.inc = accused + 1
	}
	me := n.peer(n.id)
	me.inc = n.inc
	n.credit(+1)
	// memberlist files its own refutations under its address, not its name, so
	// they do not replace what is queued under the name.
	n.broadcast(Msg{Kind: MsgAlive, Node: n.id, Inc: n.inc, Addr: me.addr}, ownAddress, nil)
	n.emit(Event{Kind: EventRefute, Peer: n.id, By: by, Inc: n.inc})
}

// merge takes in the state another node sent in a push/pull. A node that the
// other holds for dead is only suspected: it gets its chance to refute.
func (n *Node) merge(states []Entry) {
	for i := range states {
		s := &states[i]
		switch s.State {
		case Alive:
			n.alive(&Msg{Kind: MsgAlive, Node: s.Node, Inc: s.Inc, Addr: s.Addr}, false)
		case Left:
			n.dead(&Msg{Kind: MsgDead, Node: s.Node, Inc: s.Inc, From: s.Node}, LeftGossip)
		default:
			n.suspect(&Msg{Kind: MsgSuspect, Node: s.Node, Inc: s.Inc, From: n.id})
		}
	}
}

// reap forgets the nodes that have been dead or left for longer than
// GossipToTheDeadTime and shuffles the rest. It runs when the probe order is
// exhausted. After it nobody talks to the forgotten any more: only a Join can
// bring the two sides together again.
func (n *Node) reap() {
	kept := n.order[:0]
	for _, id := range n.order {
		p := &n.view[id]
		if p.state.gone() && n.now()-p.changed > n.cfg.GossipToTheDeadTime {
			*p = peer{}
			continue
		}
		kept = append(kept, id)
	}
	n.order = kept
	n.shuffle(n.order)
}
