package gossipkeys

import (
	"context"
	"fmt"
	"net/netip"

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
}

// System returns the system for registration.
func System() scenarios.System {
	return scenarios.System{
		Name:   "gossipkeys",
		Doc:    "Keys for the gossip of node agents: provisioned in a Secret, watched and applied on every node, rotated without a split.",
		Config: defaults(),
		Build:  scenarios.BuildWith(build),
		View:   scenarios.ViewOf(view),
	}
}

func build(w *scenarios.World, c Config) (*State, error) {
	s := &State{world: w, config: c, env: newEnvironment(w.Engine(), w.Cluster.Network()), byName: map[string]*node{}}
	for i, n := range w.Cluster.Nodes() {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i + 1)}), gossipkeys.Port)
		member := &node{name: n.Name(), addr: addr}
		s.nodes, s.byName[n.Name()] = append(s.nodes, member), member
		if err := s.address(member); err != nil {
			return nil, err
		}
	}
	agents := w.Cluster.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "agent", Main: s.runAgent})
	for _, p := range agents.Processes() {
		m := s.byName[p.Node().Name()]
		s.env.add(m.name, m.addr.String(), m.name, w.Engine().Process(p.Name()))
	}
	if c.Controllers > 0 {
		w.Cluster.Deploy(cluster.WorkloadSpec{Kind: cluster.Deployment, Name: "controller", Replicas: c.Controllers, Main: s.runController})
	}
	return s, nil
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

// runController is the main function of the controller's process.
func (s *State) runController(ctx context.Context, env *cluster.Env) {
	provisioner := gossipkeys.NewProvisioner(env.Kube, env.Entropy, Namespace, gossipkeys.WithLogger(env.Log))
	controllers := []kube.Controller{provisioner.Controller()}
	if s.config.Rotator {
		rotator := gossipkeys.NewRotator(env.Kube, env.Cache, env.Clock, env.Entropy, Namespace, gossipkeys.WithLogger(env.Log))
		controllers = append(controllers, rotator.Controller())
	}
	s.drive(ctx, env, controllers)
}
