package refresh_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/cloak/answers"
	"github.com/seedbed-sim/seedbed/core/cloak/refresh"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/fakes/dns"
)

var (
	first  = netip.MustParseAddr("10.0.0.53")
	second = netip.MustParseAddr("10.1.0.53")
	third  = netip.MustParseAddr("10.1.0.54")
	fourth = netip.MustParseAddr("10.1.0.55")

	real4 = netip.MustParseAddr("203.0.113.1")
	real6 = netip.MustParseAddr("2001:db8::1")

	both   = virtualip.Row{Host: "a.example.com", V4: netip.MustParseAddr("198.18.0.1"), V6: netip.MustParseAddr("fd6b:6c6f:616b::1"), State: virtualip.Used}
	onlyV4 = virtualip.Row{Host: "b.example.com", V4: netip.MustParseAddr("198.18.0.2"), State: virtualip.Used}

	errSilent = errors.New("silent")
	errMap    = errors.New("map")
)

// world is a data plane that wants addresses, and DNS servers on one zone.
type world struct {
	zone    dns.Zone
	expired []virtualip.Row
	planeIs error
	silent  []netip.Addr
	spoils  func(answer []byte) []byte
	asked   []netip.Addr
	learnt  []string
	nights
}

// nights is a clock by which somebody may sleep so many times.
type nights struct {
	clock.Clock
	left int
	ends error
}

func (n *nights) Sleep(_ context.Context, d time.Duration) error {
	if d != refresh.Period || n.left == 0 {
		return n.ends
	}
	n.left--
	return nil
}

func newWorld() *world {
	w := &world{expired: []virtualip.Row{both, onlyV4}}
	w.zone.Set(both.Host, dns.Simple(real4, real6))
	w.zone.Set(onlyV4.Host, dns.Simple(real4))
	return w
}

func (w *world) SetTrusted(context.Context, []netip.Addr) error { return nil }

func (w *world) Expired(context.Context) ([]virtualip.Row, error) { return w.expired, w.planeIs }

func (w *world) Learn(_ context.Context, host uint64, real []answers.Real) error {
	for _, row := range []virtualip.Row{both, onlyV4} {
		if row.ID() == host {
			for _, r := range real {
				w.learnt = append(w.learnt, fmt.Sprint(row.Host, " ", r.Addr))
			}
		}
	}
	return nil
}

func (w *world) Exchange(_ context.Context, server netip.Addr, query []byte) ([]byte, error) {
	w.asked = append(w.asked, server)
	if slices.Contains(w.silent, server) {
		return nil, errSilent
	}
	all, err := (&dns.Server{Addr: server, Zone: &w.zone}).Answer(query)
	if err != nil {
		return nil, err
	}
	if w.spoils != nil {
		return w.spoils(all[0]), nil
	}
	return all[0], nil
}

// numbers are drawn from it.
type numbers byte

func (n *numbers) Read(b []byte) (int, error) {
	for i := range b {
		*n++
		b[i] = byte(*n)
	}
	return len(b), nil
}

func (w *world) refresher(servers ...netip.Addr) *refresh.Refresher {
	r := refresh.New(refresh.Config{Plane: w, Exchanger: w, Clock: &w.nights, Entropy: new(numbers), Log: logr.Discard()})
	r.Trust(servers)
	return r
}

var all = []string{"a.example.com " + real4.String(), "a.example.com " + real6.String(), "b.example.com " + real4.String()}

// S19: the agent asks in place of Pods that do not.
func TestRefresh(t *testing.T) {
	for _, tc := range []struct {
		row    string
		edit   func(*world)
		learnt []string
		failed string // what the error says, if there is one
	}{
		{"all is well", func(*world) {}, all, ""},
		{"nothing is past its time", func(w *world) { w.expired = nil }, nil, ""},
		{"the data plane fails", func(w *world) { w.planeIs = errMap }, nil, "map"},
		{"the first server is silent", func(w *world) { w.silent = []netip.Addr{first} }, all, ""},
		{"three are", func(w *world) { w.silent = []netip.Addr{first, second, third} }, nil, "host b.example.com: ask 10.0.0.53: silent"},
		{"a host is gone", func(w *world) { w.zone = dns.Zone{}; w.zone.Set(onlyV4.Host, dns.Simple(real4)) }, all[2:], "host a.example.com"},
		{"the answer is to another query", func(w *world) { w.spoils = func(a []byte) []byte { return dns.Renumber(a, 1) } }, nil, "not the answer"},
		{"the answer is cut short", func(w *world) { w.spoils = func(a []byte) []byte { a[2] |= 2; return a } }, nil, "not the answer"},
		{"the answer is noise", func(w *world) { w.spoils = func(a []byte) []byte { return a[:20] } }, nil, "not understood"},
	} {
		w := newWorld()
		tc.edit(w)
		err := w.refresher(first, second, third, fourth).Refresh(t.Context())
		if diff := cmp.Diff(tc.learnt, w.learnt); diff != "" {
			t.Errorf("%s: learnt (-want +got)\n%s", tc.row, diff)
		}
		if (err != nil) != (tc.failed != "") || err != nil && !strings.Contains(err.Error(), tc.failed) {
			t.Errorf("%s: %v, want %q", tc.row, err, tc.failed)
		}
		if slices.Contains(w.asked, fourth) {
			t.Errorf("%s: four servers are asked about one host", tc.row)
		}
	}
}

// I8: without anybody to trust, nobody is asked.
func TestNobodyIsTrusted(t *testing.T) {
	w := newWorld()
	r := w.refresher(first)
	r.Trust(nil)
	if err := r.Refresh(t.Context()); err == nil || len(w.asked)+len(w.learnt) > 0 {
		t.Errorf("%v, asked %v, learnt %v", err, w.asked, w.learnt)
	}
}

// A server that lies is not seen through, which is why only trusted ones are asked; but
// what it says of another kind than asked does not count.
func TestOnlyWhatWasAskedFor(t *testing.T) {
	w := newWorld()
	w.expired = []virtualip.Row{onlyV4}
	w.zone.Set(onlyV4.Host, dns.Simple(real6))
	if err := w.refresher(first).Refresh(t.Context()); err != nil || len(w.learnt) > 0 {
		t.Errorf("%v, learnt %v", err, w.learnt)
	}
}

func TestRun(t *testing.T) {
	w := newWorld()
	w.nights = nights{left: 2, ends: context.Canceled}
	if err := w.refresher(first).Run(t.Context()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := len(w.learnt); got != 2*len(all) {
		t.Errorf("in two periods, learnt %d times, want %d", got, 2*len(all))
	}
}
