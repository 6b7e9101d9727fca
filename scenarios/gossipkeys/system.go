package gossipkeys

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// State is the system in one run.
type State struct {
	world  *scenarios.World
	config Config
	env    *environment
	nodes  []*node
	byName map[string]*node
	agents *cluster.Workload

	ledger   ledger
	history  history
	judged   int // versions looked at by existingKeysStay
	compared int // versions looked at by adjacent
	count    counts
	breaches map[string]error
	talking  talking
	commands int // operators' commands run

	listening                bool // the attacker
	captured                 []capture
	replayed, replaysRefused int
}

// System returns the system for registration.
func System() scenarios.System {
	return scenarios.System{
		Name:       "gossipkeys",
		Doc:        "Keys for the gossip of node agents: provisioned in a Secret, watched and applied on every node, rotated without a split.",
		Config:     defaults(),
		Check:      scenarios.CheckWith(check),
		Processes:  scenarios.ProcessesWith(processes),
		Build:      scenarios.BuildWith(build),
		View:       scenarios.ViewOf(view),
		Core:       scenarios.CoreWith(coreTime, judgeCore),
		Steps:      steps(),
		Properties: properties(),
	}
}

func check(c Config, shape scenarios.Cluster) error {
	if !shape.NodeObjects {
		return &scenarios.ClusterError{Field: "nodeObjects",
			Err: errors.New("agents of gossipkeys find their peers among the Node objects; write nodeObjects: true under cluster")}
	}
	return nil
}

// processes names what build starts. Deployments are spread over the nodes.
func processes(c Config, shape scenarios.Cluster) []string {
	nodes := shape.NodeNames()
	names := make([]string, 0, len(nodes)+c.Controllers+1)
	for _, n := range nodes {
		names = append(names, n+"/agent")
	}
	for i := range c.Controllers {
		names = append(names, fmt.Sprintf("%s/controller-%d", nodes[i%len(nodes)], i))
	}
	if c.Rotator {
		names = append(names, nodes[0]+"/rotator-0")
	}
	return names
}

func build(w *scenarios.World, c Config) (*State, error) {
	s := &State{
		world: w, config: c, env: newEnvironment(w.Engine(), w.Cluster.Network()),
		byName: map[string]*node{}, breaches: map[string]error{}, talking: talking{spoken: map[string]time.Duration{}},
	}
	s.env.watch = s.gossiped
	s.env.tap = s.capture
	if err := grant(w); err != nil {
		return nil, err
	}
	if err := s.record(); err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	for i, n := range w.Cluster.Nodes() {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i + 1)}), gossipkeys.Port)
		member := &node{name: n.Name(), addr: addr, acceptsPlaintext: c.AcceptPlaintext, sendsPlaintext: c.SendPlaintext}
		s.nodes, s.byName[n.Name()] = append(s.nodes, member), member
		if err := s.address(member); err != nil {
			return nil, err
		}
	}
	s.deploy()
	w.Engine().OnTouched(func() error { s.look(); return nil })
	return s, nil
}

// begin writes the Secret that the scenario starts with.
func (s *State) begin() error {
	if len(s.config.Keys) == 0 {
		return nil
	}
	keys, err := s.ledger.list(s.config.Keys)
	if err != nil {
		return err
	}
	return s.edit(text(keys))
}

// deploy starts the processes.
func (s *State) deploy() {
	c := s.world.Cluster
	s.agents = c.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "agent", Main: s.runAgent, User: user(agentUser)})
	for _, p := range s.agents.Processes() {
		m := s.byName[p.Node().Name()]
		s.env.add(m.name, m.addr.String(), m.name, c.Engine().Process(p.Name()))
	}
	s.env.add(attacker, attackerAddr, attacker, nil)
	if n := s.config.Controllers; n > 0 {
		c.Deploy(cluster.WorkloadSpec{Kind: cluster.Deployment, Name: "controller", Replicas: n, Main: s.runController, User: user(controllerUser)})
	}
	if s.config.Rotator {
		c.Deploy(cluster.WorkloadSpec{Kind: cluster.Deployment, Name: "rotator", Main: s.runRotator, User: user(rotatorUser)})
	}
}

// address gives a node's object the address where its agent listens.
func (s *State) address(n *node) error {
	var o corev1.Node
	if err := s.world.Admin().Get(context.Background(), client.ObjectKey{Name: n.name}, &o); err != nil {
		return fmt.Errorf("read Node %s: %w", n.name, err)
	}
	o.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.addr.Addr().String()}}
	if err := s.world.Admin().Status().Update(context.Background(), &o); err != nil {
		return fmt.Errorf("give Node %s an address: %w", n.name, err)
	}
	return nil
}

// runController is the main function of a controller's process.
func (s *State) runController(ctx context.Context, env *cluster.Env) {
	s.drive(ctx, env, s.logOf(env), []kube.Controller{s.watchProvisioner(env)})
}

// runRotator is the main function of the rotator's process.
func (s *State) runRotator(ctx context.Context, env *cluster.Env) {
	log := s.logOf(env)
	rotator := gossipkeys.NewRotator(env.Kube, env.Cache, env.Clock, env.Entropy, Namespace, gossipkeys.WithLogger(log))
	s.drive(ctx, env, log, []kube.Controller{rotator.Controller()})
}
