package gossip

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// probing is LocalConfig without push/pull.
func probing(name string) Config {
	cfg := LocalConfig(name)
	cfg.PushPullInterval = 10 * time.Hour
	return cfg
}

var kindNames = map[MsgKind]string{
	MsgPing: "ping", MsgIndirectPing: "ask", MsgAck: "ack", MsgNack: "nack", MsgSuspect: "suspect",
	MsgAlive: "alive", MsgDead: "dead", MsgPushPull: "push/pull", MsgError: "error",
}

var stepNames = map[Step]string{
	StepDial: "dial", StepAccept: "accept", StepRefuse: "refuse", StepClose: "close",
	StepRequest: "request", StepResponse: "response",
}

// wiretap records what is sent, as "+200ms a>b ask", relative to the first.
func wiretap(w *world) *[]string {
	var lines []string
	start := time.Duration(-1)
	w.Tap = func(e *Envelope) {
		if start < 0 {
			start = w.Now()
		}
		text := kindNames[e.Head.Kind]
		if e.Stream {
			text = stepNames[e.Step]
		}
		for i := range e.Rest {
			text += "+" + kindNames[e.Rest[i].Kind]
		}
		lines = append(lines, fmt.Sprintf("%v %s>%s %s", w.Now()-start, w.Cluster.AddrName(e.From), w.Cluster.AddrName(e.To), text))
	}
	return &lines
}

// hush stops a node's probes for the rest of the test.
func hush(nodes ...*Node) {
	for _, n := range nodes {
		n.probe.running = true
		n.probe.seq = ^uint32(0)
		n.probe.timer = n.after(1000*time.Hour, func(any) {}, nil)
	}
}

// round makes a probe b, alone, and returns what was sent until it was over. A
// tick missed meanwhile may start another at that moment; it does not count.
func round(t *testing.T, w *world) []string {
	t.Helper()
	for _, n := range w.nodes {
		hush(n)
	}
	a := w.nodes["a"]
	lines := wiretap(w)
	a.probe.timer.Cancel()
	a.probe.running = false
	a.probeNode(w.id("b"))
	seq := a.probe.seq
	over := func() bool { return !a.probe.running || a.probe.seq != seq }
	end := a.probe.end
	if !w.RunUntil(time.Minute, over) {
		t.Fatal("the round did not end in a minute")
	}
	got := *lines
	if w.Now() == end && a.probe.running {
		got = got[:len(got)-1] // the ping of the next round
	}
	w.Tap = nil
	return got
}

