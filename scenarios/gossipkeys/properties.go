package gossipkeys

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// properties are the invariants of the specification, in its order.
func properties() []scenarios.Property {
	type check = scenarios.Check
	always := func(name, meaning string, look func(*State) error) scenarios.Property {
		return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) check {
			return check{Always: func() error { return look(s) }}
		})
	}
	eventually := func(name, meaning string, within time.Duration, look func(*State) error) scenarios.Property {
		return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) check {
			return check{Eventually: func() error { return look(s) }, Within: within}
		})
	}
	return []scenarios.Property{
		observed("lists-are-read-whole", "Agents act on whole key lists only: a node that skipped a line might encrypt with another key than its peers."),
		observed("written-keys-read-back", "What the provisioner writes reads back as the list it meant: else a restart would lose the cluster's keys."),
		always("existing-keys-stay", "The provisioner never changes an entry that holds anything: keys that somebody chose must survive it.", (*State).existingKeysStay),
		observed("lost-keys-come-back", "A provisioner that has seen keys restores them when they vanish, and never makes new ones: new keys would split the cluster."),
		observed("only-stored-keys-are-known", "The provisioner remembers only lists that were really stored: a key whose write failed is nobody's key."),
		observed("one-write-per-reconcile", "A reconcile writes at most once, and not at all when nothing is missing: else controllers would write for ever."),
		observed("invalid-data-waits-for-repair", "Data that is no key list is looked at once per change: only a change can repair it, and retries would only repeat the complaint."),
		eventually("secret-comes-back", "Once the API works, a missing Secret is there within the longest back-off and a round trip: without keys new nodes stay out of the cluster.",
			60*time.Second+15*time.Second, (*State).secretPresent),
		observed("deliveries-are-changes", "Key lists are delivered one at a time, never empty and never the same twice in a row: each delivery costs a join with every peer."),
		eventually("deliveries-are-current", "Once all is calm, every agent was last delivered what the Secret holds: a node left behind is a node left out.",
			2*time.Minute, (*State).deliveriesCurrent),
		always("no-keys-no-membership", "An agent without keys has no instance, no members and no addresses, and once ready it stays ready: gossip in clear could be forged.", (*State).keylessIsNobody),
		always("ring-keeps-its-primary", "A ring is never empty, and encrypts with the first key of a list that was delivered: a reader in between would drop what its peers send.", (*State).ringsWhole),
		observed("starts-on-current-keys", "The first list that a node takes after a start is not older than its start: a node that came up on a dropped key would be alone until its cache caught up."),
		observed("nobody-dies-of-deafness", "While all nodes can read each other and nothing else is wrong, none is declared dead: each such death moves addresses about."),
		always("all-nodes-understand-each-other", "At every instant of a gated rotation every node can read every other, whatever the order of nodes and whoever restarts.", (*State).deafPair),
		always("written-lists-are-adjacent", "The rotator goes from one list to another only if nodes with either understand each other: during the step some have the one, some the other.", (*State).adjacent),
		observed("drops-wait-for-streams", "The rotator drops a key only when nobody has encrypted with it for the settle time: what is still on its way could not be read."),
		eventually("membership-returns", "Once all nodes hold the same list, everybody lists everybody again: a split that stays needs a person.",
			2*time.Minute, (*State).everybodyListed),
		observed("shutdown-is-final", "An agent that has ended makes no instance and takes no address: nobody would be left to end it."),
		scenarios.NewProperty("keys-stay-secret", "No key material appears in logs, events, reports or conditions: whoever reads those could join the gossip.",
			func(_ *scenarios.World, s *State) check {
				return check{Always: func() error { return s.breaches["keys-stay-secret"] }, Finally: s.readable}
			}),
	}
}

func (s *State) existingKeysStay() error {
	if err := s.breaches["existing-keys-stay"]; err != nil {
		return err
	}
	for ; s.judged < len(s.history.versions); s.judged++ {
		if s.judged == 0 {
			continue
		}
		before, v := &s.history.versions[s.judged-1], &s.history.versions[s.judged]
		if v.writer != controllerUser {
			continue
		}
		if before.exists && len(before.data) > 0 {
			return fmt.Errorf("the provisioner wrote %v over an entry that was not empty", s.ledger.namesOf(v.keys))
		}
		if v.keys == nil {
			return errors.New("the provisioner wrote an entry that holds no keys")
		}
	}
	return nil
}

func (s *State) secretPresent() error {
	last := s.history.last()
	if s.config.Controllers > 0 && (!last.exists || len(last.data) == 0) {
		return errors.New("there is no key in the Secret")
	}
	return nil
}

func (s *State) deliveriesCurrent() error {
	want := s.history.last().keys
	if want == nil {
		return nil
	}
	for _, n := range s.nodes {
		if n.delivered == nil || !n.delivered.Equal(want) {
			return fmt.Errorf("%s was last delivered %v, but the Secret holds %v", n.name, s.ledger.namesOf(n.delivered), s.ledger.namesOf(want))
		}
	}
	return nil
}

// probes are addresses that some node must own, whichever it is.
var probes = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.77")}

func (s *State) keylessIsNobody() error {
	if err := s.breaches["no-keys-no-membership"]; err != nil {
		return err
	}
	for _, n := range s.nodes {
		if n.agent == nil {
			continue
		}
		ready := n.agent.Ready()
		if n.wasReady && !ready {
			return fmt.Errorf("%s was ready and is not any more", n.name)
		}
		n.wasReady = ready
		if n.delivered != nil {
			continue
		}
		if ready || n.up() || len(n.agent.Members()) > 0 || slices.ContainsFunc(probes, n.agent.OwnsIP) {
			return fmt.Errorf("%s has no keys, but is ready or claims members or addresses", n.name)
		}
	}
	return nil
}

func (s *State) ringsWhole() error {
	if err := s.breaches["ring-keeps-its-primary"]; err != nil {
		return err
	}
	for _, n := range s.nodes {
		if !n.up() {
			continue
		}
		ring := n.ring.GetKeys()
		if len(ring) == 0 {
			return fmt.Errorf("the ring of %s is empty", n.name)
		}
		primary, err := gossipkeys.NewKey(ring[0])
		if err != nil {
			return fmt.Errorf("the primary of %s: %w", n.name, err)
		}
		if !slices.ContainsFunc(n.lists, func(l gossipkeys.Keys) bool { return l[0].Equal(primary) }) {
			return fmt.Errorf("%s encrypts with %s, which was the first of no list delivered to it", n.name, s.ledger.name(primary))
		}
	}
	return nil
}

func (s *State) adjacent() error {
	for ; s.compared < len(s.history.versions); s.compared++ {
		if s.compared == 0 {
			continue
		}
		before, v := &s.history.versions[s.compared-1], &s.history.versions[s.compared]
		if v.writer != rotatorUser || before.keys == nil {
			continue
		}
		if v.keys == nil || !v.keys.Contains(before.keys[0]) || !before.keys.Contains(v.keys[0]) {
			return fmt.Errorf("the rotator went from %v to %v", s.ledger.namesOf(before.keys), s.ledger.namesOf(v.keys))
		}
	}
	return nil
}

func (s *State) everybodyListed() error {
	for _, n := range s.nodes {
		if !n.up() {
			return fmt.Errorf("%s is not in the gossip cluster", n.name)
		}
		if got := len(n.agent.Members()); got != len(s.nodes) {
			return fmt.Errorf("%s lists %d of %d members: %v", n.name, got, len(s.nodes), n.agent.Members())
		}
	}
	return nil
}
