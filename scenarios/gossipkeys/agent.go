package gossipkeys

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/gossip"
	"github.com/seedbed-sim/seedbed/fakes/gossip/port"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// node is what the harness knows of one node's agent. All but the first two
// belong to the latest incarnation of its process.
type node struct {
	name string
	addr netip.AddrPort

	agent     *gossipkeys.Agent
	gossip    *port.Gossip
	ring      *gossip.Ring      // of the instance; nil before there is one
	delivered gossipkeys.Keys   // latest; nil before the first
	lists     []gossipkeys.Keys // all that were delivered
	wasReady  bool
	started   time.Duration
	primary   string // the key that it encrypts with, by name; empty for none

	acceptsPlaintext, sendsPlaintext bool

	shutDown context.CancelFunc // asks the process to end
	ended    bool               // it has, by itself
}

// begin forgets what belonged to the incarnation before.
func (n *node) begin() {
	*n = node{name: n.name, addr: n.addr, acceptsPlaintext: n.acceptsPlaintext, sendsPlaintext: n.sendsPlaintext}
}

// runAgent is the main function of the agent's process.
func (s *State) runAgent(ctx context.Context, env *cluster.Env) {
	n := s.byName[env.Node]
	n.begin()
	n.started = s.world.Engine().Elapsed()
	s.env.attach(n.name, env.Sim())
	n.gossip = &port.Gossip{Cluster: s.env.cluster, Addr: n.addr, Await: awaitIn(env.Sim()), Config: s.timing()}
	env.OnEnd(n.gossip.Crash)
	log := s.logOf(env)
	n.agent = gossipkeys.NewAgent(gossipkeys.AgentConfig{
		Node: n.name, Clock: env.Clock, Gossip: observedGossip{n.gossip, s, n, env.Clock, s.world.Engine().Stream("creation", n.name)},
		Peers:           gossipkeys.NewNodePeers(env.Cache, gossipkeys.Port),
		Reporter:        gossipkeys.NewNodeReporter(env.Kube, env.Cache, n.name),
		Mode:            s.config.Mode,
		AcceptPlaintext: n.acceptsPlaintext, SendPlaintext: n.sendsPlaintext,
		Log: log,
	})
	watcher := gossipkeys.NewSecretWatcher(env.Cache, Namespace,
		gossipkeys.WithLogger(log), gossipkeys.WithLiveStart(env.Kube), gossipkeys.WithVersions(n.agent.OnVersion))
	observed := &source{state: s, node: n, env: env, inner: watcher, lag: s.world.Engine().Stream("lag", n.name)}
	controllers := n.agent.Controllers(observed)
	if s.config.Unselective {
		unselect(controllers)
	}
	ctx, n.shutDown = env.Clock.WithCancel(ctx)
	group := env.Clock.NewGroup(ctx)
	group.Go("controllers", func(ctx context.Context) { s.drive(ctx, env, log, controllers) })
	group.Go("agent", func(ctx context.Context) {
		if err := n.agent.Run(ctx); err != nil {
			log.Error(err, "Agent ended")
		}
	})
	group.Wait()
	n.ended = true
	if n.up() {
		s.breaks("shutdown-is-final", fmt.Errorf("the agent of %s has ended, and its gossip instance still runs", n.name))
	}
}

// unselect widens the watches of single objects to all objects of their kind
// and namespace: the mistake of an agent that forgets the field selector.
func unselect(controllers []kube.Controller) {
	for _, c := range controllers {
		for i := range c.Watches {
			c.Watches[i].Name = ""
		}
	}
}

// drive runs controllers for as long as the process lives.
func (s *State) drive(ctx context.Context, env *cluster.Env, log logr.Logger, controllers []kube.Controller) {
	if err := env.Run(ctx, controllers...); err != nil && ctx.Err() == nil {
		log.Error(err, "Controllers ended")
	}
}

func (s *State) timing() func(string) gossip.Config {
	if s.config.Timing == "lan" {
		return gossip.LANConfig
	}
	return gossip.AgentConfig
}

// awaitIn parks tasks of a simulated process.
func awaitIn(p *engine.Process) port.Await {
	return func(ctx context.Context, what string, start func(done func())) error {
		return p.Await(ctx, engine.Op{Verb: what}, func(w *engine.Wait) { start(w.Done) })
	}
}
