package plane

import (
	"context"
	"errors"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak/answers"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// ErrFull is wrapped by the error of a call that needs room in a map which has none.
// What was there stays.
var ErrFull = errors.New("a map of the data plane is full")

// ErrNoProcess is wrapped by the error of a call about what does not run, or not yet.
var ErrNoProcess = errors.New("no such process")

// ErrBusy is wrapped by the error of a call about what is still in use.
var ErrBusy = errors.New("still in use")

// Plane is the data plane of one node.
type Plane interface {
	Secrets
	Pods
	Resolvers
	Events
}

// Owner is what a value belongs to: a key of a Secret.
type Owner struct {
	types.NamespacedName
	Key string
}

// String names the owner as events do.
func (o Owner) String() string { return o.NamespacedName.String() + "[" + o.Key + "]" }

// Entry is one placeholder and what it is swapped for.
type Entry struct {
	Owner       Owner
	Placeholder string
	Value       secret.Bytes
	Rule        policy.Rule
}

// Key is what grants name the entry by.
func (e *Entry) Key() placeholder.Key {
	key, _ := placeholder.KeyOf(e.Placeholder)
	return key
}

// Equal reports whether both are the same in all that counts.
func (e *Entry) Equal(o *Entry) bool {
	return e.Owner == o.Owner && e.Placeholder == o.Placeholder && e.Value.Equal(o.Value) && e.Rule.Equal(o.Rule)
}

// Secrets are the maps that decisions are made from.
type Secrets interface {
	// Entries returns what is loaded, in the order of keys: what is there and not what
	// was written, since maps outlive agents and may drift.
	Entries(ctx context.Context) ([]Entry, error)

	// PutEntry loads an entry, in place of one with its key. A record is changed by the
	// one or by the other, never by a mixture.
	PutEntry(ctx context.Context, e Entry) error

	// DeleteEntry unloads the entry with a key, if there is one. Once it has returned,
	// no later write is changed by it.
	DeleteEntry(ctx context.Context, key placeholder.Key) error

	// Grants returns all grants, in order.
	Grants(ctx context.Context) ([]policy.Grant, error)

	// SetACL takes the grants in revoke away, and then adds those in add.
	SetACL(ctx context.Context, revoke, add []policy.Grant) error

	// LoadVIPs returns the virtual IPs as they were stored last, by whichever agent.
	LoadVIPs(ctx context.Context) ([]virtualip.Row, error)

	// StoreVIPs makes these the virtual IPs: answers for the hosts that are used are
	// rewritten, connections to those that are retained are translated as well.
	StoreVIPs(ctx context.Context, rows []virtualip.Row) error

	// Referred returns the ids of the hosts that open sockets were verified for.
	Referred(ctx context.Context) (map[uint64]bool, error)
}

// Netns is a network namespace, by the inode of its file. It is held open while
// something is attached, or the number could come to mean another.
type Netns uint64

// Attachments are what is attached and tracked, by whichever agent.
type Attachments struct {
	Netns   []Netns
	Cgroups []policy.Cgroup
	Bound   map[netip.Addr]types.UID
}

// Pods are the programs on the way of a Pod, and what they know of it.
type Pods interface {
	// AttachNetns puts the rewriting of DNS answers and the patching of records on the
	// host's side of the interfaces of a network namespace. It does so once for each
	// namespace, and for all interfaces or none. What is written before is not changed, not
	// even if it leaves later: its first segments might have left.
	AttachNetns(ctx context.Context, path string) (Netns, error)

	// DetachNetns takes them off. A namespace that is gone has none. While a process is in
	// it, the error wraps [ErrBusy] and all stays: a record that is on its way would be
	// broken.
	DetachNetns(ctx context.Context, ns Netns) error

	// Addresses returns the addresses of a network namespace, without those of the
	// loopback.
	Addresses(ctx context.Context, ns Netns) ([]netip.Addr, error)

	// BindPod makes an address that of a Pod, and of no other, whose DNS answers are to be
	// rewritten.
	BindPod(ctx context.Context, addr netip.Addr, uid types.UID) error

	// UnbindPod ends that, unless the address is another Pod's by now.
	UnbindPod(ctx context.Context, addr netip.Addr, uid types.UID) error

	// FindNetns returns the path of a Pod's network namespace, from any of its processes.
	// [ErrNoProcess] says that there is none yet.
	FindNetns(ctx context.Context, uid types.UID) (path string, err error)

	// FindCgroup returns the cgroup of a container, the leaf and not that of its Pod.
	// [ErrNoProcess] says that there is none.
	FindCgroup(ctx context.Context, uid types.UID, containerID string) (policy.Cgroup, error)

	// TrackCgroup lets events of a cgroup come, and writes in it be looked at.
	TrackCgroup(ctx context.Context, cg policy.Cgroup) error

	// UntrackCgroup ends that.
	UntrackCgroup(ctx context.Context, cg policy.Cgroup) error

	// AttachLibraries hooks the TLS libraries in the root file systems of what runs in a
	// cgroup, for all processes that use these files. It returns once all that are there
	// were looked at; that there are none is no error.
	AttachLibraries(ctx context.Context, cg policy.Cgroup) error

	// AttachCommand hooks the TLS code in the executable that a container is about to
	// run: the first of its arguments, looked up in its root file system.
	AttachCommand(ctx context.Context, cg policy.Cgroup, args []string) error

	// AttachExe hooks the TLS code in the executable of a process. [ErrNoProcess] says
	// that it is gone.
	AttachExe(ctx context.Context, pid int) error

	// Attachments returns all of them, in order.
	Attachments(ctx context.Context) (Attachments, error)

	// Processes returns the ids of the processes in a cgroup, in order.
	Processes(ctx context.Context, cg policy.Cgroup) ([]int, error)
}

// Resolvers are the DNS servers whose answers count, and what they have said.
type Resolvers interface {
	// SetTrusted makes exactly these the trusted ones. It adds before it removes.
	SetTrusted(ctx context.Context, servers []netip.Addr) error

	// Expired returns the hosts in use, in the order of their names, to whose virtual IPs
	// connections have come since all real addresses of that family were past their time.
	Expired(ctx context.Context) ([]virtualip.Row, error)

	// Learn adds real addresses of a host, as a trusted server has said just now. A host
	// that is not in use learns nothing.
	Learn(ctx context.Context, host uint64, real []answers.Real) error
}

// Exec says that a process of a tracked cgroup has started a program.
type Exec struct {
	Cgroup policy.Cgroup
	PID    int
}

// Violation says that a placeholder left as it is, or in audit mode would have.
type Violation struct {
	Cgroup policy.Cgroup
	Owner  Owner
	Why    policy.Reason
}

// Event is one of them.
type Event struct {
	Exec      *Exec
	Violation *Violation
}

// Events is what the kernel has to say.
type Events interface {
	// NextEvent waits for the next event. Some may be lost when there are many.
	NextEvent(ctx context.Context) (Event, error)
}
