package virtualip_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
)

// small has 16 pairs of addresses, for 12 hosts.
var small = virtualip.Config{
	V4: netip.MustParsePrefix("198.18.0.16/28"), Retention: time.Hour, Quarantine: 10 * time.Minute, Hosts: 12,
}

func table(t *testing.T, cfg virtualip.Config) *virtualip.Table {
	t.Helper()
	table, err := virtualip.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func use(t *testing.T, table *virtualip.Table, now time.Duration, hosts ...string) {
	t.Helper()
	if errs := table.Use(now, hosts); errs != nil {
		t.Fatal(errs)
	}
}

func states(table *virtualip.Table) (out []string) {
	for _, r := range table.Rows() {
		out = append(out, strings.TrimSpace(fmt.Sprint(r.V4, " ", r.State, " ", r.Host)))
	}
	return out
}

func never(virtualip.Row) bool  { return false }
func always(virtualip.Row) bool { return true }

// Section 3.3, allocation: edges of .0 and .255 are left out, both families at once.
func TestAllocation(t *testing.T) {
	vips := table(t, virtualip.Config{})
	use(t, vips, 0, "b.com", "a.com", "b.com")
	want := []virtualip.Row{
		{Host: "a.com", V4: netip.MustParseAddr("198.18.0.1"), V6: netip.MustParseAddr("fd6b:6c6f:616b::1"), State: virtualip.Used},
		{Host: "b.com", V4: netip.MustParseAddr("198.18.0.2"), V6: netip.MustParseAddr("fd6b:6c6f:616b::2"), State: virtualip.Used},
	}
	if diff := cmp.Diff(want, vips.Rows(), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var hosts []string
	for i := range 600 {
		hosts = append(hosts, fmt.Sprintf("h%d.com", i))
	}
	use(t, vips, 0, hosts...)
	for _, r := range vips.Rows() {
		if last := r.V4.As4()[3]; last == 0 || last == 255 {
			t.Errorf("%s has %s", r.Host, r.V4)
		}
	}
	if r, ok := vips.Addr(netip.MustParseAddr("fd6b:6c6f:616b::2")); !ok || r.Host != "b.com" {
		t.Errorf("%+v, %t", r, ok)
	}
	if r, ok := vips.Addr(netip.MustParseAddr("198.19.255.254")); ok {
		t.Errorf("a free address is of %+v", r)
	}
}

// Section 3.3, retention, and I7, row by row.
func TestLifeOfAnAddress(t *testing.T) {
	vips := table(t, small)
	step := func(row string, now time.Duration, referred func(virtualip.Row) bool, hosts []string, want ...string) {
		t.Helper()
		use(t, vips, now, hosts...)
		vips.Release(now, referred)
		if diff := cmp.Diff(want, states(vips)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row, diff)
		}
	}
	a, b := []string{"a.com"}, []string{"b.com"}
	step("a is used", 0, never, a, "198.18.0.17 used a.com")
	step("b is, a retains", time.Minute, never, b, "198.18.0.17 retained a.com", "198.18.0.18 used b.com")
	step("a is used again", time.Hour, never, []string{"a.com", "b.com"}, "198.18.0.17 used a.com", "198.18.0.18 used b.com")
	step("and retains again", time.Hour, never, b, "198.18.0.17 retained a.com", "198.18.0.18 used b.com")
	step("its retention is not over", 2*time.Hour-1, never, b, "198.18.0.17 retained a.com", "198.18.0.18 used b.com")
	step("a socket refers to it", 3*time.Hour, always, b, "198.18.0.17 retained a.com", "198.18.0.18 used b.com")
	step("no more", 4*time.Hour, never, b, "198.18.0.17 quarantined", "198.18.0.18 used b.com")
	step("a comes back, too late", 4*time.Hour+1, never, []string{"a.com", "b.com"},
		"198.18.0.17 quarantined", "198.18.0.18 used b.com", "198.18.0.19 used a.com")
	step("the quarantine is not over", 4*time.Hour+10*time.Minute-1, never, b,
		"198.18.0.17 quarantined", "198.18.0.18 used b.com", "198.18.0.19 retained a.com")
	step("it is", 4*time.Hour+10*time.Minute, never, b, "198.18.0.18 used b.com", "198.18.0.19 retained a.com")
	step("what was given back comes last", 5*time.Hour, never, []string{"b.com", "c.com"},
		"198.18.0.18 used b.com", "198.18.0.19 retained a.com", "198.18.0.20 used c.com")
}

// Section 3.7, S34: one host too many gets nothing, and the others keep what they have.
func TestTooManyHosts(t *testing.T) {
	vips := table(t, small)
	var hosts []string
	for i := range 12 {
		hosts = append(hosts, fmt.Sprintf("h%02d", i))
	}
	use(t, vips, 0, hosts...)
	before := states(vips)
	errs := vips.Use(0, append(hosts, "x.com"))
	if len(errs) != 1 || !errors.Is(errs[0], virtualip.ErrHosts) || !strings.Contains(errs[0].Error(), "x.com") {
		t.Error(errs)
	}
	if diff := cmp.Diff(before, states(vips)); diff != "" {
		t.Errorf("others have changed (-before +after):\n%s", diff)
	}
}

func TestExhausted(t *testing.T) {
	cfg := small
	cfg.Hosts = 100
	vips := table(t, cfg)
	var hosts []string
	for i := range 17 {
		hosts = append(hosts, fmt.Sprintf("h%02d", i))
	}
	if errs := vips.Use(0, hosts); len(errs) != 1 || !errors.Is(errs[0], virtualip.ErrExhausted) || len(vips.Rows()) != 16 {
		t.Error(errs, vips.Rows())
	}
}

// Section 3.3, persistence: what is restored, and what is not believed.
func TestRestore(t *testing.T) {
	v4, v6 := netip.MustParseAddr("198.18.0.17"), netip.MustParseAddr("fd6b:6c6f:616b::1")
	next4, next6 := v4.Next(), v6.Next()
	good := virtualip.Row{Host: "a.com", V4: v4, V6: v6, State: virtualip.Used}
	edit := func(f func(*virtualip.Row)) virtualip.Row { r := good; f(&r); return r }
	for _, tc := range []struct {
		row     string
		rows    []virtualip.Row
		want    []string
		dropped int
	}{
		{"a row", []virtualip.Row{good}, []string{"198.18.0.17 used a.com"}, 0},
		{"retained", []virtualip.Row{edit(func(r *virtualip.Row) { r.State = virtualip.Retained })}, []string{"198.18.0.17 retained a.com"}, 0},
		{"quarantined", []virtualip.Row{edit(func(r *virtualip.Row) { r.State, r.Host = virtualip.Quarantined, "" })}, []string{"198.18.0.17 quarantined"}, 0},
		{"no host", []virtualip.Row{edit(func(r *virtualip.Row) { r.Host = "" })}, []string{"198.18.0.17 quarantined"}, 1},
		{"a host in quarantine", []virtualip.Row{edit(func(r *virtualip.Row) { r.State = virtualip.Quarantined })}, []string{"198.18.0.17 quarantined"}, 1},
		{"no state", []virtualip.Row{edit(func(r *virtualip.Row) { r.State = "?" })}, []string{"198.18.0.17 quarantined"}, 1},
		{"one address for two hosts", []virtualip.Row{good, edit(func(r *virtualip.Row) { r.Host = "b.com" })}, []string{"198.18.0.17 quarantined"}, 2},
		{"two addresses for one host", []virtualip.Row{good, edit(func(r *virtualip.Row) { r.V4, r.V6 = next4, next6 })},
			[]string{"198.18.0.17 quarantined", "198.18.0.18 quarantined"}, 2},
		{"two families that are no pair", []virtualip.Row{edit(func(r *virtualip.Row) { r.V6 = next6 })}, []string{"198.18.0.17 quarantined", "198.18.0.18 quarantined"}, 1},
		{"two families of two rows", []virtualip.Row{good, edit(func(r *virtualip.Row) { r.Host, r.V4, r.V6 = "b.com", next4, v6 })},
			[]string{"198.18.0.17 quarantined", "198.18.0.18 quarantined"}, 2},
		{"outside the range", []virtualip.Row{edit(func(r *virtualip.Row) { r.V4 = netip.MustParseAddr("198.18.0.33") })}, []string{"198.18.0.17 quarantined"}, 1},
		{"nothing", []virtualip.Row{{}}, nil, 1},
	} {
		vips, dropped, err := virtualip.Restore(small, tc.rows, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, states(vips)); diff != "" || len(dropped) != tc.dropped {
			t.Errorf("%s: %v (-want +got):\n%s", tc.row, dropped, diff)
		}
		// No host gets an address that was in doubt.
		use(t, vips, 0, "new.com")
		r, _ := vips.Host("new.com")
		for _, old := range tc.rows {
			if r.V4 == old.V4 || r.V6 == old.V6 {
				t.Errorf("%s: new.com has %+v", tc.row, r)
			}
		}
		vips.Release(small.Retention+small.Quarantine-1, never)
		for _, want := range tc.want {
			if addr, _, _ := strings.Cut(want, " "); tc.dropped > 0 {
				if _, held := vips.Addr(netip.MustParseAddr(addr)); !held {
					t.Errorf("%s: %s is free too early", tc.row, addr)
				}
			}
		}
	}
}

func TestConfig(t *testing.T) {
	p := netip.MustParsePrefix
	for _, tc := range []struct {
		cfg  virtualip.Config
		want string
	}{
		{virtualip.Config{}, ""},
		{virtualip.Config{V4: p("10.0.0.0/31")}, "at least four"}, {virtualip.Config{V4: p("fd00::/64")}, "range of IPv4"},
		{virtualip.Config{V6: p("10.0.0.0/8")}, "range of IPv6"}, {virtualip.Config{V6: p("fd00::/112")}, "range of IPv6"},
		{virtualip.Config{Retention: time.Minute}, "shorter than 2m0s"}, {virtualip.Config{Hosts: -1}, "-1 hosts"},
	} {
		_, err := virtualip.New(tc.cfg)
		if tc.want == "" && err != nil || tc.want != "" && (!errors.Is(err, virtualip.ErrConfig) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: %v", tc.cfg, err)
		}
	}
	for taken, free := range map[string]bool{
		"0.0.0.0/0": true, "::/0": true, "10.0.0.0/8": true, "198.19.3.0/24": false, "198.0.0.0/8": false, "fd6b:6c6f:616b::/48": false, "198.18.0.1/32": false,
	} {
		if err := (virtualip.Config{}).CheckFree([]netip.Prefix{p(taken)}); (err == nil) != free {
			t.Errorf("%s: %v", taken, err)
		}
	}
}

// I7 under any history, restarts included: two hosts never share an address, an address
// has no new host while it is retained, quarantined or referred to, and a host keeps its
// address through retention and restarts.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		vips := table(t, small)
		now := time.Duration(0)
		last := map[netip.Addr]virtualip.Row{} // who had an address last
		since := map[netip.Addr]time.Duration{}
		names := []string{"a", "b", "c", "d", "e", "f"}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now += time.Duration(rapid.IntRange(0, 50).Draw(rt, "minutes")) * time.Minute
			socket := rapid.SampledFrom(names).Draw(rt, "socket")
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				restored, dropped, err := virtualip.Restore(small, vips.Rows(), now)
				if err != nil || dropped != nil || !slices.Equal(states(restored), states(vips)) {
					rt.Fatal(dropped, err, states(restored))
				}
				vips = restored
			case 1:
				vips.Release(now, func(r virtualip.Row) bool { return r.Host == socket })
			default:
				vips.Use(now, rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(rt, "hosts"))
			}
			taken := map[netip.Addr]string{}
			for _, r := range vips.Rows() {
				if other, shared := taken[r.V4]; shared {
					rt.Fatalf("%s is of %q and of %q", r.V4, other, r.Host)
				}
				taken[r.V4] = r.Host
				if r.Host == "" {
					continue
				}
				before := last[r.V4]
				if before.Host != "" && before.Host != r.Host && now-since[r.V4] < small.Retention+small.Quarantine {
					rt.Fatalf("%s goes from %s to %s after %s", r.V4, before.Host, r.Host, now-since[r.V4])
				}
				if before.Host != "" && before.Host != r.Host && before.ID() == r.ID() {
					rt.Fatalf("%s has the id of %s", r.Host, before.Host)
				}
				last[r.V4] = r
				if r.State == virtualip.Used {
					since[r.V4] = now
				}
			}
		}
	})
}
