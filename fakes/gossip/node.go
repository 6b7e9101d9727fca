package gossip

import (
	"fmt"
	"io"
	"math"
	"time"
)

// State is what a node believes about another.
type State uint8

// The states. Suspect nodes are still members; Dead was declared by others,
// Left by the node itself.
const (
	Alive State = iota
	Suspect
	Dead
	Left
)

var stateNames = [...]string{Alive: "alive", Suspect: "suspect", Dead: "dead", Left: "left"}

// String returns "alive", "suspect", "dead" or "left".
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

func (s State) gone() bool { return s >= Dead }

// peer is one entry of a node's view. The zero value is a node never heard of.
type peer struct {
	known   bool
	state   State
	addr    Addr
	inc     uint32
	changed time.Duration // when state last changed
	susp    *suspicion
}

// longAgo is the time of a change that never happened.
const longAgo = time.Duration(math.MinInt64 / 2)

// Node is one running instance, the counterpart of a memberlist.Memberlist. A
// restarted node is a new Node of the same name.
//
// Its methods are for the goroutine that runs the cluster. None blocks: those
// that take time call back when done.
type Node struct {
	c       *Cluster
	id      NodeID
	addr    Addr
	cfg     Config
	epoch   uint32
	created time.Duration

	up     bool // neither shut down nor crashed
	left   bool // Leave was called
	paused bool

	view  []peer   // by NodeID
	order []NodeID // the known ones, in probe order
	next  int      // index into order of the next probe target

	seq   uint32 // last sequence number used
	inc   uint32 // last incarnation used
	score int    // health score: 0 is healthy

	probe   probe
	relays  []*relay
	queue   queue
	ticking bool // a gossip tick is scheduled
	conns   []*conn
	dials   uint32

	sealKey KeyID // number of the last primary used
	leaving *leaveWait
	joins   []*join
	backlog []postponed
}

// start does what memberlist.Create does after the transport is up.
func (n *Node) start() {
	n.inc++
	n.alive(&Msg{Kind: MsgAlive, Node: n.id, Inc: n.inc, Addr: n.addr}, true)
	n.after(n.cfg.ProbeInterval, onProbeTick, n)
	n.schedulePushPull(n.stagger(n.cfg.PushPullInterval) + n.pushPullPeriod())
}

// Name is the node's name.
func (n *Node) Name() string { return n.cfg.Name }

// Format makes every verb of fmt print the name: what hangs below a node leads
// to keys.
func (n *Node) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "gossip:"+n.cfg.Name) }

// ID is the node's name, interned.
func (n *Node) ID() NodeID { return n.id }

// Addr is the endpoint the instance listens on.
func (n *Node) Addr() Addr { return n.addr }

// Keyring is the ring the instance reads, as configured.
func (n *Node) Keyring() Keyring { return n.cfg.Keyring }

// Up reports whether the instance has neither been shut down nor crashed.
func (n *Node) Up() bool { return n.up }

// Incarnation is the last number the node used about itself.
func (n *Node) Incarnation() uint32 { return n.inc }

// HealthScore is the node's opinion of itself: 0 is healthy.
func (n *Node) HealthScore() int { return n.score }

// Members lists the names that are alive or suspect, this node included, in no
// useful order (the order of probing, as in memberlist).
func (n *Node) Members() []string {
	names := make([]string, 0, len(n.order))
	n.EachMember(func(id NodeID, _ Addr) { names = append(names, n.c.names[id]) })
	return names
}

// EachMember calls fn for each member and where this node believes it to be, in
// the order of Members.
func (n *Node) EachMember(fn func(id NodeID, at Addr)) {
	for _, id := range n.order {
		if p := &n.view[id]; !p.state.gone() {
			fn(id, p.addr)
		}
	}
}

// NumMembers counts the members.
func (n *Node) NumMembers() int {
	count := 0
	n.EachMember(func(NodeID, Addr) { count++ })
	return count
}

// Lists reports whether id is a member in this node's view.
func (n *Node) Lists(id NodeID) bool {
	state, _, known := n.Opinion(id)
	return known && !state.gone()
}

// Opinion is what the node believes about id; known is false if it never heard
// of it or has forgotten.
func (n *Node) Opinion(id NodeID) (state State, inc uint32, known bool) {
	if int(id) >= len(n.view) {
		return 0, 0, false
	}
	p := &n.view[id]
	return p.state, p.inc, p.known
}

// Applied records that the node's agent has installed a generation of keys.
func (n *Node) Applied(generation uint64) {
	n.emit(Event{Kind: EventApplied, Peer: n.id, By: Nobody, N: generation})
}

// peer returns the view's entry for id. The pointer is good until the next
// call: the view grows.
func (n *Node) peer(id NodeID) *peer {
	if int(id) >= len(n.view) {
		grown := make([]peer, max(len(n.c.names), int(id)+1))
		copy(grown, n.view)
		n.view = grown
	}
	return &n.view[id]
}

func (n *Node) emit(ev Event) {
	ev.Node = n.id
	n.c.env.Emit(ev)
	if n.cfg.OnEvent != nil {
		n.cfg.OnEvent(ev)
	}
}

func (n *Node) now() time.Duration { return n.c.env.Now() }

func (n *Node) after(d time.Duration, fn func(any), arg any) Timer {
	return n.c.env.After(n.id, d, fn, arg)
}

func (n *Node) nextSeq() uint32 {
	n.seq++
	return n.seq
}

// credit changes the health score by delta and keeps it within its bounds.
func (n *Node) credit(delta int) {
	n.score = max(0, min(n.score+delta, n.cfg.AwarenessMaxMultiplier-1))
}
