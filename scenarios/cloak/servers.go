package cloak

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/fakes/dns"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

var (
	// clusterDNS is the address of kube-dns.
	clusterDNS = netip.MustParseAddr("10.0.0.53")

	// rogueDNS is a server that nobody trusts, and nodeDNS is one on each node.
	rogueDNS = netip.MustParseAddr("10.1.255.1")
	nodeDNS  = netip.MustParseAddr("169.254.20.10")

	// evilServer is where lies lead to.
	evilServer = netip.MustParseAddr("198.51.100.66")
)

// evil is what a server is called that no host has.
const evil = "(evil)"

// endpointDNS is the address of a Pod of the cluster's DNS server, by its number.
func endpointDNS(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, 254, byte(n)}) }

// world of names: which addresses hosts have, and have ever had.
type names struct {
	zone      dns.Zone
	hosts     []string
	ever      map[netip.Addr]bool
	moves     int
	endpoints []int // the Pods of the cluster's DNS server that answer
	nameless  bool  // no server answers
	rogue     bool  // one that nobody trusts answers as well
}

// addressesOf returns the real addresses of a host, which it gets when it is named first.
func (s *State) addressesOf(host string) []netip.Addr {
	if r, ok := s.names.zone.Get(host); ok {
		return r.Addrs
	}
	s.names.hosts = append(s.names.hosts, host)
	i := len(s.names.hosts)
	if s.config.OneServer {
		i = 1
	}
	return s.settle(host, i)
}

// settle gives a host the addresses with a number.
func (s *State) settle(host string, i int) []netip.Addr {
	r := dns.Simple(netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i)))
	r.Services = true
	if i%2 == 0 {
		r.Alias = fmt.Sprintf("edge-%d.cdn.example.net", i)
	}
	for _, a := range r.Addrs {
		s.names.ever[a] = true
	}
	s.names.zone.Set(host, r)
	return r.Addrs
}

// serverAt returns the host whose server answers at an address to a name in the handshake;
// none if nothing is there.
func (s *State) serverAt(addr netip.Addr, name string) string {
	if addr == evilServer {
		return evil
	}
	var there []string
	for _, host := range s.names.hosts {
		if slices.Contains(s.addressesOf(host), addr) {
			there = append(there, host)
		}
	}
	if slices.Contains(there, name) || s.config.OneServer && len(there) > 0 {
		return name // the server shows the host that is named
	}
	if len(there) > 0 {
		return there[0]
	}
	return ""
}

// publish makes the EndpointSlice of the cluster's DNS server say which Pods answer.
func (s *State) publish() error {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: cloak.KubeDNSNamespace, Name: cloak.KubeDNSName + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: cloak.KubeDNSName},
	}}
	ctx, admin := context.Background(), s.world.Admin()
	err := admin.Get(ctx, client.ObjectKeyFromObject(slice), slice)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read EndpointSlice of the DNS server: %w", err)
	}
	slice.AddressType, slice.Endpoints = discoveryv1.AddressTypeIPv4, nil
	slice.Ports = []discoveryv1.EndpointPort{{Name: ptr.To("dns"), Port: ptr.To(int32(53)), Protocol: ptr.To(corev1.ProtocolUDP)}}
	for _, n := range s.names.endpoints {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{endpointDNS(n).String()}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
	}
	if err != nil {
		err = admin.Create(ctx, slice)
	} else {
		err = admin.Update(ctx, slice)
	}
	if err != nil {
		return fmt.Errorf("write EndpointSlice of the DNS server: %w", err)
	}
	return nil
}

// Why a workload has no address.
var (
	errNoAnswer  = errors.New("no answer")
	errNoServers = errors.New("no DNS server runs")
)

// server picks the DNS server that a workload asks.
func (s *State) server() (*dns.Server, error) {
	switch {
	case s.names.rogue && s.unlucky(2):
		rogue := &dns.Server{Addr: rogueDNS, Zone: &s.names.zone}
		if s.unlucky(3) {
			rogue.Lie = []netip.Addr{evilServer}
		}
		return rogue, nil
	case s.config.NodeLocal:
		return &dns.Server{Addr: nodeDNS, Zone: &s.names.zone}, nil
	case s.config.Balanced && len(s.names.endpoints) == 0:
		return nil, errNoServers
	case s.config.Balanced:
		return &dns.Server{Addr: endpointDNS(s.names.endpoints[s.random.Intn(len(s.names.endpoints))]), Zone: &s.names.zone}, nil
	}
	return &dns.Server{Addr: clusterDNS, Zone: &s.names.zone}, nil
}

