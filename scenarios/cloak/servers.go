package cloak

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/seedbed-sim/seedbed/fakes/kernel"
)

var (
	// clusterDNS is the address of kube-dns.
	clusterDNS = netip.MustParseAddr("10.0.0.53")

	// rogueDNS is a server that nobody trusts.
	rogueDNS = netip.MustParseAddr("10.1.255.1")
)

// addressOf is the real address of a host.
func (s *State) addressOf(host string) netip.Addr {
	i := slices.Index(s.hosts, host)
	if i < 0 {
		i = len(s.hosts)
		s.hosts = append(s.hosts, host)
	}
	if s.config.OneServer {
		i = 0
	}
	return netip.AddrFrom4([4]byte{203, 0, 113, byte(i + 1)})
}

// errNoAnswer is what a workload sees when no server answers.
var errNoAnswer = errors.New("no answer")

// resolve asks for the address of a workload's host.
func (s *State) resolve(w *work, pid int) (netip.Addr, error) {
	server := clusterDNS
	if s.rogue && s.unlucky(2) {
		server = rogueDNS
	}
	id := uint16(s.random.Intn(1 << 16))
	if err := w.node.kernel.Ask(pid, server, id, w.config.Host); err != nil {
		return netip.Addr{}, err
	}
	if s.mute || s.unlucky(10) {
		return netip.Addr{}, errNoAnswer // it got lost
	}
	a, err := w.node.kernel.Deliver(pid, kernel.Answer{From: server, ID: id, Name: w.config.Host, Addrs: []netip.Addr{s.addressOf(w.config.Host)}})
	if err != nil {
		return netip.Addr{}, err
	}
	return a.Addrs[0], nil
}
