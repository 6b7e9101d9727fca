package gossipkeys

import (
	"fmt"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/gossip"
)

// stance makes a node that holds keys and has verify flags.
func stance(t *testing.T, name string, keys []KeyName, acceptsPlaintext, sendsPlaintext bool) *node {
	t.Helper()
	var l ledger
	list, err := l.list(keys)
	if err != nil {
		t.Fatal(err)
	}
	raw := list.Bytes()
	var primary []byte
	if len(raw) > 0 {
		primary = raw[0]
	}
	ring, err := gossip.NewRing(raw, primary)
	if err != nil {
		t.Fatal(err)
	}
	return &node{name: name, ring: ring, acceptsPlaintext: acceptsPlaintext, sendsPlaintext: sendsPlaintext}
}

// TestWhoHearsWhom is the table of the specification's section 8, for packets:
// processed or not.
func TestWhoHearsWhom(t *testing.T) {
	type row struct {
		speaker []KeyName
		plain   bool // although it has keys
		ring    []KeyName
		accepts bool
		want    bool
	}
	K1, K2, K12, none := []KeyName{"K1"}, []KeyName{"K2"}, []KeyName{"K1", "K2"}, []KeyName{}
	for _, r := range []row{
		// No ring or an empty one: plaintext is processed, the rest is garbage.
		{none, false, none, false, true}, {K1, true, none, false, true}, {K1, false, none, false, false}, {K1, false, none, true, false},
		// A ring, and incoming is verified: plaintext is dropped.
		{none, false, K1, false, false}, {K1, true, K1, false, false}, {K1, false, K1, false, true}, {K2, false, K1, false, false},
		{K2, false, K12, false, true}, {K12, false, K2, false, false},
		// A ring, and incoming is not verified: plaintext is processed as well.
		{none, false, K1, true, true}, {K1, true, K2, true, true}, {K1, false, K1, true, true}, {K2, false, K1, true, false},
	} {
		from, to := stance(t, "from", r.speaker, false, r.plain), stance(t, "to", r.ring, r.accepts, false)
		if got := hears(from, to); got != r.want {
			t.Errorf("%+v: hears %v", r, got)
		}
	}
}

// TestHearsAgreesWithModelAndCore compares three readings of the specification,
// written apart from each other, over all stances: the observer's, the gossip
// model's and the production code's.
func TestHearsAgreesWithModelAndCore(t *testing.T) {
	rings := [][]KeyName{{}, {"K1"}, {"K2"}, {"K1", "K2"}, {"K2", "K1"}, {"K3", "K1"}}
	var nodes []*node
	var instances []*gossip.Node
	lab := gossip.NewLab(1)
	for _, ring := range rings {
		for flags := range 4 {
			name := fmt.Sprintf("%v/%d", ring, flags)
			n := stance(t, name, ring, flags&1 != 0, flags&2 != 0)
			cfg := gossip.AgentConfig(name)
			cfg.Keyring, cfg.GossipVerifyIncoming, cfg.GossipVerifyOutgoing = n.ring, !n.acceptsPlaintext, !n.sendsPlaintext
			instance, err := lab.Cluster.Create(cfg)
			if err != nil {
				t.Fatal(err)
			}
			nodes, instances = append(nodes, n), append(instances, instance)
		}
	}
	core := func(n *node) gossipkeys.Stance {
		return gossipkeys.Stance{Ring: gossipkeys.RingFingerprints(n.ring), VerifyIncoming: !n.acceptsPlaintext, VerifyOutgoing: !n.sendsPlaintext}
	}
	for i, from := range nodes {
		for j, to := range nodes {
			observer, model, production := hears(from, to), gossip.Talks(instances[i], instances[j]), gossipkeys.Talks(core(from), core(to))
			if observer != model || observer != production {
				t.Errorf("%s hears %s: observer %v, model %v, production %v", to.name, from.name, observer, model, production)
			}
		}
	}
}

// TestQuietIsLongerThanAnySuspicion: the property accuses nobody
// while a fault, or deafness, could still be the reason.
func TestQuietIsLongerThanAnySuspicion(t *testing.T) {
	for _, cfg := range []gossip.Config{gossip.LocalConfig("a"), gossip.LANConfig("a")} {
		longest := time.Duration(cfg.SuspicionMult*cfg.SuspicionMaxTimeoutMult) * cfg.ProbeInterval
		if slack := quiet - longest; slack < 20*time.Second {
			t.Errorf("a suspicion lasts up to %v, and the property looks back only %v", longest, quiet)
		}
	}
}
