package kernel_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seedbed-sim/seedbed/core/cloak/answers"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/fakes/dns"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
)

// port is that of a process that asks.
const port = 40000

var evil = netip.MustParseAddr("198.51.100.66")

func never() bool { return false }

// question is a query as a process makes it.
func question(t fatal, id uint16, name string) []byte {
	t.Helper()
	q, err := (&dns.Resolver{}).Query(id, name, dns.IPv4, never)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// truth is the answer to a query.
func truth(t fatal, q []byte) []byte { return says(t, q, real1) }

func says(t fatal, q []byte, addrs ...netip.Addr) []byte {
	t.Helper()
	a, err := dns.Forge(q, addrs...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func read(t fatal, q, a []byte) []netip.Addr {
	t.Helper()
	addrs, err := (&dns.Resolver{}).Read(q, a)
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

// I8, S4, S14, S16 and S17: which answers are rewritten, and believed.
func TestAnswers(t *testing.T) {
	other := netip.MustParseAddr("10.1.0.9")
	for _, tc := range []struct {
		row    string
		before func(t *testing.T, n *node)
		from   netip.Addr
		port   uint16
		id     uint16
		name   string
		want   bool
	}{
		{row: "a trusted server", want: true},
		{row: "another server", from: other},
		{row: "no query has this number", id: 8},
		{row: "no query left from this port", port: port + 1},
		{row: "another host", name: "b.com"},
		{row: "a Pod that is not bound", before: func(t *testing.T, n *node) { n.must(t, n.UnbindPod(n.ctx, podIP, "uid")) }},
		{row: "a server that was trusted when it was asked", before: func(t *testing.T, n *node) { n.must(t, n.SetTrusted(n.ctx, nil)) }, want: true},
		{row: "nothing is attached", before: func(_ *testing.T, n *node) { n.Lose(n.netns) }},
		{row: "the host is not used", before: func(t *testing.T, n *node) { n.must(t, n.StoreVIPs(n.ctx, nil)) }},
		{row: "it took too long", before: func(_ *testing.T, n *node) { n.now += 11 * time.Second }},
	} {
		n := newNode(t)
		q := question(t, 7, "a.com")
		n.must(t, n.Ask(n.pid, server, port, q))
		if tc.before != nil {
			tc.before(t, n)
		}
		from, to, id, name := server, uint16(port), uint16(7), "a.com"
		if tc.from.IsValid() {
			from = tc.from
		}
		if tc.port != 0 {
			to = tc.port
		}
		if tc.id != 0 {
			id = tc.id
		}
		if tc.name != "" {
			name = tc.name
		}
		asked := question(t, id, name)
		a, err := n.Deliver(n.pid, from, to, says(t, asked, evil))
		n.must(t, err)
		if got := read(t, asked, a)[0]; (got == row.V4) != tc.want || !tc.want && got != evil {
			t.Errorf("%s: %v", tc.row, got)
		}
		if _, err := n.Connect(kernel.Dial{PID: n.pid, Destination: netip.AddrPortFrom(row.V4, 443)}); (err == nil) != tc.want && tc.row != "the host is not used" {
			t.Errorf("%s: what it said is believed", tc.row)
		}
		// One answer to each query.
		again, err := n.Deliver(n.pid, from, to, says(t, asked, evil))
		n.must(t, err)
		if got := read(t, asked, again)[0]; got != evil {
			t.Errorf("%s: a second answer is rewritten to %v", tc.row, got)
		}
	}
}

// S19 and section 3.3: which real address a connection goes to.
func TestRealAddresses(t *testing.T) {
	n := newNode(t)
	q := question(t, 7, "a.com")
	hear := func(addrs ...netip.Addr) {
		n.must(t, n.Ask(n.pid, server, port, q))
		_, err := n.Deliver(n.pid, server, port, says(t, q, addrs...))
		n.must(t, err)
	}
	goes := func() netip.Addr {
		s, err := n.Connect(kernel.Dial{PID: n.pid, Destination: netip.AddrPortFrom(row.V4, 443), ServerName: "a.com", Master: master})
		n.must(t, err)
		return s.Remote().Addr()
	}
	real2 := netip.MustParseAddr("203.0.113.2")
	hear(real1, real2)
	first := goes()
	for range 4 {
		if again := goes(); again != first {
			t.Errorf("from %v to %v within ten seconds", first, again)
		}
	}
	seen := map[netip.Addr]bool{}
	for range 8 {
		n.now += 11 * time.Second
		seen[goes()] = true
	}
	if len(seen) != 2 {
		t.Errorf("only %v are used", seen)
	}
	// Forge says that an answer is good for an hour.
	n.now += 2 * time.Hour
	if got := goes(); !seen[got] || n.Count("vip_stale") == 0 {
		t.Errorf("past their time, connections go to %v", got)
	}
	fresh := netip.MustParseAddr("203.0.113.3")
	hear(fresh)
	if got := goes(); got != fresh {
		t.Errorf("with a fresh address, connections go to %v", got)
	}
	var many []netip.Addr
	for i := range 20 {
		many = append(many, netip.MustParseAddr(fmt.Sprintf("203.0.113.%d", 100+i)))
	}
	hear(many...)
	n.now += 11 * time.Second
	if got := goes(); got == fresh {
		t.Error("more addresses are kept than there is room for")
	}
	n.must(t, n.StoreVIPs(n.ctx, []virtualip.Row{row}))
	six := kernel.Dial{PID: n.pid, Destination: netip.AddrPortFrom(row.V6, 443), ServerName: "a.com", Master: master}
	if _, err := n.Connect(six); err == nil || n.Count("vip_no_real") != 1 {
		t.Errorf("a host without addresses of IPv6 is reached: %v", err)
	}
}

// A process that is gone asks nothing and hears nothing.
func TestAskOfNobody(t *testing.T) {
	n := newNode(t)
	n.Exit(n.pid)
	q := question(t, 7, "a.com")
	_, err := n.Deliver(n.pid, server, port, truth(t, q))
	if err := errors.Join(n.Ask(n.pid, server, port, q), err); err == nil {
		t.Error("there is no error")
	}
	m := newNode(t)
	if got, err := m.Deliver(m.pid, server, port, []byte("?")); err != nil || cmp.Diff([]byte("?"), got) != "" || m.Count("dns_unparsed") != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

// S19: the data plane says which hosts want addresses, and takes those that the agent has
// found.
func TestHostsThatWantAddresses(t *testing.T) {
	n := newNode(t)
	dial := func() (netip.Addr, error) {
		s, err := n.Connect(kernel.Dial{PID: n.pid, Destination: netip.AddrPortFrom(row.V4, 443), ServerName: "a.com", Master: master})
		if err != nil {
			return netip.Addr{}, err
		}
		return s.Remote().Addr(), nil
	}
	wants := func(when string, want ...virtualip.Row) {
		t.Helper()
		got, err := n.Expired(n.ctx)
		n.must(t, err)
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", when, diff)
		}
	}
	wants("nobody has connected")
	if _, err := dial(); err == nil {
		t.Error("a host without addresses is reached")
	}
	wants("somebody has", row)
	n.must(t, n.Learn(n.ctx, row.ID(), []answers.Real{{Addr: real1, TTL: time.Minute}}))
	wants("the agent has asked")
	if got, err := dial(); err != nil || got != real1 {
		t.Errorf("connections go to %v, %v", got, err)
	}
	n.now += time.Hour
	wants("all is past its time, and nobody connects")
	if got, err := dial(); err != nil || got != real1 {
		t.Errorf("past its time, connections go to %v, %v", got, err)
	}
	wants("all is past its time", row)
	retained := row
	retained.State = virtualip.Retained
	n.must(t, n.StoreVIPs(n.ctx, []virtualip.Row{retained}))
	wants("nobody needs the host")
	n.must(t, n.Learn(n.ctx, row.ID(), []answers.Real{{Addr: evil, TTL: time.Hour}}))
	if got, err := dial(); err != nil || got != real1 {
		t.Errorf("a host that nobody needs has learnt: %v, %v", got, err)
	}
}
