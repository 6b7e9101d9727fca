package gossipkeys

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/gossip"
	"github.com/seedbed-sim/seedbed/fakes/gossip/port"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// observedGossip is the agent's Gossip with an observer at each ring.
type observedGossip struct {
	*port.Gossip
	state *State
	node  *node
	clock clock.Clock
	slow  *engine.Stream // how long creations take
}

// creation is the longest time that it takes to create an instance.
const creation = 200 * time.Millisecond

// Create implements gossipkeys.Gossip.
func (g observedGossip) Create(ctx context.Context, opts gossipkeys.InstanceOptions) (gossipkeys.Instance, error) {
	if g.node.delivered == nil {
		g.state.breaks("no-keys-no-membership", fmt.Errorf("%s makes a gossip instance before it has any key", g.node.name))
	}
	if g.node.ended {
		g.state.breaks("shutdown-is-final", fmt.Errorf("%s makes a gossip instance after its agent has ended", g.node.name))
	}
	instance, err := g.Gossip.Create(ctx, opts)
	if err != nil {
		return nil, err
	}
	g.node.ring = instance.(*port.Instance).Ring()
	g.state.ringChanged(g.node)
	// To open sockets takes a moment, in which the agent may be asked to end.
	_ = g.clock.Sleep(ctx, g.slow.Duration(engine.Dist{Max: creation}))
	return observedInstance{Instance: instance, state: g.state, node: g.node}, nil
}

// observedInstance is a live instance.
type observedInstance struct {
	gossipkeys.Instance
	state *State
	node  *node
}

// Keyring implements gossipkeys.Instance.
func (i observedInstance) Keyring() gossipkeys.Keyring {
	return observedRing{i.Instance.Keyring(), i.state, i.node}
}

// Leave implements gossipkeys.Instance.
func (i observedInstance) Leave(timeout time.Duration) error {
	agent := i.node.agent
	if len(agent.Members()) > 0 || slices.ContainsFunc(probes, agent.OwnsIP) {
		i.state.breaks("shutdown-is-final", fmt.Errorf("%s leaves and still claims members or addresses", i.node.name))
	}
	return i.Instance.Leave(timeout)
}

// observedRing looks at the ring after each change, as a reader at that very
// moment would.
type observedRing struct {
	gossipkeys.Keyring
	state *State
	node  *node
}

// AddKey implements gossipkeys.Keyring.
func (r observedRing) AddKey(key []byte) error {
	return r.change(func() error { return r.Keyring.AddKey(key) })
}

// UseKey implements gossipkeys.Keyring.
func (r observedRing) UseKey(key []byte) error {
	return r.change(func() error { return r.Keyring.UseKey(key) })
}

// RemoveKey implements gossipkeys.Keyring.
func (r observedRing) RemoveKey(key []byte) error {
	return r.change(func() error { return r.Keyring.RemoveKey(key) })
}

func (r observedRing) change(do func() error) error {
	before := slices.Clone(r.GetKeys())
	shifts := r.node.ring.Shifts()
	err := do()
	after := r.GetKeys()
	switch {
	case len(after) == 0:
		r.state.breaks("ring-keeps-its-primary", fmt.Errorf("the ring of %s is empty", r.node.name))
	case r.node.ring.Shifts() != shifts:
		r.state.breaks("ring-keeps-its-primary", fmt.Errorf("a key that is not the last is removed from the ring of %s: a reader may miss one that stays", r.node.name))
	case len(after) < len(before) && !slices.ContainsFunc(after, func(k []byte) bool { return slices.Equal(k, before[0]) }):
		r.state.breaks("ring-keeps-its-primary", fmt.Errorf("the ring of %s lost the key that it encrypts with", r.node.name))
	}
	r.state.ringChanged(r.node)
	return err
}

// ringChanged tells the story that a ring has changed.
func (s *State) ringChanged(n *node) {
	s.world.Engine().Touch()
	s.world.Cluster.Narrate("sys", n.name+"/agent", "ring", fmt.Sprintf("its ring holds %v", s.ringNames(n)))
}

// ringNames are the keys of a ring by name, the primary first.
func (s *State) ringNames(n *node) []string {
	names := []string{}
	for _, raw := range n.ring.GetKeys() {
		if key, err := gossipkeys.NewKey(raw); err == nil {
			names = append(names, s.ledger.name(key))
		}
	}
	return names
}

// up reports whether the node's instance runs.
func (n *node) up() bool { return n.instance() != nil && n.instance().Up() }

func (n *node) instance() *gossip.Node {
	if n.gossip == nil {
		return nil
	}
	return n.gossip.Node()
}
