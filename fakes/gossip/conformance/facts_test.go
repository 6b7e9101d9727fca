package conformance

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/memberlist"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/fakes/gossip"
)

// TestRingIsTheLibrarysKeyring makes the same calls on both and compares every
// answer, and what a reader who holds an old GetKeys sees afterwards.
func TestRingIsTheLibrarysKeyring(t *testing.T) {
	pool := [][]byte{key(1), key(2), key(3), key(4), make([]byte, 16), make([]byte, 24), make([]byte, 5), nil}
	rapid.Check(t, func(t *rapid.T) {
		pick := rapid.SampledFrom(pool)
		keys := rapid.SliceOfN(pick, 0, 4).Draw(t, "keys")
		primary := pick.Draw(t, "primary")
		library, err1 := memberlist.NewKeyring(keys, primary)
		model, err2 := gossip.NewRing(keys, primary)
		same(t, "NewKeyring", err1, err2)
		if err1 != nil {
			return
		}
		var heldReal, heldModel [][]byte
		for range rapid.IntRange(0, 20).Draw(t, "calls") {
			k := pick.Draw(t, "key")
			switch rapid.SampledFrom([]string{"add", "use", "remove", "hold"}).Draw(t, "call") {
			case "add":
				same(t, "AddKey", library.AddKey(k), model.AddKey(k))
			case "use":
				same(t, "UseKey", library.UseKey(k), model.UseKey(k))
			case "remove":
				var err error
				panicked := panics(func() { err = library.RemoveKey(k) })
				var got error
				if panics(func() { got = model.RemoveKey(k) }) != panicked {
					t.Fatalf("RemoveKey of the library panics: %v", panicked)
				}
				same(t, "RemoveKey", err, got)
			case "hold":
				heldReal, heldModel = library.GetKeys(), model.GetKeys()
			}
			equal(t, "GetKeys", library.GetKeys(), model.GetKeys())
			equal(t, "a slice held", heldReal, heldModel)
			equal(t, "GetPrimaryKey", [][]byte{library.GetPrimaryKey()}, [][]byte{model.GetPrimaryKey()})
		}
	})
}

func same(t *rapid.T, what string, want, got error) {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	if text(want) != text(got) {
		t.Fatalf("%s: %v, the library says %v", what, got, want)
	}
}

func equal(t *rapid.T, what string, want, got [][]byte) {
	if len(want) == 0 && len(got) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-library +model):\n%s", what, diff)
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// TestDefaultsAreTheLibrarys compares the two presets field by field.
func TestDefaultsAreTheLibrarys(t *testing.T) {
	for name, pair := range map[string]struct {
		real  *memberlist.Config
		model gossip.Config
	}{
		"lan":   {memberlist.DefaultLANConfig(), gossip.LANConfig("n")},
		"local": {memberlist.DefaultLocalConfig(), gossip.LocalConfig("n")},
	} {
		r := pair.real
		want := gossip.Config{
			Name: "n", Label: r.Label, SkipInboundLabelCheck: r.SkipInboundLabelCheck,
			GossipVerifyIncoming: r.GossipVerifyIncoming, GossipVerifyOutgoing: r.GossipVerifyOutgoing,
			ProbeInterval: r.ProbeInterval, ProbeTimeout: r.ProbeTimeout, IndirectChecks: r.IndirectChecks,
			DisableTCPPings: r.DisableTcpPings, AwarenessMaxMultiplier: r.AwarenessMaxMultiplier,
			SuspicionMult: r.SuspicionMult, SuspicionMaxTimeoutMult: r.SuspicionMaxTimeoutMult,
			RetransmitMult: r.RetransmitMult, GossipInterval: r.GossipInterval, GossipNodes: r.GossipNodes,
			GossipToTheDeadTime: r.GossipToTheDeadTime, PushPullInterval: r.PushPullInterval,
			TCPTimeout: r.TCPTimeout, DeadNodeReclaimTime: r.DeadNodeReclaimTime, UDPBufferSize: r.UDPBufferSize,
		}
		if diff := cmp.Diff(want, pair.model, cmp.Comparer(func(a, b func(gossip.Event)) bool { return (a == nil) == (b == nil) })); diff != "" {
			t.Errorf("%s (-library +model):\n%s", name, diff)
		}
	}
}

