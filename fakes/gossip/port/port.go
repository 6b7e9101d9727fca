package port

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/gossip"
)

// Await parks the calling task until done is called or ctx ends, and returns
// ctx's error in the latter case; a done that comes later does nothing. It calls
// start at once, which may call done itself. The text says what is waited for.
type Await func(ctx context.Context, what string, start func(done func())) error

// Gossip makes instances of the model for one process on one node.
type Gossip struct {
	// Cluster is the model.
	Cluster *gossip.Cluster
	// Addr is where the instances listen, one at a time.
	Addr netip.AddrPort
	// Await parks tasks of the process.
	Await Await
	// Config gives the timing; nil means gossip.AgentConfig. Its names, keys,
	// verify flags and OnEvent are replaced.
	Config func(name string) gossip.Config

	instance *Instance // the last one made
}

var (
	_ gossipkeys.Gossip   = (*Gossip)(nil)
	_ gossipkeys.Instance = (*Instance)(nil)
)

// Create implements [gossipkeys.Gossip].
func (g *Gossip) Create(ctx context.Context, opts gossipkeys.InstanceOptions) (gossipkeys.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create gossip instance %s: %w", opts.Name, err)
	}
	keys := opts.Keys.Bytes()
	if len(keys) == 0 {
		return nil, fmt.Errorf("create gossip instance %s: %w", opts.Name, gossipkeys.ErrNoKeys)
	}
	ring, err := gossip.NewRing(keys, keys[0])
	if err != nil {
		return nil, fmt.Errorf("create gossip instance %s: %w", opts.Name, err)
	}
	config := g.Config
	if config == nil {
		config = gossip.AgentConfig
	}
	cfg := config(opts.Name)
	cfg.Name, cfg.Addr, cfg.Keyring = opts.Name, g.Addr.String(), ring
	cfg.GossipVerifyIncoming, cfg.GossipVerifyOutgoing = opts.VerifyIncoming, opts.VerifyOutgoing
	inst := &Instance{g: g, ring: ring}
	if opts.OnEvent != nil {
		cfg.OnEvent = func(ev gossip.Event) { inst.pass(ev, opts.OnEvent) }
	}
	node, err := g.Cluster.Create(cfg)
	if err != nil {
		return nil, err
	}
	inst.node, g.instance = node, inst
	return inst, nil
}

// Node is the instance made last, or nil.
func (g *Gossip) Node() *gossip.Node {
	if g.instance == nil {
		return nil
	}
	return g.instance.node
}

// Crash ends the instance as the death of the process does: to be called when
// the process ends in any way.
func (g *Gossip) Crash() {
	if n := g.Node(); n != nil {
		n.Crash()
	}
}

// Instance is one running member. It implements [gossipkeys.Instance].
type Instance struct {
	g    *Gossip
	node *gossip.Node
	ring *gossip.Ring
}

// Node is the model's instance behind this one.
func (i *Instance) Node() *gossip.Node { return i.node }

// Ring is the live ring, with the model's extras.
func (i *Instance) Ring() *gossip.Ring { return i.ring }

// Keyring implements [gossipkeys.Instance].
func (i *Instance) Keyring() gossipkeys.Keyring { return i.ring }

// Join implements [gossipkeys.Instance]. When ctx ends it returns; the exchange
// under way runs its course without it, as it would in memberlist.
func (i *Instance) Join(ctx context.Context, peers []gossipkeys.Peer) (int, error) {
	joined := 0
	var errs []error
	for _, p := range peers {
		if !i.node.Up() {
			errs = append(errs, fmt.Errorf("join %s: %w", p.Name, gossip.ErrDown))
			break
		}
		var failed error
		err := i.g.Await(ctx, "gossip join", func(done func()) {
			i.node.Join([]string{p.Addr.String()}, func(_ int, err error) {
				failed = err
				done()
			})
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("join %s: %w", p.Name, err))
			break
		}
		if failed != nil {
			errs = append(errs, fmt.Errorf("join %s: %w", p.Name, failed))
			continue
		}
		joined++
	}
	return joined, errors.Join(errs...)
}

// Members implements [gossipkeys.Instance].
func (i *Instance) Members() []gossipkeys.Member {
	if !i.node.Up() {
		return nil
	}
	members := make([]gossipkeys.Member, 0, i.node.NumMembers())
	i.node.EachMember(func(id gossip.NodeID, at gossip.Addr) {
		members = append(members, i.member(id, at))
	})
	return members
}

// Leave implements [gossipkeys.Instance].
func (i *Instance) Leave(timeout time.Duration) error {
	if !i.node.Up() {
		return fmt.Errorf("leave: %w", gossip.ErrDown)
	}
	var failed error
	err := i.g.Await(context.Background(), "gossip leave", func(done func()) {
		i.node.Leave(timeout, func(err error) {
			failed = err
			done()
		})
	})
	return errors.Join(err, failed)
}

// Shutdown implements [gossipkeys.Instance].
func (i *Instance) Shutdown() error {
	i.node.Shutdown()
	return nil
}

// pass translates an event for the agent. Most kinds are none of its business.
func (i *Instance) pass(ev gossip.Event, to func(gossipkeys.MemberEvent)) {
	kind := gossipkeys.MemberJoined
	switch ev.Kind {
	case gossip.EventJoin:
	case gossip.EventLeave:
		kind = gossipkeys.MemberLeft
	default:
		return
	}
	to(gossipkeys.MemberEvent{Kind: kind, Member: i.member(ev.Peer, ev.PeerAddr)})
}

func (i *Instance) member(id gossip.NodeID, at gossip.Addr) gossipkeys.Member {
	m := gossipkeys.Member{Name: i.g.Cluster.Name(id)}
	// Every endpoint made by a Gossip is named by an address; one that is not is
	// an attacker's, and has none.
	if addr, err := netip.ParseAddrPort(i.g.Cluster.AddrName(at)); err == nil {
		m.Addr = addr
	}
	return m
}

// ErrStuck is returned by the Await of [Drive] when the wait does not end.
var ErrStuck = errors.New("still waiting")

// Drive is an Await for code that runs on the same goroutine as the lab: it lets
// the lab's time pass until done is called, for at most the given time. The
// context is looked at when the call begins only.
func Drive(lab *gossip.Lab, most time.Duration) Await {
	return func(ctx context.Context, what string, start func(done func())) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		finished := false
		start(func() { finished = true })
		if !lab.RunUntil(most, func() bool { return finished }) {
			return fmt.Errorf("%s: %w after %v", what, ErrStuck, most)
		}
		return nil
	}
}
