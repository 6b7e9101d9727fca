package gossip

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// queueOf renders a queue: "b2*1" is news about b, incarnation 2, sent once.
func queueOf(w *world, n *Node) string {
	var words []string
	for _, it := range n.queue.items {
		words = append(words, fmt.Sprintf("%s%d*%d", w.Cluster.Name(it.msg.Node), it.msg.Inc, it.sent))
	}
	return strings.Join(words, " ")
}

func quietNode(w *world, config Config) *Node {
	n := w.start(config)
	n.queue.items = nil
	return n
}

func TestQueueOrder(t *testing.T) {
	w := newWorld(t)
	a := quietNode(w, calm("a"))
	for i, name := range []string{"b", "c", "longer"} {
		a.broadcast(Msg{Kind: MsgSuspect, Node: w.id(name), Inc: uint32(i + 1), From: a.ID()}, w.id(name), nil)
	}
	if got, want := queueOf(w, a), "longer3*0 c2*0 b1*0"; got != want {
		t.Errorf("queue is %s, want %s: the largest first, then the newest", got, want)
	}
	a.take(1400)
	a.broadcast(Msg{Kind: MsgSuspect, Node: w.id("d"), Inc: 4, From: a.ID()}, w.id("d"), nil)
	if got, want := queueOf(w, a), "d4*0 longer3*1 c2*1 b1*1"; got != want {
		t.Errorf("queue is %s, want %s: the least sent first", got, want)
	}
	a.broadcast(Msg{Kind: MsgAlive, Node: w.id("c"), Inc: 9}, w.id("c"), nil)
	if got, want := queueOf(w, a), "c9*0 d4*0 longer3*1 b1*1"; got != want {
		t.Errorf("queue is %s, want %s: news about a node replaces older news", got, want)
	}
}

func TestRetransmitLimit(t *testing.T) {
	for _, tc := range []struct {
		config func(string) Config
		known  int
		want   int
	}{
		{LocalConfig, 1, 2}, {LocalConfig, 9, 2}, {LocalConfig, 10, 4},
		{LANConfig, 5, 4}, {LANConfig, 99, 8}, {LANConfig, 100, 12},
	} {
		w := newWorld(t)
		a := quietNode(w, tc.config("a"))
		for i := 1; i < tc.known; i++ {
			a.order = append(a.order, a.ID()) // only the number counts here
		}
		finished := false
		a.broadcast(Msg{Kind: MsgDead, Node: w.id("b"), Inc: 1}, w.id("b"), func() { finished = true })
		sent := 0
		for len(a.take(1400)) > 0 {
			sent++
		}
		if sent != tc.want || !finished {
			t.Errorf("%d nodes: sent %d times (finished %v), want %d", tc.known, sent, finished, tc.want)
		}
	}
}

func TestReplacedBroadcastIsFinished(t *testing.T) {
	w := newWorld(t)
	a := quietNode(w, calm("a"))
	finished := false
	a.broadcast(Msg{Kind: MsgDead, Node: w.id("b"), Inc: 1}, w.id("b"), func() { finished = true })
	a.broadcast(Msg{Kind: MsgAlive, Node: w.id("b"), Inc: 2}, w.id("b"), nil)
	if !finished {
		t.Error("nobody was told")
	}
}

// TestPacketBudget: what fits beside an ack of 20 bytes: the buffer less 2 for the
// compound, 29 for sealing, and the label; each broadcast has 2 for its length.
func TestPacketBudget(t *testing.T) {
	const (
		ack        = 20
		accusation = 29
		three      = ack + 2 + 3*(2+accusation)
	)
	for _, tc := range []struct {
		name   string
		label  string
		sealed bool
		buffer int
		want   int
	}{
		{"three fit exactly", "", false, three, 3},
		{"one byte less", "", false, three - 1, 2},
		{"sealing", "", true, three + 29, 3},
		{"sealing, one byte less", "", true, three + 28, 2},
		{"a label takes two more than its length", "four", false, three + 6, 3},
		{"a label, one byte less", "four", false, three + 5, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			cfg := calm("a")
			cfg.Label, cfg.UDPBufferSize = tc.label, tc.buffer
			if tc.sealed {
				cfg.Keyring = ringOf(1)
			}
			a := quietNode(w, cfg)
			for i := range 5 {
				m := Msg{Kind: MsgSuspect, Node: w.id(string(rune('b' + i))), Inc: 1, From: a.ID()}
				if size := w.Cluster.Size(&m); size != accusation {
					t.Fatalf("an accusation has %d bytes", size)
				}
				a.broadcast(m, m.Node, nil)
			}
			got := -1
			w.Tap = func(e *Envelope) { got = len(e.Rest) }
			m := Msg{Kind: MsgAck, Seq: 300}
			if size := w.Cluster.Size(&m); size != ack {
				t.Fatalf("the ack has %d bytes", size)
			}
			if err := a.packet(w.Cluster.Addr("x"), m); err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("%d broadcasts fit, want %d", got, tc.want)
			}
		})
	}
}

