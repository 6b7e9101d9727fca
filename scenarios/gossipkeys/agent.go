package gossipkeys

import (
	"context"
	"net/netip"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/gossip"
	"github.com/seedbed-sim/seedbed/fakes/gossip/port"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// node is what the harness knows of one node's agent.
type node struct {
	name string
	addr netip.AddrPort

	agent  *gossipkeys.Agent // of the latest incarnation
	gossip *port.Gossip
}

// runAgent is the main function of the agent's process.
func (s *State) runAgent(ctx context.Context, env *cluster.Env) {
	n := s.byName[env.Node]
	n.gossip = &port.Gossip{Cluster: s.env.cluster, Addr: n.addr, Await: awaitIn(env.Sim()), Config: s.timing()}
	env.OnEnd(n.gossip.Crash)
	agent := gossipkeys.NewAgent(gossipkeys.AgentConfig{
		Node: n.name, Clock: env.Clock, Gossip: n.gossip,
		Peers:    gossipkeys.NewNodePeers(env.Cache, gossipkeys.Port),
		Reporter: gossipkeys.NewNodeReporter(env.Kube, env.Cache, n.name),
		Mode:     s.config.Mode, Log: env.Log,
		AcceptPlaintext: s.config.AcceptPlaintext, SendPlaintext: s.config.SendPlaintext,
	})
	n.agent = agent
	watcher := gossipkeys.NewSecretWatcher(env.Cache, Namespace,
		gossipkeys.WithLogger(env.Log), gossipkeys.WithLiveStart(env.Kube), gossipkeys.WithVersions(agent.OnVersion))
	group := env.Clock.NewGroup(ctx)
	group.Go("controllers", func(ctx context.Context) { s.drive(ctx, env, agent.Controllers(watcher)) })
	group.Go("agent", func(ctx context.Context) {
		if err := agent.Run(ctx); err != nil {
			env.Log.Error(err, "Agent ended")
		}
	})
	group.Wait()
}

// drive runs controllers for as long as the process lives.
func (s *State) drive(ctx context.Context, env *cluster.Env, controllers []kube.Controller) {
	if err := env.Run(ctx, controllers...); err != nil && ctx.Err() == nil {
		env.Log.Error(err, "Controllers ended")
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