// TestTicksComeAtWholeIntervals watches when the library probes: at whole
// intervals from its creation. The random stagger that it waits before it
// listens to its ticker is over by the first tick, and shifts nothing.
func TestTicksComeAtWholeIntervals(t *testing.T) {
	for range 5 {
		synctest.Test(t, func(t *testing.T) {
			w := newNetwork(delay)
			created := time.Now()
			pings := 0
			w.tap = func(packet []byte) {
				if packet[0] == 0 { // a ping, in the clear
					pings++
					if late := time.Since(created) % time.Second; late != 0 {
						t.Errorf("a ping %v after a whole interval", late)
					}
				}
			}
			var lists []*memberlist.Memberlist
			for i := range 2 {
				cfg := memberlist.DefaultLocalConfig()
				cfg.Name, cfg.LogOutput, cfg.EnableCompression = nodeName(i), io.Discard, false
				cfg.Transport = w.listen(nodeAddr(i))
				list, err := memberlist.Create(cfg)
				if err != nil {
					t.Fatal(err)
				}
				lists = append(lists, list)
			}
			if _, err := lists[1].Join([]string{nodeAddr(0)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			for _, list := range lists {
				_ = list.Shutdown() // our transport's Shutdown does not fail
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if pings == 0 {
				t.Error("no pings seen")
			}
		})
	}
}

// TestMessageSizes compares the model's sizes, on which the packet budget rests,
// with the library's packets: the accusation that a prober sends along with its
// ping to a suspect, and the two news of a fresh pair.
func TestMessageSizes(t *testing.T) {
	sizes := make(map[byte]int) // of messages by type
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(delay)
		w.tap = func(packet []byte) {
			if packet[0] == 12 { // a checksum and what it covers
				packet = packet[5:]
			}
			if packet[0] != 7 { // not a compound
				sizes[packet[0]] = len(packet)
				return
			}
			at := 2 + 2*int(packet[1])
			for i := range int(packet[1]) {
				n := int(packet[2+2*i])<<8 | int(packet[3+2*i])
				sizes[packet[at]] = n
				at += n
			}
			if at != len(packet) {
				t.Errorf("a compound of %d bytes has %d", at, len(packet))
			}
		}
		var lists []*memberlist.Memberlist
		for i := range 3 {
			cfg := memberlist.DefaultLocalConfig()
			cfg.Name, cfg.LogOutput, cfg.EnableCompression = nodeName(i), io.Discard, false
			cfg.Transport = w.listen(nodeAddr(i))
			list, err := memberlist.Create(cfg)
			if err != nil {
				t.Fatal(err)
			}
			lists = append(lists, list)
			if _, err := list.Join([]string{nodeAddr(0)}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		for _, list := range []*memberlist.Memberlist{lists[2], lists[1], lists[0]} {
			_ = list.Shutdown() // our transport's Shutdown does not fail
			time.Sleep(20 * time.Second)
		}
		time.Sleep(time.Minute)
	})
	c := gossip.NewLab(1).Cluster
	for i := range 3 {
		c.ID(nodeName(i))
	}
	for kind, m := range map[byte]gossip.Msg{
		0:  {Kind: gossip.MsgPing, Seq: 1},
		1:  {Kind: gossip.MsgIndirectPing, Seq: 1},
		2:  {Kind: gossip.MsgAck, Seq: 1},
		3:  {Kind: gossip.MsgSuspect, Inc: 1},
		4:  {Kind: gossip.MsgAlive, Inc: 1},
		5:  {Kind: gossip.MsgDead, Inc: 1},
		11: {Kind: gossip.MsgNack, Seq: 1},
	} {
		if got := c.Size(&m); got != sizes[kind] {
			t.Errorf("a message of type %d has %d bytes, the library's %d", kind, got, sizes[kind])
		}
	}
}
