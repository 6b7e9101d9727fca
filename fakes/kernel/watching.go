package kernel

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
)

// What follows is for whoever watches from outside.

// Generation changes whenever more may be permitted than before, or something is attached.
func (k *Kernel) Generation() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.generation
}

// Turnover grows whenever something may be left of what is gone.
func (k *Kernel) Turnover() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.turnover
}

// Heard is how many answers have said where a host is.
func (k *Kernel) Heard() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.heard
}

// Loaded returns the entries as they are, in order.
func (k *Kernel) Loaded() (entries []plane.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(k.entries), placeholder.Key.Compare) {
		entries = append(entries, k.entries[key])
	}
	return entries
}

// Programs returns how many programs are attached to each network namespace that has any.
func (k *Kernel) Programs() map[plane.Netns]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[plane.Netns]int{}
	for ns, list := range k.attached {
		out[ns] = len(list)
	}
	return out
}

// Real returns the real addresses of hosts that are believed, in order.
func (k *Kernel) Real() (all []netip.Addr) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(k.real)) {
		for _, r := range k.real[id] {
			all = append(all, r.addr)
		}
	}
	return all
}

// InUse returns the ids of the hosts that open sockets were verified for.
func (k *Kernel) InUse() map[uint64]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids := map[uint64]bool{}
	for _, s := range k.sockets {
		if s.host != 0 {
			ids[s.host] = true
		}
	}
	return ids
}

// Trusted returns the DNS servers that are trusted.
func (k *Kernel) Trusted() []netip.Addr {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.trusted)
}

// Count is how often a placeholder stayed as it was for a reason, or an answer did.
func (k *Kernel) Count(why policy.Reason) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.counts[why]
}

func (k *Kernel) count(why policy.Reason) { k.counts[why]++ }

// Rows returns the virtual IPs as they are, for whoever watches from outside.
func (k *Kernel) Rows() []virtualip.Row {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.vips)
}

// Left names the addresses, cgroups and grants that belong to nothing that runs, for
// whoever watches from outside.
func (k *Kernel) Left() (left []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	live := map[netip.Addr]bool{}
	for _, ns := range k.netns {
		for _, a := range ns.addrs {
			live[a] = true
		}
	}
	for a, uid := range k.bound {
		if !live[a] {
			left = append(left, fmt.Sprintf("address %s of Pod %s", a, uid))
		}
	}
	for cg := range k.tracked {
		if k.cgroups[cg] == nil {
			left = append(left, fmt.Sprintf("cgroup %d", cg))
		}
	}
	for g := range k.grants {
		if k.cgroups[g.Cgroup] == nil {
			left = append(left, fmt.Sprintf("grant of %s to cgroup %d", g.Key, g.Cgroup))
		}
	}
	slices.Sort(left)
	return left
}
