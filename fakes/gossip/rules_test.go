package gossip

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// outcome renders what one claim changed at node a about a subject: its state and
// incarnation, what is queued about it, and the events.
func outcome(w *world, subject string) string {
	a := w.nodes["a"]
	p := *a.peer(w.id(subject))
	out := "unknown"
	if p.known {
		out = fmt.Sprintf("%v %d", p.state, p.inc)
	}
	for _, it := range a.queue.items {
		kind := map[MsgKind]string{MsgAlive: "alive", MsgSuspect: "suspect", MsgDead: "dead"}[it.msg.Kind]
		out += fmt.Sprintf(", tells %s %d", kind, it.msg.Inc)
	}
	for _, ev := range w.Events {
		out += ", " + ev.Kind.String()
	}
	return out
}

// TestStateRules has a row for each rule. Node a knows p in the given state with
// incarnation 5 and hears one message.
func TestStateRules(t *testing.T) {
	const alive, suspect, dead = MsgAlive, MsgSuspect, MsgDead
	for _, tc := range []struct {
		name  string
		known State
		never bool // p is unknown
		kind  MsgKind
		inc   uint32
		from  string
		want  string
	}{
		{name: "alive/unknown enters", never: true, kind: alive, inc: 1, want: "alive 1, tells alive 1, join"},
		{name: "alive/higher is taken", known: Alive, kind: alive, inc: 6, want: "alive 6, tells alive 6"},
		{name: "alive/equal is old", known: Alive, kind: alive, inc: 5, want: "alive 5"},
		{name: "alive/lower is old", known: Alive, kind: alive, inc: 4, want: "alive 5"},
		{name: "alive/higher clears suspicion", known: Suspect, kind: alive, inc: 6, want: "alive 6, tells alive 6"},
		{name: "alive/equal does not clear suspicion", known: Suspect, kind: alive, inc: 5, want: "suspect 5"},
		{name: "alive/higher revives the dead", known: Dead, kind: alive, inc: 6, want: "alive 6, tells alive 6, join"},
		{name: "alive/equal does not", known: Dead, kind: alive, inc: 5, want: "dead 5"},
		{name: "alive/higher revives the left", known: Left, kind: alive, inc: 6, want: "alive 6, tells alive 6, join"},

		{name: "suspect/unknown is ignored", never: true, kind: suspect, inc: 5, from: "q", want: "unknown"},
		{name: "suspect/equal is taken", known: Alive, kind: suspect, inc: 5, from: "q", want: "suspect 5, tells suspect 5, suspect"},
		{name: "suspect/higher is taken", known: Alive, kind: suspect, inc: 7, from: "q", want: "suspect 7, tells suspect 7, suspect"},
		{name: "suspect/lower is old", known: Alive, kind: suspect, inc: 4, from: "q", want: "alive 5"},
		{name: "suspect/a new accuser is passed on", known: Suspect, kind: suspect, inc: 5, from: "r", want: "suspect 5, tells suspect 5"},
		{name: "suspect/the first accuser is not", known: Suspect, kind: suspect, inc: 5, from: "q", want: "suspect 5"},
		{name: "suspect/the dead stay dead", known: Dead, kind: suspect, inc: 9, from: "q", want: "dead 5"},
		{name: "suspect/the left stay left", known: Left, kind: suspect, inc: 9, from: "q", want: "left 5"},

		{name: "dead/unknown is ignored", never: true, kind: dead, inc: 5, from: "q", want: "unknown"},
		{name: "dead/equal is taken", known: Alive, kind: dead, inc: 5, from: "q", want: "dead 5, tells dead 5, leave"},
		{name: "dead/lower is old", known: Alive, kind: dead, inc: 4, from: "q", want: "alive 5"},
		{name: "dead/ends a suspicion", known: Suspect, kind: dead, inc: 5, from: "q", want: "dead 5, tells dead 5, leave"},
		{name: "dead/from itself is left", known: Alive, kind: dead, inc: 5, from: "p", want: "left 5, tells dead 5, leave"},
		{name: "dead/twice is once", known: Dead, kind: dead, inc: 6, from: "q", want: "dead 5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			a := w.start(calm("a"))
			if !tc.never {
				a.alive(&Msg{Kind: MsgAlive, Node: w.id("p"), Inc: 5, Addr: w.Cluster.Addr("p")}, false)
				a.alive(&Msg{Kind: MsgAlive, Node: w.id("r"), Inc: 1, Addr: w.Cluster.Addr("r")}, false)
			}
			switch tc.known {
			case Suspect:
				a.suspect(&Msg{Kind: MsgSuspect, Node: w.id("p"), Inc: 5, From: w.id("q")})
			case Dead:
				a.dead(&Msg{Kind: MsgDead, Node: w.id("p"), Inc: 5, From: w.id("q")}, LeftGossip)
			case Left:
				a.dead(&Msg{Kind: MsgDead, Node: w.id("p"), Inc: 5, From: w.id("p")}, LeftGossip)
			}
			w.Events, a.queue.items = nil, nil
			m := Msg{Kind: tc.kind, Node: w.id("p"), Inc: tc.inc, From: w.id(tc.from), Addr: w.Cluster.Addr("p")}
			w.inject("a", m)
			if diff := cmp.Diff(tc.want, outcome(w, "p")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefutation: whatever is said about a node itself, it contradicts with an
// incarnation that beats both its own last and the accusation's, and doubts its
// health. It has used incarnation 1.
func TestRefutation(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    Msg
		want string
	}{
		{"a suspicion of now", Msg{Kind: MsgSuspect, Inc: 1}, "alive 2, tells alive 2, refute"},
		{"a suspicion of the future", Msg{Kind: MsgSuspect, Inc: 9}, "alive 10, tells alive 10, refute"},
		{"an old suspicion", Msg{Kind: MsgSuspect, Inc: 0}, "alive 1"},
		{"a death", Msg{Kind: MsgDead, Inc: 4}, "alive 5, tells alive 5, refute"},
		{"having left", Msg{Kind: MsgDead, Inc: 4, From: 0}, "alive 5, tells alive 5, refute"},
		{"an earlier life with more incarnations", Msg{Kind: MsgAlive, Inc: 6}, "alive 7, tells alive 7, refute"},
		{"an earlier life with as many", Msg{Kind: MsgAlive, Inc: 1}, "alive 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			a := w.start(calm("a"))
			w.Events, a.queue.items = nil, nil
			if tc.m.Kind != MsgAlive && tc.name != "having left" {
				tc.m.From = w.id("q")
			}
			w.inject("a", tc.m)
			if diff := cmp.Diff(tc.want, outcome(w, "a")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			wantScore := map[bool]int{true: 1}[len(w.Events) > 0]
			if a.HealthScore() != wantScore {
				t.Errorf("health score %d, want %d", a.HealthScore(), wantScore)
			}
		})
	}
}

// TestRefutationStaysBesideOtherNews: memberlist files refutations under the
// address, so they replace each other but nothing that is queued by name.
func TestRefutationStaysBesideOtherNews(t *testing.T) {
	w := newWorld(t)
	a := w.start(calm("a")) // queues its own first "alive"
	w.inject("a", Msg{Kind: MsgSuspect, Inc: 1, From: w.id("q")})
	w.inject("a", Msg{Kind: MsgSuspect, Inc: 2, From: w.id("q")})
	var got []uint32
	for _, it := range a.queue.items {
		got = append(got, it.msg.Inc)
	}
	if diff := cmp.Diff([]uint32{3, 1}, got); diff != "" {
		t.Errorf("incarnations queued (-want +got):\n%s", diff)
	}
}

// TestAddressConflicts: a name comes back under another address.
func TestAddressConflicts(t *testing.T) {
	for _, tc := range []struct {
		name    string
		state   State
		reclaim time.Duration
		wait    time.Duration
		taken   bool
	}{
		{"alive is defended", Alive, time.Millisecond, time.Second, false},
		{"suspect is defended", Suspect, time.Millisecond, time.Second, false},
		{"left gives way", Left, 0, 0, true},
		{"dead is defended without a reclaim time", Dead, 0, time.Hour, false},
		{"dead is defended until the reclaim time", Dead, 10 * time.Millisecond, 5 * time.Millisecond, false},
		{"dead gives way afterwards", Dead, 10 * time.Millisecond, 11 * time.Millisecond, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			cfg := calm("a")
			cfg.DeadNodeReclaimTime = tc.reclaim
			a := w.start(cfg)
			p := w.id("p")
			a.alive(&Msg{Kind: MsgAlive, Node: p, Inc: 5, Addr: w.Cluster.Addr("old")}, false)
			switch tc.state {
			case Suspect:
				a.suspect(&Msg{Kind: MsgSuspect, Node: p, Inc: 5, From: w.id("q")})
			case Dead:
				a.dead(&Msg{Kind: MsgDead, Node: p, Inc: 5, From: w.id("q")}, LeftGossip)
			case Left:
				a.dead(&Msg{Kind: MsgDead, Node: p, Inc: 5, From: p}, LeftGossip)
			}
			w.Run(tc.wait)
			w.Events = nil
			// A new process: its incarnation is lower than the known one.
			w.inject("a", Msg{Kind: MsgAlive, Node: p, Inc: 1, Addr: w.Cluster.Addr("new")})
			got := w.Cluster.AddrName(a.peer(p).addr)
			if want := map[bool]string{true: "new", false: "old"}[tc.taken]; got != want {
				t.Errorf("address is %s, want %s; events %v", got, want, w.story())
			}
			if conflict := len(w.Events) == 1 && w.Events[0].Kind == EventConflict; conflict == tc.taken {
				t.Errorf("events %v", w.story())
			}
		})
	}
}

// TestMerge has a row per state that a push/pull may report about p.
func TestMerge(t *testing.T) {
	for _, tc := range []struct {
		name  string
		known bool
		state State
		want  string
	}{
		{"alive and unknown", false, Alive, "alive 5, tells alive 5, join"},
		{"dead and unknown", false, Dead, "unknown"},
		{"alive and known", true, Alive, "alive 5"},
		{"left", true, Left, "left 5, tells dead 5, leave"},
		{"dead is only suspected", true, Dead, "suspect 5, tells suspect 5, suspect"},
		{"suspect is suspected", true, Suspect, "suspect 5, tells suspect 5, suspect"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			a := w.start(calm("a"))
			if tc.known {
				a.alive(&Msg{Kind: MsgAlive, Node: w.id("p"), Inc: 5, Addr: w.Cluster.Addr("p")}, false)
			}
			w.Events, a.queue.items = nil, nil
			a.merge([]Entry{{Node: w.id("p"), Addr: w.Cluster.Addr("p"), Inc: 5, State: tc.state}})
			if diff := cmp.Diff(tc.want, outcome(w, "p")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(w.Events) == 1 && w.Events[0].Kind == EventSuspect && w.Events[0].By != a.ID() {
				t.Errorf("suspected on the word of %s, not on its own", w.Cluster.Name(w.Events[0].By))
			}
		})
	}
}

// TestReaping: the dead and the left are forgotten at the end of a probe round
// trip, once they have been gone for GossipToTheDeadTime. Before that they count.
func TestReaping(t *testing.T) {
	w := newWorld(t)
	a := w.start(LocalConfig("a"))
	for _, name := range []string{"dead", "left", "alive"} {
		a.alive(&Msg{Kind: MsgAlive, Node: w.id(name), Inc: 1, Addr: w.Cluster.Addr(name)}, false)
	}
	a.dead(&Msg{Kind: MsgDead, Node: w.id("dead"), Inc: 1, From: a.ID()}, LeftGossip)
	a.dead(&Msg{Kind: MsgDead, Node: w.id("left"), Inc: 1, From: w.id("left")}, LeftGossip)
	w.Run(15 * time.Second)
	a.reap()
	if len(a.order) != 4 {
		t.Errorf("%d nodes known at 15 s, want 4", len(a.order))
	}
	w.Run(time.Millisecond)
	a.reap()
	if _, _, known := a.Opinion(w.id("dead")); known || len(a.order) != 2 {
		t.Errorf("%d nodes known after 15 s, want 2", len(a.order))
	}
	// A forgotten node is new when it comes back, whatever its incarnation.
	w.Events = nil
	w.inject("a", Msg{Kind: MsgAlive, Node: w.id("dead"), Inc: 1, Addr: w.Cluster.Addr("dead")})
	if diff := cmp.Diff([]string{"a join dead"}, w.story()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
