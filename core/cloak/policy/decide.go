package policy

import (
	"net/netip"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
)

// Cgroup is the id of a container's cgroup, which is its inode.
type Cgroup uint64

// Mode says what becomes of a secret in a cgroup that it is not granted to.
type Mode uint8

// The zero Mode is Enforce.
const (
	Enforce Mode = iota // the placeholder leaves
	Audit               // the secret leaves, and an event says so
)

// Grant lets a cgroup use the secret behind a key.
type Grant struct {
	Cgroup Cgroup
	Key    placeholder.Key
}

// Tables are what a decision is made from: the maps of the data plane. The zero Tables
// permit nothing.
type Tables struct {
	Rules  map[placeholder.Key]Rule
	Grants map[Grant]bool
	Mode   Mode
}

// Socket is what the kernel knows for certain of the socket of a write. Nothing in it
// may come from another socket, file descriptor, thread or process.
type Socket struct {
	// Outgoing is whether the socket was connected in this node's connect hook.
	// Accepted sockets are not: a server must not send secrets to its clients.
	Outgoing bool

	// TCP is whether it is an established TCP connection, and not MPTCP.
	TCP bool

	// Host is the name of the host that the destination was resolved from through a
	// trusted server, as its virtual IP says; empty if it is none, or if the TLS
	// handshake named another.
	Host string

	// Destination is what the application connected to, before any translation.
	Destination netip.AddrPort
}

// Reason says why a secret does not leave. It is also the name of its counter.
type Reason string

// Why a secret does not leave. Those that Decide does not give are for others that
// leave a placeholder as it is.
const (
	Unknown      Reason = "unknown_key"
	NoACL        Reason = "no_acl"
	NoSocket     Reason = "no_sock"
	HostMismatch Reason = "host_mismatch"
	PortMismatch Reason = "port_mismatch"
)

// Verdict is whether a secret leaves.
type Verdict struct {
	Allow bool

	// Why is the reason why not. In Audit mode it may be NoACL beside Allow.
	Why Reason
}

// Decide says whether what runs in a cgroup may send the secret behind a key over a
// socket. In this order:
//
//  1. an unknown key is nobody's: no;
//  2. a cgroup without a grant: no, but in Audit mode it goes on;
//  3. a socket that is not an outgoing, established TCP connection: no;
//  4. another port than the rule's: no;
//  5. a host other than the rule's: no. A name must be the one that the socket was
//     verified for; an address must be the destination as the application gave it.
func (t *Tables) Decide(cgroup Cgroup, key placeholder.Key, s Socket) Verdict {
	rule, known := t.Rules[key]
	if !known {
		return Verdict{Why: Unknown}
	}
	granted := t.Grants[Grant{cgroup, key}]
	switch {
	case !granted && t.Mode != Audit:
		return Verdict{Why: NoACL}
	case !s.Outgoing || !s.TCP:
		return Verdict{Why: NoSocket}
	case !rule.Port.permits(s.Destination.Port()):
		return Verdict{Why: PortMismatch}
	case !rule.Hosts.permit(s):
		return Verdict{Why: HostMismatch}
	case !granted:
		return Verdict{Allow: true, Why: NoACL}
	}
	return Verdict{Allow: true}
}

func (p Port) permits(number uint16) bool {
	return p.any || p.number != 0 && p.protocol == TCP && p.number == number
}

func (h Hosts) permit(s Socket) bool {
	if h.any {
		return true
	}
	for _, host := range h.list {
		if host.name != "" && host.name == s.Host || host.addr.IsValid() && host.addr == s.Destination.Addr().Unmap() {
			return true
		}
	}
	return false
}
