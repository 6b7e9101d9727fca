package gossipkeys

import (
	"context"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// Keyring is the set of keys one gossip instance encrypts and decrypts with.
// *memberlist.Keyring satisfies it as it is, and its rules hold for any other:
//
//   - AddKey appends a key, or does nothing if it is there already; on an empty
//     ring the key becomes the primary.
//   - UseKey moves a key that is there to the front, making it the primary.
//   - RemoveKey removes a key. It refuses the primary, ignores a key that is
//     not there, and must not be called on an empty ring.
//   - GetKeys may return the slice the ring itself reads while it decrypts: the
//     caller neither changes it nor keeps it across a change of the ring.
//
// The ring may keep the slices passed to it. Readers run concurrently with all
// of this; [ApplyKeys] says in which order changes are safe.
type Keyring interface {
	AddKey(key []byte) error
	UseKey(key []byte) error
	RemoveKey(key []byte) error
	GetKeys() [][]byte
}

// Gossip makes instances: the agent's way to membership.
type Gossip interface {
	// Create starts one instance, which listens but has joined nobody. The
	// context bounds the call only, not the life of the instance. After an
	// error nothing is left running.
	Create(ctx context.Context, opts InstanceOptions) (Instance, error)
}

// InstanceOptions says how an instance begins. All of it is fixed for the life
// of the instance, except the keys, which change through its Keyring.
type InstanceOptions struct {
	// Name is the member's name, which is the name of its Node.
	Name string

	// Keys is never empty and holds no key twice: the ring is full from the
	// first packet on, its primary is Keys[0].
	Keys Keys

	// VerifyIncoming refuses what is not encrypted; VerifyOutgoing encrypts
	// what is sent. memberlist reads both unlocked on every message, so they
	// only change with a restart.
	VerifyIncoming, VerifyOutgoing bool

	// OnEvent, when not nil, is told of every change of membership, one call
	// at a time and possibly before Create returns. It is called with the
	// instance's locks held: it must not block nor call the instance.
	OnEvent func(MemberEvent)
}

// Instance is one running member of the gossip cluster.
type Instance interface {
	// Keyring is the live ring: changing it changes what the instance reads
	// and writes from the next message on.
	Keyring() Keyring

	// Join contacts each peer in turn and exchanges state with it. It returns
	// the number that answered, and an error if any did not. It blocks for as
	// long as they take, and returns soon after ctx ends.
	Join(ctx context.Context, peers []Peer) (int, error)

	// Members lists the members this instance holds to be alive or suspect,
	// itself included, in any order. It does not block.
	Members() []Member

	// Leave tells the others that this member goes on purpose and waits until
	// that is sent, for at most timeout. It takes no context because it is
	// called when the agent's has ended.
	Leave(timeout time.Duration) error

	// Shutdown stops the instance; without Leave before it, it looks like a
	// crash to the others. No event is delivered once it has returned.
	Shutdown() error
}

// Member is a live member of the gossip cluster as one instance sees it.
type Member struct {
	Name string
	Addr netip.AddrPort
}

// MemberEventKind says what happened to a member.
type MemberEventKind string

// What can happen to a member.
const (
	MemberJoined  MemberEventKind = "joined"
	MemberLeft    MemberEventKind = "left" // on purpose or declared dead
	MemberUpdated MemberEventKind = "updated"
)

// MemberEvent is a change of membership as one instance sees it.
type MemberEvent struct {
	Kind   MemberEventKind
	Member Member
}

// Peer is a node that should be in the gossip cluster, and where it listens.
type Peer struct {
	Name string
	Addr netip.AddrPort
}

// Peers knows which nodes should be in the cluster. [NodePeers] reads them from
// the Nodes.
type Peers interface {
	Peers(ctx context.Context) ([]Peer, error)
}

// KeySource delivers key lists. [SecretWatcher] is the one that reads the
// Secret.
type KeySource interface {
	// Watch registers onKeys and returns the controller that calls it, one
	// call at a time, each time with at least one key. It may be called once.
	Watch(onKeys func(keys Keys)) kube.Controller
}

// Version names one writing of the key list: the Secret object, and the
// generation the Rotator counts on it. Together with the list it tells a ring
// that has the list from one that had it once, before others were written.
type Version struct {
	// UID changes when the Secret is deleted and created again.
	UID types.UID `json:"secret,omitempty"`

	// Generation is the Rotator's count of the lists it wrote to this Secret;
	// zero as long as it wrote none.
	Generation int64 `json:"generation"`
}

// Report is what a node says about its ring: the evidence on which the Rotator
// takes its next step.
type Report struct {
	Version `json:",inline"`

	// Keys holds the fingerprints of the ring, the primary first.
	Keys []string `json:"keys"`

	// Time is when the ring came to hold them, by the node's own clock. It is
	// for people; nothing is decided by it.
	Time time.Time `json:"time"`
}

// Reporter publishes what this node reports, where the Rotator reads it.
// [NodeReporter] writes it to the node's own Node.
type Reporter interface {
	// Report makes r the node's report. It is called again with the same
	// report now and then, to restore one that got lost, and should then not
	// write for nothing.
	Report(ctx context.Context, r Report) error
}
