package policy_test

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

const cgroup policy.Cgroup = 77

var key = placeholder.Key([]byte("kl--abcd"))

// rule reads a rule; what is wrong permits nothing.
func rule(hosts, port string) policy.Rule {
	h, _ := policy.ParseHosts(hosts)
	p, _ := policy.ParsePort(port)
	return policy.Rule{Hosts: h, Port: p}
}

// to is a socket that is verified for a host.
func to(host, destination string) policy.Socket {
	return policy.Socket{Outgoing: true, TCP: true, Host: host, Destination: netip.MustParseAddrPort(destination)}
}

// decide puts a rule to a socket, in a cgroup that has a grant.
func decide(r policy.Rule, s policy.Socket) policy.Verdict {
	t := policy.Tables{Rules: map[placeholder.Key]policy.Rule{key: r}, Grants: map[policy.Grant]bool{{Cgroup: cgroup, Key: key}: true}}
	return t.Decide(cgroup, key, s)
}

// Section 3.3: the rules of host and port, and which sockets there are at all.
func TestDecide(t *testing.T) {
	const yes policy.Reason = ""
	accepted, mptcp := to("a.com", "198.18.0.1:443"), to("a.com", "198.18.0.1:443")
	accepted.Outgoing, mptcp.TCP = false, false
	for _, tc := range []struct {
		row, hosts, port string
		socket           policy.Socket
		want             policy.Reason
	}{
		{"the host", "a.com", "443", to("a.com", "198.18.0.1:443"), yes},
		{"another host", "a.com", "443", to("b.com", "198.18.0.2:443"), policy.HostMismatch},
		{"no verified host", "a.com", "443", to("", "93.184.216.34:443"), policy.HostMismatch},
		{"another port", "a.com", "443", to("a.com", "198.18.0.1:8443"), policy.PortMismatch},
		{"every port", "a.com", "", to("a.com", "198.18.0.1:1"), yes},
		{"every host", "*", "443", to("", "93.184.216.34:443"), yes},
		{"every host, another port", "", "443", to("", "93.184.216.34:80"), policy.PortMismatch},
		{"the address", "10.1.2.3", "443", to("", "10.1.2.3:443"), yes},
		{"the address in IPv6", "10.1.2.3", "443", to("", "[::ffff:10.1.2.3]:443"), yes},
		{"IPv6", "2001:db8::1", "", to("", "[2001:db8::1]:443"), yes},
		{"another address", "10.1.2.3", "443", to("", "10.1.2.4:443"), policy.HostMismatch},
		{"a name that a virtual IP stands for does not make an address", "10.1.2.3", "", to("10.1.2.3.nip.io", "198.18.0.1:443"), policy.HostMismatch},
		{"a port of UDP matches nothing", "a.com", "443/udp", to("a.com", "198.18.0.1:443"), policy.PortMismatch},
		{"an accepted socket", "*", "", accepted, policy.NoSocket},
		{"no TCP", "*", "", mptcp, policy.NoSocket},
		{"no socket", "*", "", policy.Socket{}, policy.NoSocket},
		{"an invalid host is none", "a.com,b.com", "", to("a.com", "198.18.0.1:443"), policy.HostMismatch},
		{"an invalid host is not the one of no name", "x y", "", to("", "10.1.2.3:443"), policy.HostMismatch},
		{"an invalid port is none", "*", "70000", to("", "10.1.2.3:443"), policy.PortMismatch},
		{"an invalid port is not zero", "*", "x", to("", "10.1.2.3:0"), policy.PortMismatch},
	} {
		got := decide(rule(tc.hosts, tc.port), tc.socket)
		if got.Why != tc.want || got.Allow != (tc.want == yes) {
			t.Errorf("%s: %+v, want %q", tc.row, got, tc.want)
		}
	}
}

// Section 2.5, binding: what is not granted does not leave; in audit mode it does, and
// an event says so.
func TestDecideGrants(t *testing.T) {
	other := placeholder.Key([]byte("kl--efgh"))
	tables := policy.Tables{
		Rules:  map[placeholder.Key]policy.Rule{key: rule("*", ""), other: rule("a.com", "")},
		Grants: map[policy.Grant]bool{{Cgroup: cgroup, Key: key}: true},
	}
	s := to("", "10.1.2.3:443")
	for _, tc := range []struct {
		row    string
		cgroup policy.Cgroup
		key    placeholder.Key
		mode   policy.Mode
		want   policy.Verdict
	}{
		{"granted", cgroup, key, policy.Enforce, policy.Verdict{Allow: true}},
		{"granted to another cgroup", cgroup + 1, key, policy.Enforce, policy.Verdict{Why: policy.NoACL}},
		{"another key granted", cgroup, other, policy.Enforce, policy.Verdict{Why: policy.NoACL}},
		{"unknown key", cgroup, placeholder.Key{}, policy.Audit, policy.Verdict{Why: policy.Unknown}},
		{"audit lets through and tells", cgroup + 1, key, policy.Audit, policy.Verdict{Allow: true, Why: policy.NoACL}},
		{"audit does not widen the rule", cgroup, other, policy.Audit, policy.Verdict{Why: policy.HostMismatch}},
		{"a mode that nobody knows enforces", cgroup + 1, key, 9, policy.Verdict{Why: policy.NoACL}},
	} {
		tables.Mode = tc.mode
		if got := tables.Decide(tc.cgroup, tc.key, s); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.row, got, tc.want)
		}
	}
	if got := new(policy.Tables).Decide(cgroup, key, s); got.Allow {
		t.Errorf("empty tables permit: %+v", got)
	}
}

var (
	hosts = rapid.SampledFrom([]string{"", "*", "a.com", "b.com", "10.1.2.3", "2001:db8::1", "a.com,b.com", "A.com"})
	ports = rapid.SampledFrom([]string{"", "443", "8443", "443/udp", "0", "x"})
	rules = rapid.Custom(func(t *rapid.T) policy.Rule {
		return rule(hosts.Draw(t, "hosts"), ports.Draw(t, "port"))
	})
	sockets = rapid.Custom(func(t *rapid.T) policy.Socket {
		return policy.Socket{
			Outgoing: rapid.Bool().Draw(t, "outgoing"), TCP: rapid.Bool().Draw(t, "tcp"),
			Host: rapid.SampledFrom([]string{"", "a.com", "b.com"}).Draw(t, "host"),
			Destination: netip.AddrPortFrom(
				netip.MustParseAddr(rapid.SampledFrom([]string{"10.1.2.3", "198.18.0.1", "2001:db8::1"}).Draw(t, "address")),
				rapid.SampledFrom([]uint16{0, 443, 8443}).Draw(t, "number")),
		}
	})
)

// I1 and I9: whatever is allowed is allowed by the rule in words; nothing invalid is.
func TestNothingIsAllowedThatTheRuleDoesNotSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, p, s := hosts.Draw(t, "hosts"), ports.Draw(t, "port"), sockets.Draw(t, "socket")
		byHost := h == "" || h == "*" || h == s.Host || h == s.Destination.Addr().String()
		byPort := p == "" || p == "443" && s.Destination.Port() == 443 || p == "8443" && s.Destination.Port() == 8443
		want := s.Outgoing && s.TCP && byHost && byPort
		if got := decide(rule(h, p), s); got.Allow != want {
			t.Fatalf("%q %q for %+v: %+v, want %t", h, p, s, got, want)
		}
	})
}
