package gossip

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCreateRefuses(t *testing.T) {
	w := newWorld(t)
	w.start(calm("a"))
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no name":        {func(c *Config) { c.Name = "" }, "creating a gossip instance: the node needs a name"},
		"address in use": {func(c *Config) { c.Addr = "a" }, "creating gossip instance b: address a is already in use"},
		"long label":     {func(c *Config) { c.Label = string(make([]byte, 256)) }, ""},
		"no intervals":   {func(c *Config) { c.ProbeInterval = 0 }, "creating gossip instance b: probe, gossip and push/pull intervals must be positive"},
	} {
		cfg := calm("b")
		tc.change(&cfg)
		_, err := w.Cluster.Create(cfg)
		if err == nil || (tc.want != "" && err.Error() != tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCrashIsNoticed: all others list the node no more, for lack of answers.
func TestCrashIsNoticed(t *testing.T) {
	w := cluster(t, 4, LocalConfig)
	w.nodes["d"].Crash()
	w.Run(30 * time.Second)
	if got := w.views(); got != "a:abc b:abc c:abc" {
		t.Errorf("views %s", got)
	}
	if w.Events[0].Kind != EventDown || w.Events[0].Reason != DownCrash {
		t.Errorf("first event %v", w.story()[0])
	}
}

// TestLeave: all others hear of it by gossip, as a good-bye, within a moment.
func TestLeave(t *testing.T) {
	w := cluster(t, 4, calm)
	d := w.nodes["d"]
	w.Events = nil
	done := false
	d.Leave(time.Second, func(err error) {
		if done = true; err != nil {
			t.Errorf("leave: %v", err)
		}
	})
	if done {
		t.Error("done before anything was sent")
	}
	w.Run(500 * time.Millisecond)
	if !done {
		t.Error("not done although all was sent")
	}
	for _, ev := range w.Events {
		if ev.Kind != EventLeave || ev.Reason != LeftGracefully || ev.By != d.ID() {
			t.Errorf("event %+v", ev)
		}
	}
	again := false
	d.Leave(time.Second, func(error) { again = true })
	if !again {
		t.Error("a second leave is not done at once")
	}
	// It still answers, and does not come back by a late "alive" about itself.
	w.inject("d", Msg{Kind: MsgAlive, Node: d.ID(), Inc: 50, Addr: d.Addr()})
	if state, _, _ := d.Opinion(d.ID()); state != Left {
		t.Errorf("it is %v to itself", state)
	}
	d.Shutdown()
	defer func() {
		if recover() == nil {
			t.Error("leave after shutdown does not panic")
		}
	}()
	d.Leave(time.Second, func(error) {})
}

func TestLeaveTimesOut(t *testing.T) {
	w := cluster(t, 2, func(name string) Config {
		cfg := calm(name)
		cfg.GossipInterval = 5 * time.Second
		return cfg
	})
	var got error
	w.nodes["a"].Leave(time.Second, func(err error) { got = err })
	w.Run(2 * time.Second)
	if !errors.Is(got, ErrLeaveTimeout) {
		t.Errorf("leave: %v", got)
	}
}

func TestLeaveOfALonelyNodeIsDoneAtOnce(t *testing.T) {
	w := newWorld(t)
	done := false
	w.start(calm("a")).Leave(0, func(err error) { done = err == nil })
	if !done {
		t.Error("it waits for nobody")
	}
}

// TestShutdownEndsWaits: whoever waits for a join or a leave is told.
func TestShutdownEndsWaits(t *testing.T) {
	w := cluster(t, 3, calm)
	a := w.nodes["a"]
	w.Links.Partition([]Addr{a.Addr()})
	var joined error
	left := false
	a.Join([]string{"b", "c"}, func(_ int, err error) { joined = err })
	a.Leave(0, func(error) { left = true })
	a.Shutdown()
	if !errors.Is(joined, ErrDown) || !left {
		t.Errorf("join: %v, leave told: %v", joined, left)
	}
	a.Shutdown() // again: nothing
	events := len(w.Events)
	w.Run(time.Minute)
	for _, ev := range w.Events[events:] {
		if ev.Node == a.ID() {
			t.Errorf("an event after the shutdown: %+v", ev)
		}
	}
}

// TestRestart: a new process begins with incarnation 1. Its peers know a higher
// one and ignore it, until the join shows it its own ghost.
func TestRestart(t *testing.T) {
	w := cluster(t, 3, LocalConfig)
	c := w.nodes["c"]
	w.inject("c", Msg{Kind: MsgSuspect, Node: c.ID(), Inc: 6, From: w.id("x")}) // it refutes with 7
	w.Run(5 * time.Second)
	c.Crash()
	c = w.start(LocalConfig("c"))
	if c.Incarnation() != 1 {
		t.Errorf("incarnation %d after the start, want 1", c.Incarnation())
	}
	w.Events = nil
	c.Join([]string{"a", "b"}, nil)
	w.Run(100 * time.Millisecond)
	if c.Incarnation() != 8 {
		t.Errorf("incarnation %d after the join, want 8", c.Incarnation())
	}
	w.Run(10 * time.Second)
	if diff := cmp.Diff([]string{"c refute c", "c join a", "c join b"}, sorted(w.story())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func sorted(lines []string) []string {
	refute := []string{}
	var rest []string
	for _, l := range lines {
		if l == "c refute c" {
			refute = append(refute, l)
		} else {
			rest = append(rest, l)
		}
	}
	if len(rest) == 2 && rest[0] > rest[1] {
		rest[0], rest[1] = rest[1], rest[0]
	}
	return append(refute, rest...)
}

// TestShortPause: a process stopped for two seconds is suspected, and refutes when
// it goes on; packets that came meanwhile are answered then.
func TestShortPause(t *testing.T) {
	w := cluster(t, 3, LocalConfig)
	c := w.nodes["c"]
	c.Pause()
	w.Run(2 * time.Second)
	if !c.Paused() {
		t.Error("not paused")
	}
	c.Resume()
	w.Run(10 * time.Second)
	if got := w.views(); got != "a:abc b:abc c:abc" {
		t.Errorf("views %s", got)
	}
	refuted := false
	for _, ev := range w.Events {
		refuted = refuted || (ev.Kind == EventRefute && ev.Node == c.ID())
		if ev.Kind == EventLeave {
			t.Errorf("event %+v", ev)
		}
	}
	if !refuted {
		t.Errorf("it did not refute: %v", w.story())
	}
}

// TestLongPause: it is dead to all, and comes back by itself: the dead are told.
func TestLongPause(t *testing.T) {
	w := cluster(t, 3, LocalConfig)
	w.nodes["c"].Pause()
	w.Run(10 * time.Second)
	if got := w.views(); got != "a:ab b:ab c:abc" {
		t.Errorf("views while paused: %s", got)
	}
	w.nodes["c"].Resume()
	w.Run(30 * time.Second)
	if got := w.views(); got != "a:abc b:abc c:abc" {
		t.Errorf("views afterwards: %s", got)
	}
}

// TestPausedNodeAccepts: its kernel answers the dial, nobody the request.
func TestPausedNodeAccepts(t *testing.T) {
	w := newWorld(t)
	a, b := w.start(calm("a")), w.start(calm("b"))
	b.Pause()
	lines := wiretap(w)
	var got error
	a.Join([]string{"b"}, func(_ int, err error) { got = err })
	w.Run(5 * time.Second)
	want := []string{"0s a>b dial", "1ms b>a accept", "2ms a>b request"}
	if diff := cmp.Diff(want, (*lines)[:3]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !errors.Is(got, ErrTimeout) {
		t.Errorf("join: %v", got)
	}
	b.Resume() // the request is still in its socket
	if !b.Lists(a.ID()) {
		t.Errorf("views %s", w.views())
	}
}

func TestCrashWhilePaused(t *testing.T) {
	w := cluster(t, 2, LocalConfig)
	b := w.nodes["b"]
	b.Pause()
	w.Run(3 * time.Second)
	b.Crash()
	w.Events = nil
	b.Resume()
	w.Run(time.Minute)
	for _, ev := range w.Events {
		if ev.Node == b.ID() {
			t.Errorf("a dead node did something: %+v", ev)
		}
	}
}
