package dns_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/seedbed-sim/seedbed/fakes/dns"
)

var (
	one  = netip.MustParseAddr("203.0.113.1")
	two  = netip.MustParseAddr("203.0.113.2")
	six  = netip.MustParseAddr("2001:db8::1")
	evil = netip.MustParseAddr("198.51.100.66")
)

func zone() *dns.Zone {
	z := &dns.Zone{}
	z.Set("a.com", dns.Simple(one, two, six))
	z.Set("b.com", dns.Record{Alias: "a.cdn.net", Addrs: []netip.Addr{one}, TTL: time.Hour, Services: true})
	return z
}

func never() bool  { return false }
func always() bool { return true }

// ask puts a query to a server, and returns what the resolver reads in the first answer.
func ask(t *testing.T, r *dns.Resolver, s *dns.Server, name string, family dns.Family, odd func() bool) ([]netip.Addr, error) {
	t.Helper()
	q, err := r.Query(5, name, family, odd)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Answer(q)
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return r.Read(q, all[0])
}

func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		family dns.Family
		odd    func() bool
		lie    []netip.Addr
		want   []netip.Addr
	}{
		{"a.com", dns.IPv4, never, nil, []netip.Addr{one, two}},
		{"a.com", dns.IPv4, always, nil, []netip.Addr{one, two}},
		{"a.com", dns.IPv6, never, nil, []netip.Addr{six}},
		{"b.com", dns.IPv4, never, nil, []netip.Addr{one}},
		{"b.com", dns.IPv6, never, nil, nil},
		{"b.com", dns.Services, never, nil, []netip.Addr{one}},
		{"a.com", dns.Services, never, nil, nil},
		{"c.com", dns.IPv4, never, nil, nil},
		{"c.com", dns.IPv4, never, []netip.Addr{evil}, []netip.Addr{evil}},
	} {
		got, err := ask(t, &dns.Resolver{}, &dns.Server{Zone: zone(), Lie: tc.lie}, tc.name, tc.family, tc.odd)
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" || errors.Is(err, dns.ErrNoAddress) != (tc.want == nil) {
			t.Errorf("%s %d: %v (-want +got):\n%s", tc.name, tc.family, err, diff)
		}
	}
}

// What a server does that fails, and what a resolver does with what is not for it.
func TestDownAndOther(t *testing.T) {
	r := &dns.Resolver{}
	q, err := r.Query(5, "a.com", dns.IPv4, never)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := (&dns.Server{Zone: zone(), Down: true}).Answer(q); len(all) != 0 || err != nil {
		t.Error(all, err)
	}
	if _, err := (&dns.Server{Zone: zone()}).Answer([]byte("?")); err == nil {
		t.Error("there is an answer to no query")
	}
	all, err := (&dns.Server{Zone: zone(), Doubly: true}).Answer(q)
	if len(all) != 2 || err != nil {
		t.Fatal(all, err)
	}
	forged, err := dns.Forge(q, evil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(q, dns.Renumber(forged, 6)); !errors.Is(err, dns.ErrOther) {
		t.Error(err)
	}
	upper, err := r.Query(5, "a.com", dns.IPv4, always)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(upper, forged); !errors.Is(err, dns.ErrOther) {
		t.Errorf("an answer in another case of letters: %v", err)
	}
	if got, err := r.Read(q, forged); err != nil || got[0] != evil {
		t.Errorf("who guesses all of it is believed: %v, %v", got, err)
	}
}

// Some applications keep an address for ever.
func TestForever(t *testing.T) {
	r := &dns.Resolver{Forever: true}
	if _, err := ask(t, r, &dns.Server{Zone: zone()}, "a.com", dns.IPv4, always); err != nil {
		t.Fatal(err)
	}
	if kept, ok := r.Kept("A.com"); !ok || kept[0] != one {
		t.Error(kept, ok)
	}
	if _, ok := (&dns.Resolver{}).Kept("a.com"); ok {
		t.Error("it keeps what it has never had")
	}
}

// FuzzAnswer makes sure that any query is answered by what can be read, or refused.
func FuzzAnswer(f *testing.F) {
	q, err := (&dns.Resolver{}).Query(1, "a.com", dns.IPv4, never)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(q)
	f.Fuzz(func(t *testing.T, query []byte) {
		all, err := (&dns.Server{Zone: zone()}).Answer(query)
		if err != nil {
			return
		}
		for _, a := range all {
			var m dnsmessage.Message
			if err := m.Unpack(a); err != nil {
				t.Error(err)
			}
		}
	})
}
