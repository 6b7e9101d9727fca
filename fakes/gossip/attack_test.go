package gossip

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// keyed is LocalConfig with keys.
func keyed(keys ...byte) func(string) Config {
	return func(name string) Config {
		cfg := LocalConfig(name)
		cfg.Keyring = ringOf(keys...)
		return cfg
	}
}

// TestPlaintextDeathThreat is scenario 25: an attacker without a key declares a
// node dead. Where incoming traffic is verified, nobody believes it. Where it is
// not, everybody does, until the victim contradicts: the insecure state.
func TestPlaintextDeathThreat(t *testing.T) {
	for _, verify := range []bool{true, false} {
		w := cluster(t, 3, func(name string) Config {
			cfg := keyed(1)(name)
			cfg.GossipVerifyIncoming = verify
			return cfg
		})
		victim := w.nodes["c"]
		e := w.Cluster.Forge("attacker", "a", "", nil, Msg{
			Kind: MsgDead, Node: victim.ID(), Inc: victim.Incarnation(), From: w.id("b"),
		})
		w.Cluster.Deliver(e)
		if listed := w.nodes["a"].Lists(victim.ID()); listed != verify {
			t.Errorf("verify %v: the victim is listed: %v", verify, listed)
		}
		want := []string{"a decrypt-fail  (" + RefusedPlain + ")"}
		if !verify {
			want = []string{"a leave c (gossip by b)"}
		}
		if diff := cmp.Diff(want, w.story()); diff != "" {
			t.Errorf("verify %v (-want +got):\n%s", verify, diff)
		}
		w.Run(10 * time.Second)
		if !w.complete() {
			t.Errorf("verify %v: views %s in the end", verify, w.views())
		}
	}
}

// TestReplay is scenario 26: a death notice recorded under the old key is replayed
// before and after that key is dropped.
func TestReplay(t *testing.T) {
	w := cluster(t, 3, func(name string) Config {
		cfg := keyed(1, 2)(name)
		cfg.RetransmitMult = 4 // so that everybody is told for sure
		return cfg
	})
	var recorded *Envelope
	w.Tap = func(e *Envelope) {
		news := append([]Msg{e.Head}, e.Rest...)
		for _, m := range news {
			if m.Kind == MsgSuspect && m.Node == w.id("c") && recorded == nil && e.To == w.Cluster.Addr("a") {
				recorded = e
			}
		}
	}
	// Something worth recording: b suspects c, and c refutes.
	w.nodes["b"].suspect(&Msg{Kind: MsgSuspect, Node: w.id("c"), Inc: w.nodes["c"].Incarnation(), From: w.id("b")})
	w.Run(5 * time.Second)
	if recorded == nil {
		t.Fatalf("nothing recorded: %v", w.story())
	}
	w.Events = nil
	w.Cluster.Deliver(recorded)
	if len(w.Events) != 0 {
		t.Errorf("before the drop it is readable but stale; events %v", w.story())
	}
	for _, n := range w.nodes {
		r := n.Keyring().(*Ring)
		if err := r.UseKey(testKey(2)); err != nil {
			t.Fatal(err)
		}
		if err := r.RemoveKey(testKey(1)); err != nil {
			t.Fatal(err)
		}
	}
	w.Cluster.Deliver(recorded)
	want := []string{"a decrypt-fail b (" + RefusedPacket + ")"}
	if diff := cmp.Diff(want, w.story()); diff != "" {
		t.Errorf("after the drop (-want +got):\n%s", diff)
	}
}

// TestLeakedKey: whoever has a key is every node, until the key is gone.
func TestLeakedKey(t *testing.T) {
	w := cluster(t, 3, keyed(1))
	c := w.nodes["c"]
	w.Cluster.Deliver(w.Cluster.Forge("attacker", "a", "", testKey(1), Msg{
		Kind: MsgDead, Node: c.ID(), Inc: c.Incarnation(), From: c.ID(),
	}))
	if diff := cmp.Diff([]string{"a leave c (left by c)"}, w.story()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestForgedPushPull: an attacker may also speak on a stream of his own.
func TestForgedPushPull(t *testing.T) {
	for _, key := range [][]byte{nil, testKey(1)} {
		w := cluster(t, 2, keyed(1))
		e := w.Cluster.Forge("attacker", "a", "", key, Msg{Kind: MsgPushPull})
		e.Stream, e.Step = true, StepRequest
		e.States = []Entry{{Node: w.id("ghost"), Addr: w.Cluster.Addr("attacker"), Inc: 1}}
		w.Cluster.Deliver(e)
		if got := w.nodes["a"].Lists(w.id("ghost")); got != (key != nil) {
			t.Errorf("with key %v: the ghost is listed: %v", key != nil, got)
		}
	}
}

// TestPlainTransportErrorsHideTheDead is scenario 27: a transport that reports a
// dead host as an ordinary error switches failure detection off. The Lab's own
// network does not: it loses the packet, and the dead one is suspected.
func TestPlainTransportErrorsHideTheDead(t *testing.T) {
	for _, plain := range []bool{false, true} {
		w := cluster(t, 3, LocalConfig)
		c := w.nodes["c"]
		if plain {
			w.Fail = func(e *Envelope) error {
				if !e.Stream && w.Cluster.At(e.To) == nil {
					return errEmptyPrimary // any error that is not ErrUnreachable
				}
				return nil
			}
		}
		c.Crash()
		w.Run(time.Minute)
		if listed := w.nodes["a"].Lists(c.ID()); listed != plain {
			t.Errorf("plain errors %v: the dead node is listed: %v", plain, listed)
		}
	}
}
