package conformance

import (
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/gossip"
)

// TestSuiteCatchesWrongModels plants errors in the model and insists that the
// comparison with the library notices each. A suite that passes whatever the
// model does would be worth nothing.
func TestSuiteCatchesWrongModels(t *testing.T) {
	record := readRecord(t)
	mutants := []struct {
		name   string
		script string // in which it shows
		tweak  func(*gossip.Config)
	}{
		{"suspicion one interval too long", "crash/local", func(c *gossip.Config) { c.SuspicionMult++ }},
		{"accusers do not shorten the timer", "crash/lan", func(c *gossip.Config) { c.SuspicionMaxTimeoutMult = 12; c.SuspicionMult = 3 }},
		{"nobody is asked to ping", "pair-cut", func(c *gossip.Config) { c.IndirectChecks = 0 }},
		{"the dead are not told", "swap/lan/20s", func(c *gossip.Config) { c.GossipToTheDeadTime = time.Millisecond }},
		{"the dead are told for ever", "swap/local/20s", func(c *gossip.Config) { c.GossipToTheDeadTime = time.Hour }},
		{"no push/pull", "form/local", func(c *gossip.Config) { c.PushPullInterval = time.Hour }},
		{"broadcasts are sent once", "leave", func(c *gossip.Config) { c.RetransmitMult = 1 }},
		{"gossip is four times as slow", "leave", func(c *gossip.Config) { c.GossipInterval *= 4 }},
		{"no health score", "flip-early", func(c *gossip.Config) { c.AwarenessMaxMultiplier = 1 }},
		{"no ping over a stream", "lossy", func(c *gossip.Config) { c.DisableTCPPings = true }},
		{"plaintext is let in", "rollout/skip-2", func(c *gossip.Config) { c.GossipVerifyIncoming = false }},
		{"outgoing is never encrypted", "safe/local", func(c *gossip.Config) { c.GossipVerifyOutgoing = false }},
	}
	byName := make(map[string]script)
	for _, sc := range scripts() {
		byName[sc.name] = sc
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			sc, ok := byName[m.script]
			if !ok {
				t.Fatalf("no script %s", m.script)
			}
			for _, v := range compare(playModel(sc, m.tweak), record[m.script]) {
				if v.p < unlikely {
					t.Logf("caught by %s: %s: model %s, library %s", m.script, v.measure, v.model, v.real)
					return
				}
			}
			t.Errorf("not caught by %s", m.script)
		})
	}
}