// resolve finds the address of a workload's host, in the way in which it does that.
func (s *State) resolve(ctx context.Context, env *cluster.Env, w *work, pid int) (netip.Addr, error) {
	family := dns.IPv4
	if w.config.IPv6 {
		family = dns.IPv6
	}
	of := func(addrs []netip.Addr) (netip.Addr, error) {
		for _, a := range addrs {
			if a.Is6() == w.config.IPv6 {
				return a, nil
			}
		}
		return netip.Addr{}, errNoAnswer
	}
	if w.config.Resolves == "literal" || w.config.Resolves == "tcp" {
		return of(s.addressesOf(w.config.Host)) // the data plane sees none of it
	}
	s.addressesOf(w.config.Host)
	if w.resolver.Forever = w.config.Resolves == "once"; w.resolver.Forever {
		if kept, ok := w.resolver.Kept(w.config.Host); ok {
			return of(kept)
		}
	}
	if s.unlucky(4) && !w.config.IPv6 {
		// The hints of services come first, if there are any.
		if addrs, err := s.ask(ctx, env, w, pid, dns.Services); err == nil {
			return of(addrs)
		}
	}
	addrs, err := s.ask(ctx, env, w, pid, family)
	if err != nil {
		return netip.Addr{}, err
	}
	return of(addrs)
}

// ask puts one query to a server.
func (s *State) ask(ctx context.Context, env *cluster.Env, w *work, pid int, family dns.Family) ([]netip.Addr, error) {
	server, err := s.server()
	if err != nil {
		return nil, err
	}
	k, port := w.node.kernel, uint16(32768+s.random.Intn(20000))
	query, err := w.resolver.Query(uint16(s.random.Intn(1<<16)), w.config.Host, family, func() bool { return s.unlucky(2) })
	if err != nil {
		return nil, err
	}
	if err := k.Ask(pid, server.Addr, port, query); err != nil {
		return nil, err
	}
	if s.config.Forgers {
		if err := s.forge(w, pid, port, query); err != nil {
			return nil, err
		}
	}
	if t := s.config.DNSTakes; t != nil && env.Clock.Sleep(ctx, s.within(t)) != nil {
		return nil, errNoAnswer
	}
	if s.names.nameless || s.unlucky(10) {
		return nil, errNoAnswer // it got lost
	}
	server.Doubly = s.unlucky(5)
	all, err := server.Answer(query)
	if err != nil || len(all) == 0 {
		return nil, errors.Join(err, errNoAnswer)
	}
	var first []byte
	for _, a := range all {
		a, err = k.Deliver(pid, server.Addr, port, a)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = a
		}
	}
	addrs, err := w.resolver.Read(query, first)
	s.heard(w, server.Addr, addrs)
	return addrs, err
}

// patience is how long an agent waits for an answer.
const patience = 2 * time.Second

// exchanger is how an agent asks DNS servers itself.
type exchanger struct {
	state *State
	env   *cluster.Env
}

// Exchange implements refresh.Exchanger.
func (e exchanger) Exchange(ctx context.Context, server netip.Addr, query []byte) ([]byte, error) {
	s := e.state
	if t := s.config.DNSTakes; t != nil {
		if err := e.env.Clock.Sleep(ctx, s.within(t)); err != nil {
			return nil, err
		}
	}
	if !s.answers(server) || s.unlucky(10) {
		if err := e.env.Clock.Sleep(ctx, patience); err != nil {
			return nil, err
		}
		return nil, errNoAnswer
	}
	all, err := (&dns.Server{Addr: server, Zone: &s.names.zone}).Answer(query)
	if err != nil || len(all) == 0 {
		return nil, errors.Join(err, errNoAnswer)
	}
	return all[0], nil
}

// answers reports whether a DNS server is there. The one address of all of them stands for
// any that runs.
func (s *State) answers(server netip.Addr) bool {
	up := func(n int) bool { return endpointDNS(n) == server }
	switch {
	case s.names.nameless:
		return false
	case server == clusterDNS:
		return !s.config.Balanced || len(s.names.endpoints) > 0
	}
	return slices.ContainsFunc(s.names.endpoints, up)
}

// forge lets somebody answer who has not been asked, and knows neither the number nor the
// port. No resolver reads it; the data plane must not either.
func (s *State) forge(w *work, pid int, port uint16, query []byte) error {
	lie, err := dns.Forge(query, evilServer)
	if err != nil {
		return err
	}
	id := uint16(query[0])<<8 | uint16(query[1])
	wrong := dns.Renumber(lie, id+1+uint16(s.random.Intn(1000)))
	for _, try := range []struct {
		port   uint16
		packet []byte
	}{{port, wrong}, {port + 1, lie}, {port + 1, wrong}} {
		if _, err := w.node.kernel.Deliver(pid, clusterDNS, try.port, try.packet); err != nil {
			return err
		}
	}
	return nil
}

// heard looks at the answer that a workload gets: one from a server that nobody trusts, or
// to somebody who does not take part, must be as it was sent.
func (s *State) heard(w *work, from netip.Addr, addrs []netip.Addr) {
	told := from == rogueDNS || from == nodeDNS || w.config.Plain
	for _, a := range addrs {
		if told && a != evilServer && !s.names.ever[a] {
			s.breaks(answersAreAskedFor, fmt.Errorf("the answer of %s to Pod %s has the virtual IP %s", from, w.config.Name, a))
		}
	}
}
