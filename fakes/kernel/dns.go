package kernel

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/core/cloak/answers"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
)

const (
	// queryExpiry is how long an answer may take.
	queryExpiry = 10 * time.Second

	// realMax is how many real addresses of a host are kept.
	realMax = 16

	// realMin is how long a real address is good at least, and realGrace how long after its
	// time: applications keep virtual IPs for longer.
	realMin   = time.Minute
	realGrace = time.Minute

	// sticky is how long a Pod goes to the same real address of a host.
	sticky = 10 * time.Second
)

// query is a question that has left a Pod.
type query struct {
	netns    plane.Netns
	server   netip.Addr
	port     uint16 // of the Pod
	question answers.Question
}

// now is the time since some moment, or always zero without a clock.
func (k *Kernel) now() time.Duration {
	if k.opts.Now == nil {
		return 0
	}
	return k.opts.Now()
}

// Ask lets a process send a DNS query over UDP from a port of its own to a server.
// Whether it arrives is the network's business.
func (k *Kernel) Ask(pid int, server netip.Addr, port uint16, packet []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.processes[pid]
	if p == nil {
		return fmt.Errorf("process %d: %w", pid, plane.ErrNoProcess)
	}
	question, err := answers.ParseQuestion(packet)
	if err == nil && len(k.attached[p.netns]) > 0 && slices.Contains(k.trusted, server) {
		k.queries[query{p.netns, server, port, question}] = k.now() + queryExpiry
	}
	return nil
}

// Deliver lets an answer arrive at a port of a process from whoever sends it, and returns
// it as the process sees it: that of a trusted server to a query of a bound Pod, about a
// host that is used, has the virtual IPs of the host in place of its addresses. Whether the
// server was trusted counted when it was asked.
func (k *Kernel) Deliver(pid int, from netip.Addr, port uint16, packet []byte) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.processes[pid]
	if p == nil {
		return packet, fmt.Errorf("process %d: %w", pid, plane.ErrNoProcess)
	}
	packet = slices.Clone(packet)
	question, err := answers.ParseQuestion(packet)
	if err != nil {
		k.count("dns_unparsed")
		return packet, nil
	}
	q := query{p.netns, from, port, question}
	until, asked := k.queries[q]
	if len(k.attached[p.netns]) == 0 || !asked || k.now() > until || !k.isBound(p.netns) {
		k.count("dns_untrusted")
		return packet, nil
	}
	delete(k.queries, q)
	for _, row := range k.vips {
		if row.Host != question.Name || row.State != virtualip.Used {
			continue
		}
		rewritten, real, err := answers.Rewrite(packet, row.V4, row.V6)
		if err != nil {
			k.count("dns_unparsed")
			break
		}
		packet = rewritten
		k.learn(row.ID(), real)
	}
	return packet, nil
}

// isBound reports whether an address of a network namespace is that of a Pod.
func (k *Kernel) isBound(id plane.Netns) bool {
	n := k.netns[id]
	return n != nil && slices.ContainsFunc(n.addrs, func(a netip.Addr) bool { return k.bound[a] != "" })
}

// realAddr is a real address of a host.
type realAddr struct {
	addr  netip.Addr
	until time.Duration
}

// learn keeps the real addresses of a host.
func (k *Kernel) learn(host uint64, real []answers.Real) {
	set := k.real[host]
	for _, r := range real {
		until := k.now() + max(r.TTL, realMin) + realGrace
		set = slices.DeleteFunc(set, func(o realAddr) bool { return o.addr == r.Addr })
		set = append(set, realAddr{r.Addr, until})
	}
	if over := len(set) - realMax; over > 0 {
		set = slices.Delete(set, 0, over) // those that were heard of first
	}
	k.real[host] = set
	delete(k.wanting, host)
	k.heard++
}

// stuck is where a Pod went last for a host.
type stuck struct {
	addr  netip.Addr
	until time.Duration
}

type stickyKey struct {
	netns plane.Netns
	host  uint64
	six   bool
}

// realOf picks a real address of a host, of the family of a virtual IP, for a Pod: the one
// that it went to lately, or else each in turn of those that are good; those that are past
// their time if there are no others.
func (k *Kernel) realOf(ns plane.Netns, host uint64, virtual netip.Addr) (netip.Addr, bool) {
	now := k.now()
	var good, stale []netip.Addr
	for _, r := range k.real[host] {
		if r.addr.Is6() != virtual.Is6() {
			continue
		}
		if stale = append(stale, r.addr); r.until >= now {
			good = append(good, r.addr)
		}
	}
	if len(good) == 0 {
		k.wanting[host] = true
		if good = stale; len(good) == 0 {
			k.count("vip_no_real")
			return netip.Addr{}, false
		}
		k.count("vip_stale")
	}
	key := stickyKey{ns, host, virtual.Is6()}
	if last, ok := k.stuck[key]; ok && last.until >= now && slices.Contains(good, last.addr) {
		return last.addr, true
	}
	pick := good[int(k.cookie)%len(good)]
	k.stuck[key] = stuck{pick, now + sticky}
	return pick, true
}
