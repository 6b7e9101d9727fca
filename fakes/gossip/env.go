package gossip

import (
	"errors"
	"time"
)

// NodeID is a node's name, interned by a [Cluster]. It outlives restarts: two
// instances of one name share it.
type NodeID int32

// Nobody is the NodeID of no node.
const Nobody NodeID = -1

// Addr is a network endpoint (host and port), interned by a [Cluster]. At most
// one instance listens on it at a time.
type Addr int32

// Env is the world a [Cluster] lives in: time, timers, choices, the network and
// the trace. A simulator implements it on its engine; [Lab] is a small one for
// unit tests.
//
// The model never calls Env from two goroutines, and an Env must never call
// back into the model from inside one of these methods.
type Env interface {
	// Now is the time since the start of the run.
	Now() time.Duration

	// After calls fn(arg) once, d from now, unless the timer is cancelled. The
	// node is the owner of the timer, so that an environment can order timers
	// of one instant by node, or let the node's clock run fast or slow.
	After(node NodeID, d time.Duration, fn func(any), arg any) Timer

	// Intn picks from [0, n), n > 1, for the given node. All randomness of the
	// model comes from here; 0 must be a valid answer for ever.
	Intn(node NodeID, n int) int

	// Send hands an envelope to the network, which passes it to
	// [Cluster.Deliver] later: after a delay, twice, or never. Packets may be
	// lost without a word. Streams (Envelope.Stream) are to arrive in order or
	// not at all; the model has the timeouts.
	//
	// An error means what it means for memberlist.Transport: [ErrUnreachable]
	// (possibly wrapped) that the other side is to blame; any other error that
	// the local side is, and then the prober suspects nobody.
	Send(e *Envelope) error

	// Emit records an event. It is the model's only output besides Send.
	Emit(Event)
}

// Timer is a pending call made by [Env.After].
type Timer interface {
	// Cancel prevents the call and reports whether it did.
	Cancel() bool
}

// ErrUnreachable is what [Env.Send] returns when the network knows at once that
// the destination cannot be reached. It stands for the *net.OpError that a real
// transport returns in this case.
var ErrUnreachable = errors.New("destination unreachable")

// EventKind says what an [Event] reports.
type EventKind uint8

const (
	// EventJoin: Node began to list Peer (itself included, when it starts).
	EventJoin EventKind = iota
	// EventLeave: Node stopped listing Peer. Reason is one of the Left
	// constants.
	EventLeave
	// EventSuspect: Node began to suspect Peer, on the word of By.
	EventSuspect
	// EventRefute: Node contradicted By, who thought ill of it. Inc is its new
	// incarnation.
	EventRefute
	// EventDecryptFail: Node received something of Peer (the sender's endpoint's
	// owner, if known) that its keys or verify flags made it refuse. Reason is
	// one of the Refused constants.
	EventDecryptFail
	// EventConflict: Node heard of Peer under a second address.
	EventConflict
	// EventApplied: Node's agent reported that it installed key generation N.
	EventApplied
	// EventDown: Node's instance ended. Reason is one of the Down constants.
	EventDown
)

var eventNames = [...]string{
	EventJoin: "join", EventLeave: "leave", EventSuspect: "suspect", EventRefute: "refute",
	EventDecryptFail: "decrypt-fail", EventConflict: "conflict", EventApplied: "applied", EventDown: "down",
}

// String returns the kind as it appears in traces: "join", "leave", ...
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown"
}

// Reasons of an [EventLeave].
const (
	LeftGracefully = "left"      // the node said good-bye
	LeftTimeout    = "suspicion" // my own suspicion timer ran out
	LeftGossip     = "gossip"    // somebody else declared it dead
)

// Reasons of an [EventDecryptFail].
const (
	RefusedPacket     = "packet: no key of the ring opens it"
	RefusedPlain      = "packet: plaintext, and incoming is verified"
	RefusedGarbage    = "packet: ciphertext read as plaintext"
	RefusedStreamKey  = "stream: no key of the ring opens it"
	RefusedStream     = "stream: plaintext, and incoming is verified"
	RefusedStreamBare = "stream: encrypted, and encryption is not configured"
)

// Reasons of an [EventDown].
const (
	DownShutdown = "shutdown"
	DownCrash    = "crash"
)

// Event is one thing worth recording. It holds no key material.
type Event struct {
	Kind EventKind
	Node NodeID // in whose instance it happened
	Peer NodeID // about whom; Nobody if that does not apply
	By   NodeID // on whose word; Nobody if on Node's own

	PeerAddr Addr   // where Peer is or was, in a join, leave or conflict
	Inc      uint32 // incarnation of Peer (of Node, in a refutation)
	N        uint64 // the generation, in an EventApplied
	Reason   string // one of the constants above
}