// TestGossipTicks: news goes out at whole intervals from the node's creation, to
// GossipNodes peers, each counting as one transmission; an idle node is silent.
func TestGossipTicks(t *testing.T) {
	w := cluster(t, 5, calm)
	a := w.nodes["a"]
	w.RunUntil(time.Second, func() bool { return (w.Now()-a.created)%(100*time.Millisecond) == 0 })
	w.Run(30 * time.Millisecond)
	var at []time.Duration
	w.Tap = func(e *Envelope) {
		if e.From == a.Addr() {
			at = append(at, (w.Now()-a.created)%(100*time.Millisecond))
		}
	}
	w.inject("a", Msg{Kind: MsgAlive, Node: w.id("z"), Inc: 1, Addr: w.Cluster.Addr("z")})
	w.Run(time.Second)
	if diff := cmp.Diff([]time.Duration{0, 0}, at); diff != "" { // a limit of 2
		t.Errorf("sent at, within an interval (-want +got):\n%s", diff)
	}
	steps := w.Steps
	w.Run(time.Hour)
	if w.Steps != steps {
		t.Errorf("an idle cluster made %d steps in an hour", w.Steps-steps)
	}
}

// TestWhoIsGossipedTo: the alive, suspects, and the dead for a while; never the
// left.
func TestWhoIsGossipedTo(t *testing.T) {
	for _, tc := range []struct {
		name  string
		state State
		age   time.Duration
		want  bool
	}{
		{"alive", Alive, 0, true},
		{"suspect", Suspect, 0, true},
		{"newly dead", Dead, 15 * time.Second, true},
		{"long dead", Dead, 15*time.Second + 1, false},
		{"left", Left, 0, false},
	} {
		w := newWorld(t)
		a := quietNode(w, calm("a"))
		b := w.id("b")
		a.alive(&Msg{Kind: MsgAlive, Node: b, Inc: 1, Addr: w.Cluster.Addr("b")}, false)
		p := a.peer(b)
		p.state, p.changed = tc.state, w.Now()-tc.age
		told := false
		w.Tap = func(*Envelope) { told = true }
		a.gossip()
		if told != tc.want {
			t.Errorf("%s: told %v, want %v", tc.name, told, tc.want)
		}
	}
}

// TestNewsOfAPacketIsDigestedFromTheBack, the living first.
func TestNewsOfAPacketIsDigestedFromTheBack(t *testing.T) {
	w := newWorld(t)
	a := quietNode(w, calm("a"))
	w.Events = nil
	e := w.Cluster.Forge("x", "a", "", nil, Msg{Kind: MsgDead, Node: w.id("b"), Inc: 2, From: w.id("x")})
	for _, name := range []string{"b", "c"} {
		e.Rest = append(e.Rest, Msg{Kind: MsgAlive, Node: w.id(name), Inc: 1, Addr: w.Cluster.Addr(name)})
	}
	e.Rest = append(e.Rest, Msg{Kind: MsgSuspect, Node: w.id("c"), Inc: 1, From: w.id("x")})
	w.Cluster.Deliver(e)
	want := []string{"a join c", "a join b", "a suspect c (by x)", "a leave b (gossip by x)"}
	if diff := cmp.Diff(want, w.story()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a.NumMembers() != 2 {
		t.Errorf("members are %v", a.Members())
	}
}
