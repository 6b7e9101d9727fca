package gossip

import (
	"errors"
	"fmt"
	"time"
)

// states is this node's view as a push/pull sends it.
func (n *Node) states() []Entry {
	out := make([]Entry, len(n.order))
	for i, id := range n.order {
		p := &n.view[id]
		out[i] = Entry{Node: id, Addr: p.addr, Inc: p.inc, State: p.state}
	}
	return out
}

// pushPullPeriod grows with the cluster, so that the traffic does not.
func (n *Node) pushPullPeriod() time.Duration {
	return time.Duration(pushPullScale(len(n.order))) * n.cfg.PushPullInterval
}

func (n *Node) schedulePushPull(d time.Duration) { n.after(d, onPushPull, n) }

// onPushPull exchanges state with one random alive peer. The next period begins
// when this exchange has ended.
func onPushPull(a any) {
	n := a.(*Node)
	if n.dormant(onPushPull, a) {
		return
	}
	var few [1]NodeID
	peers := n.pickPeers(few[:0], 1, alivePeer)
	if len(peers) == 0 {
		n.schedulePushPull(n.pushPullPeriod())
		return
	}
	n.exchange(n.view[peers[0]].addr, nil)
}

// exchange does one push/pull with an endpoint. A nil then is the periodic one.
func (n *Node) exchange(with Addr, then func(error)) {
	cn := n.dial(with, n.cfg.TCPTimeout, Msg{Kind: MsgPushPull}, onExchanged)
	cn.then = then
}

func onExchanged(cn *conn, reply *Envelope, err error) {
	if err == nil && reply.Head.Kind != MsgPushPull {
		err = fmt.Errorf("received invalid message type %d, expected push/pull", reply.Head.Kind)
	}
	if err == nil {
		cn.n.merge(reply.States)
	}
	if cn.then != nil {
		cn.then(err)
		return
	}
	cn.n.schedulePushPull(cn.n.pushPullPeriod())
}

// Join exchanges state with each of the endpoints in turn, and calls done with
// the number of those that worked, and an error naming all failures if none did.
// It is how the two halves of a split cluster find each other again. If the node
// goes down meanwhile, done is called with ErrDown.
func (n *Node) Join(peers []string, done func(contacted int, err error)) {
	j := &join{n: n, peers: peers, done: done}
	n.joins = append(n.joins, j)
	j.step()
}

type join struct {
	n      *Node
	peers  []string
	worked int
	errs   []error
	done   func(int, error)
}

func (j *join) step() {
	if len(j.peers) == 0 {
		j.end(nil)
		return
	}
	peer := j.peers[0]
	j.peers = j.peers[1:]
	j.n.exchange(j.n.c.Addr(peer), func(err error) {
		if err != nil {
			j.errs = append(j.errs, fmt.Errorf("joining %s: %w", peer, err))
		} else {
			j.worked++
		}
		j.step()
	})
}

func (j *join) end(err error) {
	for i, other := range j.n.joins {
		if other == j {
			j.n.joins = append(j.n.joins[:i], j.n.joins[i+1:]...)
			break
		}
	}
	if err == nil && j.worked == 0 {
		err = errors.Join(j.errs...)
	}
	if j.done != nil {
		j.done(j.worked, err)
	}
}
