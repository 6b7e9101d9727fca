package gossipkeys

import (
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/gossip"
)

// talking follows who could read whom, and what that did to the cluster.
type talking struct {
	lastDeaf time.Duration // last moment at which some running node could not read another
	trouble  time.Duration // last moment at which a machine or link was not as it should be

	spoken map[string]time.Duration // by key: when the last node ceased to encrypt with it
}

// hears is this package's own reading of who understands whom: a node that
// encrypts is heard by whoever has its primary key, one that does not by
// whoever has no keys or does not insist.
func hears(from, to *node) bool {
	speaker, listener := from.ring.GetKeys(), to.ring.GetKeys()
	if len(speaker) == 0 || from.sendsPlaintext {
		return len(listener) == 0 || to.acceptsPlaintext
	}
	return slices.ContainsFunc(listener, func(k []byte) bool { return slices.Equal(k, speaker[0]) })
}

// deafPair finds a running node that cannot read another.
func (s *State) deafPair() error {
	for _, from := range s.nodes {
		for _, to := range s.nodes {
			if from != to && from.up() && to.up() && !hears(from, to) {
				return fmt.Errorf("%s cannot read %s: rings %v and %v", to.name, from.name, s.ringNames(to), s.ringNames(from))
			}
		}
	}
	return nil
}

// gossiped is told of every event of the gossip model.
func (s *State) gossiped(ev gossip.Event) {
	switch ev.Kind {
	case gossip.EventLeave:
		if ev.Reason != gossip.LeftGracefully {
			s.count.leaves++
			s.mourn(ev)
		}
	case gossip.EventDecryptFail:
		s.count.decryptFailures++
	}
}

// quiet is how long all must have been well for a death to have no other
// explanation: the longest suspicion of either timing, and then some.
const quiet = 60 * time.Second

// mourn judges a death: if every node could read every other for long enough,
// and nothing else was wrong, nobody should have died.
func (s *State) mourn(ev gossip.Event) {
	peer := s.env.cluster.Name(ev.Peer)
	victim, known := s.byName[peer]
	now := s.world.Engine().Elapsed()
	if !known || !victim.up() || now-s.talking.lastDeaf < quiet || now-s.talking.trouble < quiet {
		return
	}
	s.breaks("nobody-dies-of-deafness", fmt.Errorf("%s declared %s dead although all nodes could read each other and nothing was wrong with either",
		s.env.cluster.Name(ev.Node), peer))
}

// look keeps track; it is called whenever something has changed.
func (s *State) look() {
	now := s.world.Engine().Elapsed()
	if s.deafPair() != nil {
		s.talking.lastDeaf = now
	}
	if !s.allWell() {
		s.talking.trouble = now
	}
	for _, n := range s.nodes {
		primary := ""
		if n.up() {
			primary = s.ringNames(n)[0]
		}
		if n.primary != primary && n.primary != "" {
			s.talking.spoken[n.primary] = now
		}
		n.primary = primary
	}
}

// judgeDrop judges the keys that the rotator drops from the list.
func (s *State) judgeDrop(before, after *version) {
	if after.writer != rotatorUser || before.keys == nil || after.keys == nil {
		return
	}
	for _, key := range before.keys {
		if after.keys.Contains(key) {
			continue
		}
		name := s.ledger.name(key)
		for _, n := range s.nodes {
			if n.primary == name {
				s.breaks("drops-wait-for-streams", fmt.Errorf("the rotator drops %s, with which %s encrypts", name, n.name))
			}
		}
		if last, ok := s.talking.spoken[name]; ok && after.at-last < gossipkeys.SettleTime {
			s.breaks("drops-wait-for-streams", fmt.Errorf("the rotator drops %s %v after the last node encrypted with it", name, after.at-last))
		}
	}
}

// allWell reports whether every machine, link and agent is as it should be.
// While faults strike in the background nobody can say that.
func (s *State) allWell() bool {
	if f := s.world.Scenario.Faults; (f.Profile != "" || len(f.Add) > 0) && !s.world.Calm() {
		return false
	}
	for _, n := range s.nodes {
		if !n.up() {
			return false
		}
	}
	for _, p := range s.agents.Processes() {
		if p.Paused() {
			return false
		}
	}
	return !s.world.Cluster.Parted()
}
