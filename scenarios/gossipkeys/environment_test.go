package gossipkeys

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/fakes/gossip"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

// twoNodes is an environment with the names a and b, each on a machine of its
// own, with a process that does nothing but live.
type twoNodes struct {
	*environment
	net  *network.Network
	a, b *engine.Process
	log  []string
}

const addrA, addrB = "10.0.0.1:7946", "10.0.0.2:7946"

func newTwoNodes(seed uint64, q network.Quality) *twoNodes {
	eng := engine.New(engine.Config{Source: engine.NewSeed(seed), Horizon: time.Minute})
	net := network.New(eng, q)
	w := &twoNodes{environment: newEnvironment(eng, net), net: net, a: eng.Process("a/agent"), b: eng.Process("b/agent")}
	w.add("a", addrA, "host-a", w.a)
	w.add("b", addrB, "host-b", w.b)
	w.a.Start(live(w.a))
	w.b.Start(live(w.b))
	return w
}

func live(p *engine.Process) func(context.Context) {
	return func(ctx context.Context) { _ = p.Sleep(ctx, time.Hour) }
}

// say notes something with the time.
func (w *twoNodes) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%v ", w.eng.Elapsed())+fmt.Sprintf(format, args...))
}

// at does something later.
func (w *twoNodes) at(d time.Duration, do func()) { w.eng.After(d, func(any) { do() }, nil) }

