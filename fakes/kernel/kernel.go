package kernel

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/core/clock"
)

// Limits are the sizes of maps.
type Limits struct {
	Entries int // of secrets, before their forms
	Grants  int
	VIPs    int
	Bound   int // addresses of Pods
	Cgroups int
	Trusted int
}

// DefaultLimits are those of section 3.7 of the specification.
var DefaultLimits = Limits{Entries: 8192, Grants: 65536, VIPs: 4096, Bound: 1024, Cgroups: 2048, Trusted: 64}

// Options say what a kernel is like.
type Options struct {
	Limits Limits // zero means DefaultLimits

	// Conduct, if set, is asked before each call of an agent. It may take its time, and
	// an error fails the call before it has any effect.
	Conduct func(ctx context.Context, call string) error

	// Now, if set, is the time since some moment: queries and real addresses grow old.
	Now func() time.Duration

	// Done, if set, is asked after each call that had an effect, which an error makes
	// seem to have failed.
	Done func(ctx context.Context, call string) error
}

// Kernel is the kernel of one node.
type Kernel struct {
	opts Options

	// mu guards all that follows. It is not held while Conduct or Done is asked.
	mu sync.Mutex

	// The maps.
	entries map[placeholder.Key]plane.Entry
	grants  map[policy.Grant]bool
	vips    []virtualip.Row
	trusted []netip.Addr
	bound   map[netip.Addr]types.UID
	tracked map[policy.Cgroup]bool

	// What is attached.
	attached map[plane.Netns][]Layout // the programs, by whose maps they use
	layout   Layout                   // of the maps that there are
	hooked   map[File]bool

	// What runs.
	netns     map[plane.Netns]*netns
	cgroups   map[policy.Cgroup]*cgroup
	processes map[int]*process
	sockets   map[uint64]*Socket

	inode  uint64 // the last that was given out; they are used again after a reboot only
	pid    int
	cookie uint64

	events []plane.Event
	ready  clock.Signal // of the agent that waits for an event; nil if there is none

	real    map[uint64][]realAddr // of hosts, as trusted servers have said last
	wanting map[uint64]bool       // hosts to which connections came that had only stale ones
	stuck   map[stickyKey]stuck
	queries map[query]time.Duration // that have no answer yet, and until when they may have
	pending map[Thread]pending
	forms   map[placeholder.Key]formOf // of the entries
	rules   map[placeholder.Key]policy.Rule
	counts  map[policy.Reason]int

	generation int // of the entries, the grants and what is attached
	heard      int // answers that said where a host is
	turnover   int // of what runs, and calls of agents
}

// New returns a kernel that has just booted.
func New(opts Options) *Kernel {
	if opts.Limits == (Limits{}) {
		opts.Limits = DefaultLimits
	}
	k := &Kernel{opts: opts}
	k.Reboot()
	return k
}

// Reboot ends all that runs, and forgets all that was attached and written.
func (k *Kernel) Reboot() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.entries, k.grants, k.vips, k.trusted = map[placeholder.Key]plane.Entry{}, map[policy.Grant]bool{}, nil, nil
	k.bound, k.tracked = map[netip.Addr]types.UID{}, map[policy.Cgroup]bool{}
	k.attached, k.hooked = map[plane.Netns][]Layout{}, map[File]bool{}
	k.netns, k.cgroups, k.processes = map[plane.Netns]*netns{}, map[policy.Cgroup]*cgroup{}, map[int]*process{}
	k.sockets, k.events = map[uint64]*Socket{}, nil
	k.wanting = map[uint64]bool{}
	k.real, k.stuck, k.queries = map[uint64][]realAddr{}, map[stickyKey]stuck{}, map[query]time.Duration{}
	k.pending, k.counts = map[Thread]pending{}, map[policy.Reason]int{}
	k.index()
	k.turnover++
	k.inode, k.pid, k.cookie = 4026531840, 1, 0
}

// do is one call of an agent.
func (k *Kernel) do(ctx context.Context, call string, effect func() error) error {
	if k.opts.Conduct != nil {
		if err := k.opts.Conduct(ctx, call); err != nil {
			return fmt.Errorf("%s: %w", call, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	k.mu.Lock()
	k.turnover++
	err := effect()
	k.mu.Unlock()
	if err == nil && k.opts.Done != nil {
		err = k.opts.Done(ctx, call)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}

// full is the error of a map that has no room.
func full(what string, limit int) error {
	return fmt.Errorf("%w: %d %s", plane.ErrFull, limit, what)
}
