package kernel

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
)

// query is a question that has left a Pod.
type query struct {
	netns  plane.Netns
	server netip.Addr
	id     uint16
	name   string
}

// Answer is what a DNS server says, or whoever pretends to be one.
type Answer struct {
	From  netip.Addr
	ID    uint16
	Name  string
	Addrs []netip.Addr
}

// Ask lets a process send a query to a server. Whether it arrives is the network's
// business.
func (k *Kernel) Ask(pid int, server netip.Addr, id uint16, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.processes[pid]
	if p == nil {
		return fmt.Errorf("process %d: %w", pid, plane.ErrNoProcess)
	}
	if k.attached[p.netns] > 0 && slices.Contains(k.trusted, server) {
		k.queries[query{p.netns, server, id, strings.ToLower(name)}] = true
	}
	return nil
}

// Deliver lets an answer arrive at a process, and returns it as the process sees it: a
// trusted server's answer to a query of a bound Pod, about a host that is used, has the
// virtual IPs of the host in place of its addresses. Whether the server was trusted
// counted when it was asked.
func (k *Kernel) Deliver(pid int, a Answer) (Answer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.processes[pid]
	if p == nil {
		return a, fmt.Errorf("process %d: %w", pid, plane.ErrNoProcess)
	}
	name := strings.ToLower(a.Name)
	q := query{p.netns, a.From, a.ID, name}
	if k.attached[p.netns] == 0 || !k.queries[q] || !k.isBound(p.netns) {
		return a, nil
	}
	delete(k.queries, q)
	for _, row := range k.vips {
		if row.Host != name || row.State != virtualip.Used {
			continue
		}
		k.real[row.ID()] = slices.Clone(a.Addrs)
		seen := slices.Clone(a.Addrs)
		for i, addr := range seen {
			if seen[i] = row.V4; addr.Is6() {
				seen[i] = row.V6
			}
		}
		a.Addrs = seen
	}
	return a, nil
}

// isBound reports whether an address of a network namespace is that of a Pod.
func (k *Kernel) isBound(id plane.Netns) bool {
	n := k.netns[id]
	return n != nil && slices.ContainsFunc(n.addrs, func(a netip.Addr) bool { return k.bound[a] != "" })
}
