package gossip

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestJoinMergesBothWays: after one exchange each side has the other's state.
func TestJoinMergesBothWays(t *testing.T) {
	w := newWorld(t)
	a, b := w.start(calm("a")), w.start(calm("b"))
	for n, friend := range map[*Node]string{a: "x", b: "y"} {
		n.alive(&Msg{Kind: MsgAlive, Node: w.id(friend), Inc: 1, Addr: w.Cluster.Addr(friend)}, false)
	}
	lines := wiretap(w)
	contacted := -1
	a.Join([]string{"b"}, func(n int, err error) {
		if contacted = n; err != nil {
			t.Error(err)
		}
	})
	w.RunUntil(time.Second, func() bool { return contacted >= 0 })
	if diff := cmp.Diff([]string{"0s a>b dial", "1ms b>a accept", "2ms a>b request", "3ms b>a response"}, *lines); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if contacted != 1 || w.views() != "a:abxy b:abxy" {
		t.Errorf("contacted %d, views %s", contacted, w.views())
	}
}

// TestJoinOfSeveral: in turn, and an error only if none worked.
func TestJoinOfSeveral(t *testing.T) {
	type result struct {
		Contacted int
		Err       string
		Took      time.Duration
	}
	for _, tc := range []struct {
		name  string
		peers []string
		want  result
	}{
		{"one of three", []string{"gone", "b", "cut"}, result{1, "", time.Second + 6*time.Millisecond}},
		{"none", []string{"gone", "cut"}, result{0, "joining gone: connection refused\njoining cut: i/o timeout", time.Second + 2*time.Millisecond}},
		{"nobody", nil, result{0, "", 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			a := w.start(calm("a"))
			w.start(calm("b"))
			w.start(calm("cut"))
			w.Links.Cut(w.Cluster.Addr("cut"), w.Cluster.Addr("a"))
			var got *result
			start := w.Now()
			a.Join(tc.peers, func(n int, err error) {
				got = &result{Contacted: n, Took: w.Now() - start}
				if err != nil {
					got.Err = err.Error()
				}
			})
			w.Run(10 * time.Second)
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneWayCutStopsStreams: a dial needs both directions, so nothing is merged
// at either end.
func TestOneWayCutStopsStreams(t *testing.T) {
	w := newWorld(t)
	a, b := w.start(calm("a")), w.start(calm("b"))
	w.Links.Cut(b.Addr(), a.Addr())
	var got error
	a.Join([]string{"b"}, func(_ int, err error) { got = err })
	w.Run(5 * time.Second)
	if !errors.Is(got, ErrTimeout) || w.views() != "a:a b:b" {
		t.Errorf("%v, views %s", got, w.views())
	}
}

// TestPeerDiesDuringAnExchange: the request finds another instance, or none.
func TestPeerDiesDuringAnExchange(t *testing.T) {
	for _, again := range []bool{false, true} {
		w := newWorld(t)
		a, b := w.start(calm("a")), w.start(calm("b"))
		var got error
		a.Join([]string{"b"}, func(_ int, err error) { got = err })
		w.Run(1500 * time.Microsecond) // b has accepted
		b.Crash()
		if again {
			w.start(calm("b"))
		}
		w.Run(5 * time.Second)
		if !errors.Is(got, ErrRefused) {
			t.Errorf("started again %v: %v, want a refusal", again, got)
		}
	}
}

// TestPushPullPeriod: after a stagger, one exchange per period with a random alive
// peer; the period runs from the end of the exchange.
func TestPushPullPeriod(t *testing.T) {
	w := cluster(t, 3, func(name string) Config {
		cfg := LocalConfig(name)
		cfg.ProbeInterval = 10 * time.Hour
		return cfg
	})
	var dials []time.Duration
	partners := map[Addr]bool{}
	w.Tap = func(e *Envelope) {
		if e.Step == StepDial && e.From == w.nodes["a"].Addr() {
			dials = append(dials, w.Now())
			partners[e.To] = true
		}
	}
	w.Run(10 * time.Minute)
	for i := 1; i < len(dials); i++ {
		if got := dials[i] - dials[i-1]; got != 15*time.Second+4*time.Millisecond {
			t.Errorf("period %v, want 15.004s", got)
		}
	}
	if len(dials) < 35 || len(partners) != 2 {
		t.Errorf("%d exchanges with %d partners", len(dials), len(partners))
	}
}

// TestPushPullSkipsSuspects: only the alive are asked; without any, the node waits
// another period.
func TestPushPullSkipsSuspects(t *testing.T) {
	w := newWorld(t)
	cfg := LocalConfig("a")
	cfg.ProbeInterval = 10 * time.Hour
	a := w.start(cfg)
	a.alive(&Msg{Kind: MsgAlive, Node: w.id("b"), Inc: 1, Addr: w.Cluster.Addr("b")}, false)
	a.suspect(&Msg{Kind: MsgSuspect, Node: w.id("b"), Inc: 1, From: a.ID()})
	w.Tap = func(e *Envelope) {
		if e.Stream {
			t.Errorf("dialled %s", w.Cluster.AddrName(e.To))
		}
	}
	w.Run(5 * time.Minute)
}

// TestPushPullRepairsMissedJoins: a join that gossip did not carry everywhere is
// made good by a push/pull.
func TestPushPullRepairsMissedJoins(t *testing.T) {
	w := cluster(t, 4, LocalConfig)
	d := w.nodes["d"]
	a := w.nodes["a"]
	*a.peer(d.ID()) = peer{}
	a.order = []NodeID{w.id("a"), w.id("b"), w.id("c")}
	a.next = 0
	if !w.RunUntil(35*time.Second, w.complete) {
		t.Errorf("views %s after two periods", w.views())
	}
}
