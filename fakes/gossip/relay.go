package gossip

import "slices"

// relay is a ping on behalf of another node.
type relay struct {
	n     *Node
	seq   uint32 // of our ping
	reply Addr   // who asked
	asked uint32 // the asker's sequence number
	timer Timer
}

// relay pings the target of m. An ack within ProbeTimeout is passed on; without
// one the asker gets a nack, which says: I am fine, it is the target.
func (n *Node) relay(m *Msg) {
	r := &relay{n: n, seq: n.nextSeq(), reply: m.Reply, asked: m.Seq}
	n.relays = append(n.relays, r)
	r.timer = n.after(n.cfg.ProbeTimeout, onRelayTimeout, r)
	_ = n.packet(m.Addr, Msg{Kind: MsgPing, Node: m.Node, Seq: r.seq, From: n.id, Reply: n.addr})
}

// relayed handles the ack of a relayed ping.
func (n *Node) relayed(seq uint32) {
	i := slices.IndexFunc(n.relays, func(r *relay) bool { return r.seq == seq })
	if i < 0 {
		return
	}
	r := n.relays[i]
	n.relays = slices.Delete(n.relays, i, i+1)
	r.timer.Cancel()
	_ = n.packet(r.reply, Msg{Kind: MsgAck, Seq: r.asked})
}

func onRelayTimeout(a any) {
	r := a.(*relay)
	n := r.n
	if n.dormant(onRelayTimeout, a) {
		return
	}
	if i := slices.Index(n.relays, r); i >= 0 {
		n.relays = slices.Delete(n.relays, i, i+1)
		_ = n.packet(r.reply, Msg{Kind: MsgNack, Seq: r.asked})
	}
}
