package provingground

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// agentProcess is the agent of a network on a node.
const agentProcess = "agent"

func dataPlaneBugs() []Bug {
	return []Bug{
		{
			ID: "antrea-1527", Link: "https://github.com/antrea-io/antrea/issues/1527", Class: "WN",
			Title: "The route to a new node is removed for an old one that had its addresses",
			Why: `The agent is cut off for so long that its watch of nodes has to list again. Meanwhile a node was destroyed and a new one
got its PodCIDR. A list that replaces another comes as creations first and deletions last: the route to the new node
is set, and then that of the old one is removed, which is the same. (Nodes are ConfigMaps here.) Repair: a route is
removed only if it is still that of the node that goes.`,
			Property: "nodes-have-routes", Meaning: "Once all is calm there is a route to each node: its Pods cannot be reached otherwise.",
			processes: []string{"node-1/" + agentProcess},
			build:     (*ground).routes,
		},
		{
			ID: "cilium-16561", Link: "https://github.com/cilium/cilium/issues/16561", Class: "NC",
			Title: "Packets are dropped while a program is replaced",
			Why: `After its title and pull request 28740: the map of tail calls is replaced in two steps, and between them the slot is
empty. Packets that come just then have no program and are dropped; so are all until the next regeneration if the agent
dies there. (The data plane is a slot here, and packets come every few milliseconds.) Repair: one step.`,
			Property: "no-packet-is-dropped", Meaning: "A packet always finds a program: else connections break at each change of configuration.",
			processes: []string{"node-1/" + agentProcess, "node-1/traffic"},
			build:     (*ground).swaps,
		},
	}
}

// routes is an agent that keeps a route for each node.
func (g *ground) routes() scenarios.Check {
	g.follow(configMaps, nil)
	var routes map[string]string // the node by its addresses
	g.world.Node(node).Process(cluster.ProcessSpec{Name: agentProcess, Main: func(ctx context.Context, env *cluster.Env) {
		routes = map[string]string{}
		installed := map[string]string{} // the addresses by node
		sync := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var o corev1.ConfigMap
			err := env.Client.Get(ctx, req.NamespacedName, &o)
			if client.IgnoreNotFound(err) != nil {
				return reconcile.Result{}, err
			}
			old := installed[req.Name]
			switch {
			case err != nil && (routes[old] == req.Name || !g.fixed):
				delete(routes, old)
				delete(installed, req.Name)
			case err == nil && old == "":
				routes[o.Data["podCIDR"]], installed[req.Name] = req.Name, o.Data["podCIDR"]
			}
			env.Touch()
			return reconcile.Result{}, nil
		}
		// It ends when the process does.
		_ = env.Run(ctx, kube.Controller{Name: agentProcess, Reconciler: reconcile.Func(sync), Watches: []kube.Watch{{Object: newConfigMap()}}})
	}})
	return scenarios.Check{Within: patience, Eventually: func() error {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if o, _ := g.have(configMaps, name).(*corev1.ConfigMap); o != nil && routes[o.Data["podCIDR"]] != name {
				return fmt.Errorf("there is no route to the node %s", name)
			}
		}
		return nil
	}}
}

// swaps is an agent that loads a program into a slot, and packets that look for one.
func (g *ground) swaps() scenarios.Check {
	slot := ""
	g.program = &slot
	g.world.Node(node).Process(cluster.ProcessSpec{Name: agentProcess, Main: func(ctx context.Context, env *cluster.Env) {
		sync := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var db Database
			if err := env.Client.Get(ctx, req.NamespacedName, &db); err != nil || db.Spec.Config == slot {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			if slot != "" && !g.fixed {
				slot = ""
				if err := env.Clock.Sleep(ctx, time.Millisecond); err != nil {
					return reconcile.Result{}, err
				}
			}
			slot = db.Spec.Config
			return reconcile.Result{}, nil
		}
		// It ends when the process does.
		_ = env.Run(ctx, kube.Controller{Name: agentProcess, Reconciler: reconcile.Func(sync), Watches: []kube.Watch{{Object: &Database{}}}})
	}})
	g.world.Node(node).Process(cluster.ProcessSpec{Name: "traffic", Main: func(ctx context.Context, env *cluster.Env) {
		for loaded := false; ; loaded = loaded || slot != "" {
			if loaded && slot == "" {
				g.breach("a packet finds no program")
			}
			if env.Clock.Sleep(ctx, g.world.ChooseWithin("packet", 50*time.Millisecond, 500*time.Millisecond)) != nil {
				return
			}
		}
	}})
	return scenarios.Check{Always: g.unbroken}
}