func TestRoundOfAHealthyPair(t *testing.T) {
	w := cluster(t, 3, probing)
	w.nodes["a"].score = 2
	want := []string{"0s a>b ping", "1ms b>a ack"}
	if diff := cmp.Diff(want, round(t, w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.Events != nil || w.nodes["a"].HealthScore() != 1 {
		t.Errorf("events %v, health score %d, want 1", w.story(), w.nodes["a"].HealthScore())
	}
}

// TestRoundThroughAHelper: the direct link is cut, for packets and streams.
func TestRoundThroughAHelper(t *testing.T) {
	w := cluster(t, 3, probing)
	w.Links.Cut(w.Cluster.Addr("a"), w.Cluster.Addr("b"))
	want := []string{
		"0s a>b ping",
		"200ms a>c ask", "200ms a>b dial",
		"201ms c>b ping", "202ms b>c ack", "203ms c>a ack",
	}
	if diff := cmp.Diff(want, round(t, w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.Events != nil {
		t.Errorf("events %v", w.story())
	}
}

// TestRoundOverAStream: packets to b are lost, streams get through. The round
// counts as a success, but only at its end.
func TestRoundOverAStream(t *testing.T) {
	w := cluster(t, 2, probing)
	w.nodes["a"].score = 2
	b := w.Cluster.Addr("b")
	w.Fail = func(e *Envelope) error {
		if e.To == b && !e.Stream {
			e.To = w.Cluster.Addr("nowhere")
		}
		return nil
	}
	start := w.Now()
	want := []string{
		"0s a>b ping",
		"200ms a>b dial", "201ms b>a accept", "202ms a>b request", "203ms b>a response",
	}
	if diff := cmp.Diff(want, round(t, w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if took := w.Now() - start; took != 3*time.Second || w.Events != nil || w.nodes["a"].HealthScore() != 1 {
		t.Errorf("took %v, events %v, health score %d", took, w.story(), w.nodes["a"].HealthScore())
	}
}

// TestRoundOfADeadTarget: the helper's nack says that a itself is fine.
func TestRoundOfADeadTarget(t *testing.T) {
	w := cluster(t, 3, probing)
	w.nodes["b"].Crash()
	w.Events = nil
	want := []string{
		"0s a>b ping",
		"200ms a>c ask", "200ms a>b dial", "201ms b>a refuse", "201ms c>b ping",
		"401ms c>a nack",
	}
	got := round(t, w)
	if len(got) < len(want) {
		t.Fatalf("sent %v", got)
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a suspect b (by a)"}, w.story()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.nodes["a"].HealthScore() != 0 {
		t.Errorf("health score %d, want 0", w.nodes["a"].HealthScore())
	}
}

// TestHealth: what a failed round says about the prober itself.
func TestHealth(t *testing.T) {
	for _, tc := range []struct {
		name   string
		nodes  int
		config func(string) Config
		deaf   bool // a receives nothing at all
		want   int
	}{
		{"nobody to ask", 2, probing, false, 1},
		{"the helper confirms", 3, probing, false, 0},
		{"the helper is silent", 3, probing, true, 1},
		{"three helpers are silent", 5, LANConfig, true, 3},
		{"lan: nacks come a moment too late", 5, LANConfig, false, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := cluster(t, tc.nodes, tc.config)
			w.nodes["b"].Crash()
			if tc.deaf {
				for _, n := range w.nodes {
					w.Links.Cut(n.Addr(), w.nodes["a"].Addr())
				}
			}
			start := w.Now()
			round(t, w)
			if got := w.nodes["a"].HealthScore(); got != tc.want || w.Now()-start != time.Second {
				t.Errorf("health score %d after %v, want %d after 1s", got, w.Now()-start, tc.want)
			}
			// The score stretches the next round.
			start = w.Now()
			round(t, w)
			if got, want := w.Now()-start, time.Duration(tc.want+1)*time.Second; got != want {
				t.Errorf("the next round took %v, want %v", got, want)
			}
		})
	}
}

func TestHealthHasBounds(t *testing.T) {
	w := newWorld(t)
	a := w.start(calm("a"))
	a.credit(-1)
	if a.HealthScore() != 0 {
		t.Errorf("score %d below zero", a.HealthScore())
	}
	for range 20 {
		a.credit(+3)
	}
	if a.HealthScore() != 7 {
		t.Errorf("score %d, want 7", a.HealthScore())
	}
}

// TestASuspectHearsTheAccusation: it comes with the ping and is refuted.
func TestASuspectHearsTheAccusation(t *testing.T) {
	w := cluster(t, 3, probing)
	w.nodes["a"].suspect(&Msg{Kind: MsgSuspect, Node: w.id("b"), Inc: w.nodes["b"].Incarnation(), From: w.id("c")})
	w.Events = nil
	got := round(t, w)
	if got[0] != "0s a>b ping+suspect" {
		t.Errorf("sent %v", got)
	}
	w.Run(time.Second)
	if state, _, _ := w.nodes["a"].Opinion(w.id("b")); state != Alive {
		t.Errorf("b is %v to a, want alive; %v", state, w.story())
	}
}

// TestSendErrors: an unreachable destination is the target's fault, any other
// error is the prober's own, and then nobody is suspected.
func TestSendErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want []string
		sent []string
	}{
		{
			"unreachable: on to the second half at once", fmt.Errorf("host b: %w", ErrUnreachable),
			[]string{"a suspect b (by a)"},
			[]string{"0s a>b ping", "0s a>c ask", "0s a>b dial"},
		},
		{"any other: the round is over", errors.New("no route to host"), nil, []string{"0s a>b ping"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := cluster(t, 3, probing)
			w.nodes["b"].Crash()
			w.Events = nil
			b := w.Cluster.Addr("b")
			w.Fail = func(e *Envelope) error {
				if e.To == b {
					return tc.err
				}
				return nil
			}
			got := round(t, w)
			if diff := cmp.Diff(tc.sent, got[:min(len(got), len(tc.sent))]); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, w.story()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMissedTicks: of the ticks during a long round one is kept, and its round
// begins when the long one ends.
func TestMissedTicks(t *testing.T) {
	w := cluster(t, 2, probing)
	a := w.nodes["a"]
	a.score = 3
	hush(w.nodes["b"])
	w.nodes["b"].Crash()
	w.RunUntil(2*time.Second, func() bool { return a.probe.running })
	began, first := w.Now(), a.probe.seq
	w.RunUntil(time.Minute, func() bool { return a.probe.seq != first })
	if got := w.Now() - began; got != 4*time.Second {
		t.Errorf("the next round began after %v, want 4s", got)
	}
	if a.probe.missed {
		t.Error("more than one tick was kept")
	}
}

// TestCoincidentTickIsLost: a long round ends just as a tick is due. One tick is
// kept from its course, so that one is lost: there is one round at once, and the
// next an interval later.
func TestCoincidentTickIsLost(t *testing.T) {
	w := cluster(t, 3, probing)
	a := w.nodes["a"]
	hush(w.nodes["b"], w.nodes["c"])
	w.RunUntil(10*time.Second, func() bool { return a.probe.running && a.probe.target == w.id("b") })
	w.Run(100 * time.Millisecond) // answered
	a.score = 2
	a.next = 0
	a.order = []NodeID{w.id("b"), w.id("c"), w.id("a")}
	w.Links.Partition([]Addr{w.Cluster.Addr("b")})
	var begun []time.Duration
	seq := a.probe.seq
	w.Tap = func(e *Envelope) {
		if e.Head.Kind == MsgPing && !e.Stream && e.From == a.Addr() && e.Head.Seq != seq {
			seq = e.Head.Seq
			begun = append(begun, w.Now())
		}
	}
	w.RunUntil(time.Minute, func() bool { return len(begun) == 3 })
	want := []time.Duration{3 * time.Second, time.Second}
	got := []time.Duration{begun[1] - begun[0], begun[2] - begun[1]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("between rounds (-want +got):\n%s", diff)
	}
}

// TestProbeOrder: everybody is probed once per trip through the list, and the list
// is shuffled at its end.
func TestProbeOrder(t *testing.T) {
	w := cluster(t, 6, probing)
	var targets []string
	w.Tap = func(e *Envelope) {
		if e.Head.Kind == MsgPing && !e.Stream && e.From == w.nodes["a"].Addr() {
			targets = append(targets, w.Cluster.AddrName(e.To))
		}
	}
	w.RunUntil(time.Minute, func() bool { return w.nodes["a"].next == len(w.nodes["a"].order) })
	targets = nil
	orders := map[string]bool{}
	for range 8 {
		w.RunUntil(time.Minute, func() bool { return len(targets) == 5 })
		seen := map[string]bool{}
		order := ""
		for _, name := range targets {
			seen[name] = true
			order += name
		}
		if len(seen) != 5 {
			t.Errorf("a trip probed %v", targets)
		}
		orders[order] = true
		targets = nil
	}
	if len(orders) < 3 {
		t.Errorf("8 trips in only %d orders", len(orders))
	}
}

// TestAPingForAnotherIsIgnored: an address may have a new owner.
func TestAPingForAnotherIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.start(calm("a"))
	lines := wiretap(w)
	w.inject("a", Msg{Kind: MsgPing, Node: w.id("former"), Reply: w.Cluster.Addr("x")})
	if len(*lines) != 0 {
		t.Errorf("sent %v", *lines)
	}
}

// TestPipesOfRelays: a late ack of a relayed ping is not passed on.
func TestLateRelayedAck(t *testing.T) {
	w := newWorld(t)
	a := w.start(calm("a"))
	lines := wiretap(w)
	w.inject("a", Msg{Kind: MsgIndirectPing, Node: w.id("b"), Addr: w.Cluster.Addr("b"), Reply: w.Cluster.Addr("x"), Seq: 3})
	seq := a.relays[0].seq
	w.Run(time.Second)
	w.inject("a", Msg{Kind: MsgAck, Seq: seq})
	want := []string{"0s a>b ping+alive", "200ms a>x nack+alive"}
	if diff := cmp.Diff(want, *lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
