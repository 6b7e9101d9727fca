package port

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/gossip"
)

func addrOf(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), gossipkeys.Port)
}

func keys(t *testing.T, bs ...byte) gossipkeys.Keys {
	t.Helper()
	var ks gossipkeys.Keys
	for _, b := range bs {
		k, err := gossipkeys.NewKey(slices.Repeat([]byte{b}, 32))
		if err != nil {
			t.Fatal(err)
		}
		ks = append(ks, k)
	}
	return ks
}

// member is one process with its instance.
type member struct {
	*Gossip
	gossipkeys.Instance
	events []string
}

// start makes a member node-i on the lab.
func start(t *testing.T, lab *gossip.Lab, i int, ks gossipkeys.Keys) *member {
	t.Helper()
	m := &member{Gossip: &Gossip{Cluster: lab.Cluster, Addr: addrOf(i), Await: Drive(lab, time.Minute)}}
	inst, err := m.Gossip.Create(t.Context(), gossipkeys.InstanceOptions{
		Name: fmt.Sprintf("node-%d", i), Keys: ks, VerifyIncoming: true, VerifyOutgoing: true,
		OnEvent: func(ev gossipkeys.MemberEvent) {
			m.events = append(m.events, fmt.Sprintf("%s %s at %v", ev.Member.Name, ev.Kind, ev.Member.Addr))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Instance = inst
	return m
}

func peer(i int) gossipkeys.Peer {
	return gossipkeys.Peer{Name: fmt.Sprintf("node-%d", i), Addr: addrOf(i)}
}

// TestMembership goes once through the life of two members, by the ports alone.
func TestMembership(t *testing.T) {
	lab := gossip.NewLab(1)
	a, b := start(t, lab, 1, keys(t, 1)), start(t, lab, 2, keys(t, 1))
	if n, err := a.Join(t.Context(), []gossipkeys.Peer{peer(2)}); n != 1 || err != nil {
		t.Fatalf("join: %d, %v", n, err)
	}
	lab.Run(5 * time.Second)
	want := []gossipkeys.Member{{Name: "node-1", Addr: addrOf(1)}, {Name: "node-2", Addr: addrOf(2)}}
	got := b.Members()
	slices.SortFunc(got, func(x, y gossipkeys.Member) int { return x.Addr.Compare(y.Addr) })
	if diff := cmp.Diff(want, got, cmp.Comparer(func(x, y netip.AddrPort) bool { return x == y })); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if err := b.Leave(time.Second); err != nil {
		t.Errorf("leave: %v", err)
	}
	if err := b.Shutdown(); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	wantEvents := []string{
		"node-1 joined at 10.0.0.1:10351",
		"node-2 joined at 10.0.0.2:10351",
		"node-2 left at 10.0.0.2:10351",
	}
	if diff := cmp.Diff(wantEvents, a.events); diff != "" {
		t.Errorf("events at node-1 (-want +got):\n%s", diff)
	}
	if b.Members() != nil || b.Leave(0) == nil {
		t.Error("an instance that is down has members, or leaves")
	}
	if n, err := b.Join(t.Context(), []gossipkeys.Peer{peer(1)}); n != 0 || !errors.Is(err, gossip.ErrDown) {
		t.Errorf("join of an instance that is down: %d, %v", n, err)
	}
}

// TestKeysChangeLive: what ApplyKeys does to the ring counts from the next message.
func TestKeysChangeLive(t *testing.T) {
	lab := gossip.NewLab(1)
	var all []*member
	for i := 1; i <= 3; i++ {
		m := start(t, lab, i, keys(t, 1))
		for _, earlier := range all {
			if _, err := m.Join(t.Context(), []gossipkeys.Peer{{Name: earlier.Node().Name(), Addr: earlier.Addr}}); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, m)
	}
	lab.Run(30 * time.Second)
	lab.Events = nil
	for _, list := range []gossipkeys.Keys{keys(t, 1, 2), keys(t, 2, 1), keys(t, 2)} {
		for _, m := range all {
			if err := gossipkeys.ApplyKeys(m.Keyring(), list); err != nil {
				t.Fatal(err)
			}
			lab.Run(5 * time.Second)
		}
	}
	if len(lab.Events) != 0 {
		t.Errorf("a safe rotation is not without events: %v", lab.Events)
	}
	for _, m := range all {
		if shifts := m.Instance.(*Instance).Ring().Shifts(); shifts != 0 {
			t.Errorf("%d removals under a reader", shifts)
		}
	}
}

// TestJoinReportsEachFailure, counts the others, and stops when its context ends.
func TestJoinReportsEachFailure(t *testing.T) {
	lab := gossip.NewLab(1)
	a := start(t, lab, 1, keys(t, 1))
	start(t, lab, 2, keys(t, 1))
	n, err := a.Join(t.Context(), []gossipkeys.Peer{peer(9), peer(2), peer(8)})
	want := "join node-9: joining 10.0.0.9:10351: connection refused\njoin node-8: joining 10.0.0.8:10351: connection refused"
	if n != 1 || err == nil || err.Error() != want {
		t.Errorf("join: %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := a.Join(ctx, []gossipkeys.Peer{peer(2)}); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("join with an ended context: %d, %v", n, err)
	}
	if _, err := a.Gossip.Create(ctx, gossipkeys.InstanceOptions{Name: "x", Keys: keys(t, 1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("create with an ended context: %v", err)
	}
}

func TestCreateNeedsKeysAndItsAddress(t *testing.T) {
	lab := gossip.NewLab(1)
	g := &Gossip{Cluster: lab.Cluster, Addr: addrOf(1), Await: Drive(lab, time.Minute)}
	g.Crash() // nothing to crash yet
	if _, err := g.Create(t.Context(), gossipkeys.InstanceOptions{Name: "node-1"}); !errors.Is(err, gossipkeys.ErrNoKeys) {
		t.Errorf("create without keys: %v", err)
	}
	opts := gossipkeys.InstanceOptions{Name: "node-1", Keys: keys(t, 1)}
	if _, err := g.Create(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Create(t.Context(), opts); err == nil {
		t.Error("two instances on one address")
	}
	g.Crash()
	if _, err := g.Create(t.Context(), opts); err != nil {
		t.Errorf("after a crash: %v", err)
	}
}

// TestDriveGivesUp: a wait that does not end is an error, not a hang.
func TestDriveGivesUp(t *testing.T) {
	lab := gossip.NewLab(1)
	err := Drive(lab, time.Minute)(t.Context(), "the end of days", func(func()) {})
	if !errors.Is(err, ErrStuck) || lab.Now() != time.Minute {
		t.Errorf("%v at %v", err, lab.Now())
	}
}
