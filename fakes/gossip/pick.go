package gossip

import "time"

// intn picks from [0, n) without bothering the environment about a choice of
// one.
func (n *Node) intn(count int) int {
	if count <= 1 {
		return 0
	}
	return n.c.env.Intn(n.id, count)
}

// stagger picks a delay from [0, interval), in whole milliseconds so that a
// recorded choice stays readable.
func (n *Node) stagger(interval time.Duration) time.Duration {
	return time.Duration(n.intn(int(interval/time.Millisecond))) * time.Millisecond
}

func (n *Node) shuffle(ids []NodeID) {
	for i := len(ids) - 1; i > 0; i-- {
		j := n.intn(i + 1)
		ids[i], ids[j] = ids[j], ids[i]
	}
}

// pickPeers appends to dst up to k known nodes that pass the filter.
//
// memberlist looks in two ways. In a small cluster (n < 3k) it walks a shuffled
// copy, which finds everybody; filtering first gives the same distribution with
// fewer choices. In a larger one it draws 3n times with replacement, and may
// come back with fewer than k although there were more.
func (n *Node) pickPeers(dst []NodeID, k int, ok func(*Node, NodeID) bool) []NodeID {
	if len(n.order) >= 3*k {
		return n.drawPeers(dst, k, ok)
	}
	var few [16]NodeID
	pool := few[:0]
	for _, id := range n.order {
		if ok(n, id) {
			pool = append(pool, id)
		}
	}
	for ; k > 0 && len(pool) > 0; k-- {
		i := n.intn(len(pool))
		dst = append(dst, pool[i])
		pool[i] = pool[len(pool)-1]
		pool = pool[:len(pool)-1]
	}
	return dst
}

func (n *Node) drawPeers(dst []NodeID, k int, ok func(*Node, NodeID) bool) []NodeID {
	base := len(dst)
draw:
	for tries := 3 * len(n.order); tries > 0 && len(dst)-base < k; tries-- {
		id := n.order[n.intn(len(n.order))]
		if !ok(n, id) {
			continue
		}
		for _, have := range dst[base:] {
			if have == id {
				continue draw
			}
		}
		dst = append(dst, id)
	}
	return dst
}

// The filters. Each is a plain function, so that passing it allocates nothing.

// alivePeer: whom push/pull may talk to.
func alivePeer(n *Node, id NodeID) bool {
	return id != n.id && n.view[id].state == Alive
}

// helper: whom an indirect ping may go through.
func helper(n *Node, id NodeID) bool {
	return id != n.probe.target && alivePeer(n, id)
}

// gossipPeer: whom broadcasts go to. The recently dead are told, so that a node
// wrongly declared dead learns of it and can contradict; those who left are not.
func gossipPeer(n *Node, id NodeID) bool {
	if id == n.id {
		return false
	}
	p := &n.view[id]
	switch p.state {
	case Alive, Suspect:
		return true
	case Dead:
		return n.now()-p.changed <= n.cfg.GossipToTheDeadTime
	}
	return false
}
