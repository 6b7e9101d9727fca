package gossip

import (
	"testing"
	"time"
)

// TestSuspicionTimer: how long a suspect has, by configuration, number of nodes
// (self and suspect included) and confirmations a second after the first.
func TestSuspicionTimer(t *testing.T) {
	for _, tc := range []struct {
		name     string
		config   func(string) Config
		known    int
		accusers int // one second after the first
		want     time.Duration
	}{
		{"local, alone with the suspect: nobody can confirm", LocalConfig, 2, 0, 3 * time.Second},
		{"local, a third can confirm but does not", LocalConfig, 3, 0, 18 * time.Second},
		{"local, one confirmation is all it takes", LocalConfig, 5, 1, 3 * time.Second},
		{"local, more are not counted", LocalConfig, 5, 3, 3 * time.Second},
		{"lan, two of three nodes cannot confirm twice", LANConfig, 3, 0, 4 * time.Second},
		{"lan, unconfirmed", LANConfig, 5, 0, 24 * time.Second},
		{"lan, one of two", LANConfig, 5, 1, 11381 * time.Millisecond},
		{"lan, both", LANConfig, 5, 2, 4 * time.Second},
		{"local, 20 nodes scale by log10", LocalConfig, 20, 1, 3903 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			cfg := tc.config("a")
			if tc.known != 20 {
				cfg.PushPullInterval = 1000 * time.Hour
			}
			a := w.start(cfg)
			var names []string
			for i := range tc.known - 1 {
				name := string(rune('b' + i))
				names = append(names, name)
				a.alive(&Msg{Kind: MsgAlive, Node: w.id(name), Inc: 1, Addr: w.Cluster.Addr(name)}, false)
			}
			a.probe.running = true // no probes of its own
			start := w.Now()
			accuse := func(by string) { a.suspect(&Msg{Kind: MsgSuspect, Node: w.id("b"), Inc: 1, From: w.id(by)}) }
			accuse("z")
			w.Run(time.Second)
			for i := range tc.accusers {
				accuse(names[len(names)-1-i%len(names)])
				accuse("z") // the first one again never counts
			}
			if !w.RunUntil(time.Minute, func() bool { return !a.Lists(w.id("b")) }) {
				t.Fatal("still listed after a minute")
			}
			if got := w.Now() - start; got != tc.want {
				t.Errorf("dead after %v, want %v", got, tc.want)
			}
			last := w.Events[len(w.Events)-1]
			if last.Kind != EventLeave || last.Reason != LeftTimeout || last.By != a.ID() {
				t.Errorf("last event %+v", last)
			}
		})
	}
}

// TestLateConfirmation: if the shortened time is over already, the verdict is
// immediate.
func TestLateConfirmation(t *testing.T) {
	w := newWorld(t)
	a := w.start(LocalConfig("a"))
	for _, name := range []string{"b", "c", "d"} {
		a.alive(&Msg{Kind: MsgAlive, Node: w.id(name), Inc: 1, Addr: w.Cluster.Addr(name)}, false)
	}
	a.probe.running = true
	a.suspect(&Msg{Kind: MsgSuspect, Node: w.id("b"), Inc: 1, From: w.id("c")})
	w.Run(10 * time.Second)
	a.suspect(&Msg{Kind: MsgSuspect, Node: w.id("b"), Inc: 1, From: w.id("d")})
	w.Run(0)
	if a.Lists(w.id("b")) {
		t.Error("still listed")
	}
}

// TestClearedSuspicionIsOver: the timer of a refuted suspicion does nothing, even
// if there is a new suspicion by then.
func TestClearedSuspicionIsOver(t *testing.T) {
	w := newWorld(t)
	a := w.start(LocalConfig("a"))
	b := w.id("b")
	a.alive(&Msg{Kind: MsgAlive, Node: b, Inc: 1, Addr: w.Cluster.Addr("b")}, false)
	a.probe.running = true
	a.suspect(&Msg{Kind: MsgSuspect, Node: b, Inc: 1, From: a.ID()}) // until 3 s
	w.Run(2 * time.Second)
	a.alive(&Msg{Kind: MsgAlive, Node: b, Inc: 2, Addr: w.Cluster.Addr("b")}, false)
	a.suspect(&Msg{Kind: MsgSuspect, Node: b, Inc: 2, From: a.ID()}) // until 5 s
	w.Run(2 * time.Second)
	if !a.Lists(b) {
		t.Error("the old timer fired")
	}
	w.Run(2 * time.Second)
	if a.Lists(b) {
		t.Error("the new timer did not fire")
	}
}
