package gossip

import (
	"errors"
	"time"
)

// ErrLeaveTimeout is what Leave reports when its broadcast was not sent in time.
var ErrLeaveTimeout = errors.New("timeout waiting for leave broadcast")

// leaveWait is a Leave that waits for its broadcast.
type leaveWait struct {
	n     *Node
	timer Timer // nil without a timeout
	done  func(error)
}

// Leave says good-bye: it broadcasts that this node is dead on its own word and
// calls done once that has been sent as often as a broadcast is, or after the
// timeout (none if zero). The instance stays up and keeps answering; Shutdown
// ends it. A second Leave is done at once. Leave after Shutdown panics, as it
// does in memberlist.
func (n *Node) Leave(timeout time.Duration, done func(error)) {
	if !n.up {
		panic("leave after shutdown")
	}
	if n.left {
		done(nil)
		return
	}
	n.left = true
	n.leaving = &leaveWait{n: n, done: done}
	n.dead(&Msg{Kind: MsgDead, Node: n.id, Inc: n.peer(n.id).inc, From: n.id}, LeftGracefully)
	if !n.anyAlive() {
		n.endLeave(nil)
		return
	}
	if n.leaving != nil && timeout > 0 {
		n.leaving.timer = n.after(timeout, onLeaveTimeout, n.leaving)
	}
}

func (n *Node) anyAlive() bool {
	for _, id := range n.order {
		if id != n.id && !n.view[id].state.gone() {
			return true
		}
	}
	return false
}

func (n *Node) leaveSent() { n.endLeave(nil) }

func onLeaveTimeout(a any) {
	w := a.(*leaveWait)
	if w.n.dormant(onLeaveTimeout, a) {
		return
	}
	if w.n.leaving == w {
		w.n.endLeave(ErrLeaveTimeout)
	}
}

func (n *Node) endLeave(err error) {
	w := n.leaving
	if w == nil {
		return
	}
	n.leaving = nil
	if w.timer != nil {
		w.timer.Cancel()
	}
	w.done(err)
}

// Shutdown ends the instance without a word: to its peers it looks like a crash.
// A second one does nothing.
func (n *Node) Shutdown() { n.down(DownShutdown) }

// Crash ends the instance as the death of its process does. The host lives on:
// dials are refused, packets vanish. (A dead host is a network that drops
// everything.) The next Create with this name starts with an empty view and
// incarnation 1.
func (n *Node) Crash() { n.down(DownCrash) }

func (n *Node) down(reason string) {
	if !n.up {
		return
	}
	n.up = false
	n.c.endpoints[n.addr].node = nil
	n.emit(Event{Kind: EventDown, Peer: n.id, By: Nobody, Reason: reason})
	n.backlog = nil
	for _, cn := range n.conns {
		cn.timer.Cancel()
	}
	n.conns = nil
	if reason == DownCrash {
		return // whoever waited died with the process
	}
	n.endLeave(nil)
	for len(n.joins) > 0 {
		n.joins[0].end(ErrDown)
	}
}

// postponed is a timer or an arrival that waits for a paused node.
type postponed struct {
	fn  func(any)
	arg any
}

// backlogMax bounds what a paused node's socket buffers hold; more is dropped.
const backlogMax = 4096

// Pause stops the node's process as SIGSTOP or a frozen VM does: timers do not
// fire, packets pile up, the kernel still accepts streams.
func (n *Node) Pause() { n.paused = n.up }

// Resume lets a paused node go on. Everything that came due meanwhile happens
// now, in order.
func (n *Node) Resume() {
	n.paused = false
	backlog := n.backlog
	n.backlog = nil
	for _, b := range backlog {
		b.fn(b.arg)
	}
}

// Paused reports whether the node is paused.
func (n *Node) Paused() bool { return n.paused }

func (n *Node) postpone(fn func(any), arg any) {
	if len(n.backlog) < backlogMax {
		n.backlog = append(n.backlog, postponed{fn, arg})
	}
}

// dormant reports whether a timer has to be ignored because the instance is
// down, or because it is paused; then the timer waits for Resume. Every timer
// callback asks it first.
func (n *Node) dormant(fn func(any), arg any) bool {
	if n.paused && n.up {
		n.backlog = append(n.backlog, postponed{fn, arg})
		return true
	}
	return !n.up
}