// run lets the engine run and compares the log.
func (w *twoNodes) run(t *testing.T, want ...string) {
	t.Helper()
	if err := w.eng.Run().Err; err != nil {
		t.Error(err)
	}
	if err := w.eng.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// listen makes an instance that listens at b.
func (w *twoNodes) listen(t *testing.T) {
	t.Helper()
	cfg := gossip.AgentConfig("b")
	cfg.Addr = addrB
	if _, err := w.cluster.Create(cfg); err != nil {
		t.Fatal(err)
	}
}

func slow(from, to time.Duration) network.Quality {
	return network.Quality{Delay: engine.Dist{Min: from, Max: to}}
}

// TestStreamsKeepOrder sends the legs of many streams over a link that lets
// datagrams overtake each other.
func TestStreamsKeepOrder(t *testing.T) {
	for seed := range uint64(20) {
		q := slow(time.Millisecond, time.Second)
		q.Loss, q.Reorder, q.Duplicate = 200_000, 500_000, 200_000
		w := newTwoNodes(seed, q)
		got := map[uint32][]uint32{}
		w.deliver = func(arg any) {
			e := arg.(*gossip.Envelope)
			got[e.Conn] = append(got[e.Conn], e.Head.Seq)
		}
		for conn := range uint32(10) {
			for seq := range uint32(5) {
				e := w.cluster.Forge(addrA, addrB, "", nil, gossip.Msg{Seq: seq})
				e.Stream, e.Conn, e.Step = true, conn, gossip.StepRequest
				if seq == 0 {
					e.Step = gossip.StepDial
				}
				if err := w.Send(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.run(t)
		for conn := range uint32(10) {
			if diff := cmp.Diff([]uint32{0, 1, 2, 3, 4}, got[conn]); diff != "" {
				t.Errorf("seed %d, stream %d (-sent +arrived):\n%s", seed, conn, diff)
			}
		}
	}
}

// TestARestartedDiallersStreamsAreItsOwn: an instance that starts again counts
// its streams from 1 again. What is still on its way on the stream of that
// number before must not hold up the new one.
func TestARestartedDiallersStreamsAreItsOwn(t *testing.T) {
	w := newTwoNodes(1, slow(10*time.Second, 10*time.Second))
	w.deliver = func(arg any) { w.say("%d arrives", arg.(*gossip.Envelope).Head.Seq) }
	leg := func(step gossip.Step, seq uint32) {
		e := w.cluster.Forge(addrA, addrB, "", nil, gossip.Msg{Seq: seq})
		e.Stream, e.Conn, e.Step = true, 1, step
		if err := w.Send(e); err != nil {
			t.Error(err)
		}
	}
	leg(gossip.StepDial, 1)
	leg(gossip.StepRequest, 2)
	w.at(time.Second, func() {
		w.a.Crash()
		w.a.Start(live(w.a))
		w.net.SetQuality(slow(time.Millisecond, time.Millisecond))
		leg(gossip.StepDial, 11)
		leg(gossip.StepRequest, 12)
	})
	w.run(t, "1.001s 11 arrives", "1.001s 12 arrives", "10s 1 arrives", "10s 2 arrives")
}

// TestStreamsThatAreOverAreForgotten: a run makes thousands of them.
func TestStreamsThatAreOverAreForgotten(t *testing.T) {
	for _, last := range []gossip.Step{gossip.StepRefuse, gossip.StepResponse, gossip.StepClose} {
		w := newTwoNodes(1, slow(time.Millisecond, time.Millisecond))
		w.deliver = func(any) {}
		dial := w.cluster.Forge(addrA, addrB, "", nil, gossip.Msg{})
		dial.Stream, dial.Conn, dial.Step = true, 7, gossip.StepDial
		answer := w.cluster.Forge(addrB, addrA, "", nil, gossip.Msg{})
		answer.Stream, answer.Conn, answer.Step = true, 7, last
		if err := errors.Join(w.Send(dial), w.Send(answer)); err != nil || len(w.conns) != 0 {
			t.Errorf("after step %d there are %d streams: %v", last, len(w.conns), err)
		}
		w.run(t)
	}
}

// TestAPausedProcessGetsItsPacketsWhenItGoesOn, in the order in which they came.
func TestAPausedProcessGetsItsPacketsWhenItGoesOn(t *testing.T) {
	w := newTwoNodes(1, slow(time.Millisecond, time.Millisecond))
	w.listen(t)
	w.hand = func(arg any) { w.say("%d is handed over", arg.(*gossip.Envelope).Head.Seq) }
	send := func(seq uint32) {
		if err := w.Send(w.cluster.Forge(addrA, addrB, "", nil, gossip.Msg{Kind: gossip.MsgAck, Seq: seq})); err != nil {
			t.Error(err)
		}
	}
	w.at(time.Second, w.b.Pause)
	w.at(2*time.Second, func() { send(1); send(2) })
	w.at(3*time.Second, func() { send(3) })
	w.at(5*time.Second, w.b.Resume)
	w.run(t, "5s 1 is handed over", "5s 2 is handed over", "5s 3 is handed over")
}

// TestPacketsForAProcessThatDiesAreLost even if another one starts in its place:
// they were in the memory of the first.
func TestPacketsForAProcessThatDiesAreLost(t *testing.T) {
	w := newTwoNodes(1, slow(time.Millisecond, time.Millisecond))
	w.listen(t)
	w.hand = func(any) { w.say("handed over") }
	w.at(time.Second, w.b.Pause)
	w.at(2*time.Second, func() {
		if err := w.Send(w.cluster.Forge(addrA, addrB, "", nil, gossip.Msg{Kind: gossip.MsgAck})); err != nil {
			t.Error(err)
		}
	})
	w.at(3*time.Second, func() {
		w.b.Crash()
		w.b.Start(live(w.b))
	})
	w.run(t)
}

// TestTimersAreThoseOfTheProcess: they stand still with it, and end with it. The
// attacker has no process, and time for him just passes.
func TestTimersAreThoseOfTheProcess(t *testing.T) {
	w := newTwoNodes(1, network.Quality{})
	w.add(attacker, attackerAddr, attacker, nil)
	for _, name := range []string{"a", "b", attacker} {
		w.After(w.cluster.ID(name), 2*time.Second, func(any) { w.say("timer of %s", name) }, nil)
	}
	cancelled := w.After(w.cluster.ID("a"), time.Second, func(any) { w.say("cancelled") }, nil)
	if !cancelled.Cancel() {
		t.Error("a timer cannot be cancelled")
	}
	w.at(time.Second, func() { w.a.Pause(); w.b.Crash(); w.b.Start(live(w.b)) })
	w.at(9*time.Second, w.a.Resume)
	w.run(t, "2s timer of attacker", "9s timer of a")
}

// TestNobodyAtAnAddress: what is sent there is the other side's fault, not one's
// own, which the model tells from the kind of error.
func TestNobodyAtAnAddress(t *testing.T) {
	w := newTwoNodes(1, network.Quality{})
	w.tap = func(e *gossip.Envelope) { w.say("on the wire to %s", w.cluster.AddrName(e.To)) }
	err := w.Send(w.cluster.Forge(addrA, "10.9.9.9:7946", "", nil, gossip.Msg{}))
	if !errors.Is(err, gossip.ErrUnreachable) {
		t.Errorf("error: %v", err)
	}
	// A host that is off is no error at all: packets are lost without a word.
	w.net.Host("host-b").SetUp(false)
	if err := w.Send(w.cluster.Forge(addrA, addrB, "", nil, gossip.Msg{})); err != nil {
		t.Error(err)
	}
	w.run(t, "0s on the wire to 10.9.9.9:7946", "0s on the wire to "+addrB)
}
