package provingground

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// runtimeBugs are those between a container runtime, its plugins, and the data plane.
// Sandboxes are ConfigMaps that somebody makes and deletes here.
func runtimeBugs() []Bug {
	processes := []string{"node-1/runtime", "node-1/plugin"}
	return []Bug{
		{
			ID: "nri-63", Link: "https://github.com/containerd/nri/issues/63", Class: "N",
			Title: "A plugin that joins never hears of a sandbox that was being made",
			Why: `Also containerd 13698 and cri-o 10090. A plugin registers and is told of all sandboxes; after that it hears of each new
one. A sandbox that is being made meanwhile is not in the set yet, and was announced before the plugin was on the
list: it is in neither. Repair here: plugins that have joined while a sandbox was made are told when it is.`,
			Property: "plugins-know-all-sandboxes", Meaning: "Once all is calm a plugin knows every sandbox: what it enforces does not hold for others.",
			processes: processes,
			build: func(g *ground) scenarios.Check {
				n := g.hasRuntime(false)
				return scenarios.Check{Within: patience, Eventually: func() error {
					for _, name := range slices.Sorted(maps.Keys(n.sandboxes)) {
						if n.plugin == nil || !n.plugin.knows[name] {
							return fmt.Errorf("the plugin does not know the sandbox %s", name)
						}
					}
					return nil
				}}
			},
		},
		{
			ID: "containerd-8426", Link: "https://github.com/containerd/containerd/issues/8426", Class: "NI",
			Title: "After a restart the removal of a sandbox is announced to nobody",
			Why: `After the list of the project: the runtime stops a sandbox and is restarted before it removes it. When it is back it
cleans up what is stopped, and does not tell the plugins: they keep what they hold for it. Repair: the removal is
announced on that way as well. (The plugin keeps what it holds on the disk here.)`,
			Property: "each-removal-is-announced", Meaning: "Once all is calm plugins hold nothing for sandboxes that are gone.",
			processes: processes,
			build: func(g *ground) scenarios.Check {
				n := g.hasRuntime(true)
				return scenarios.Check{Within: patience, Eventually: func() error {
					for _, name := range slices.Sorted(maps.Keys(n.held)) {
						if n.sandboxes[name] == "" {
							return fmt.Errorf("something is held for the sandbox %s, which is gone", name)
						}
					}
					return nil
				}}
			},
		},
	}
}

// runtimeNode is what lives on the node: what the runtime has on its disk, what the
// plugin holds there, and the plugin that is connected.
type runtimeNode struct {
	sandboxes map[string]string // the state by name
	held      map[string]bool
	plugin    *plugin
}

// plugin is one connection of the plugin.
type plugin struct{ knows map[string]bool }

// hasRuntime puts a runtime and a plugin on the node. If removals are under test the
// plugin is on the list at once.
func (g *ground) hasRuntime(removals bool) *runtimeNode {
	n := &runtimeNode{sandboxes: map[string]string{}, held: map[string]bool{}}
	g.world.Node(node).Process(cluster.ProcessSpec{Name: "runtime", Main: func(ctx context.Context, env *cluster.Env) {
		n.plugin = nil
		n.cleanUp(g.fixed || !removals)
		sync := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var o corev1.ConfigMap
			err := env.Client.Get(ctx, req.NamespacedName, &o)
			if client.IgnoreNotFound(err) != nil {
				return reconcile.Result{}, err
			}
			if err != nil {
				return reconcile.Result{}, n.remove(ctx, env, req.Name)
			}
			return reconcile.Result{}, n.run(ctx, env, req.Name, g.fixed || removals)
		}
		// It ends when the process does.
		_ = env.Run(ctx, kube.Controller{Name: "runtime", Reconciler: reconcile.Func(sync), Workers: 2, Watches: []kube.Watch{{Object: newConfigMap()}}})
	}})
	g.world.Node(node).Process(cluster.ProcessSpec{Name: "plugin", Main: func(ctx context.Context, env *cluster.Env) {
		p := &plugin{knows: map[string]bool{}}
		for env.Clock.Sleep(ctx, time.Second) == nil {
			if n.plugin != p {
				n.register(ctx, env, p, g.fixed || removals)
			}
		}
	}})
	return n
}

// register tells a plugin of all sandboxes and puts it on the list; late, it tells it
// then of those that have come meanwhile.
func (n *runtimeNode) register(ctx context.Context, env *cluster.Env, p *plugin, late bool) {
	tell := func() {
		for name := range n.sandboxes { // all of them
			p.knows[name], n.held[name] = true, true
		}
	}
	tell()
	if env.Clock.Sleep(ctx, 100*time.Millisecond) != nil { // the answer of the plugin
		return
	}
	n.plugin = p
	if late {
		tell()
	}
	env.Touch()
}

// run makes a sandbox.
func (n *runtimeNode) run(ctx context.Context, env *cluster.Env, name string, late bool) error {
	if n.sandboxes[name] != "" {
		return nil
	}
	told := n.plugin
	if err := env.Clock.Sleep(ctx, 200*time.Millisecond); err != nil { // its network
		return err
	}
	n.sandboxes[name] = "ready"
	if late {
		told = n.plugin
	}
	if told != nil {
		told.knows[name], n.held[name] = true, true
	}
	env.Touch()
	return nil
}

// remove stops a sandbox and removes it.
func (n *runtimeNode) remove(ctx context.Context, env *cluster.Env, name string) error {
	if n.sandboxes[name] == "" {
		return nil
	}
	n.sandboxes[name] = "stopped"
	if err := env.Clock.Sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	n.forget(name, true)
	env.Touch()
	return nil
}

// forget removes what is left of a sandbox.
func (n *runtimeNode) forget(name string, announce bool) {
	delete(n.sandboxes, name)
	if announce {
		delete(n.held, name)
	}
}

// cleanUp removes what was stopped when the runtime ended.
func (n *runtimeNode) cleanUp(announce bool) {
	for _, name := range slices.Sorted(maps.Keys(n.sandboxes)) {
		if n.sandboxes[name] == "stopped" {
			n.forget(name, announce)
		}
	}
}
