package provingground

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// nodeBugs are agents on nodes that act on what they remember or list after a restart.
func nodeBugs() []Bug {
	kubelets := []string{"node-1/kubelet", "node-2/kubelet"}
	return []Bug{
		{
			ID: "kubernetes-59848", Link: "https://github.com/kubernetes/kubernetes/issues/59848", Class: "SN",
			Title: "A kubelet that comes back runs a Pod that was deleted, beside the one that took its place",
			Why: `Open since 2018. The Pod of a StatefulSet is deleted on one node and made again on another. The first kubelet
restarts and lists its Pods from the cache of an API server that lags: the old Pod is there, and it is started
again. Two Pods of one identity run. Repair: before a kubelet starts a Pod it asks for the Pod itself, by its UID.`,
			Property: "one-instance-per-identity", Meaning: "At any time at most one Pod of a name runs: two write to the same volume.",
			processes: kubelets,
			build:     func(g *ground) scenarios.Check { return g.runsPods(&nodeAgent{verify: g.fixed}) },
		},
		{
			ID: "kubernetes-37447", Link: "https://github.com/kubernetes/kubernetes/issues/37447", Class: "IN",
			Title: "A kubelet that comes back runs a Pod again that was done",
			Why: `After the list of the project: a Pod is done, and its containers are removed. The kubelet restarts before it has said
so, or onto a cache that does not show it: it finds neither containers nor a terminal phase, and runs the Pod
again. Repair here: what is done is written to the node's disk before anything else, and read first.`,
			Property: "what-is-done-stays-done", Meaning: "A Pod that has ended never runs again: its work would be done twice.",
			processes: kubelets,
			build: func(g *ground) scenarios.Check {
				return g.runsPods(&nodeAgent{verify: true, jobs: true, records: g.fixed})
			},
		},
		{
			ID: "cilium-27123", Link: "https://github.com/cilium/cilium/issues/27123", Class: "SN",
			Title: "The endpoint of a new Pod is deleted for an old one of the same name",
			Why: `A Pod is deleted and made again under its name, on another node. The first agent deletes the endpoint object late and
by name; by then the second has made its own. The Pod has no endpoint, so its traffic counts as world. (Endpoints
are ConfigMaps here.) Repair: the deletion is bound to the UID of the object that the agent has made.`,
			Property: "live-pods-have-endpoints", Meaning: "Once all is calm each Pod has its endpoint: without it the Pod has no identity.",
			processes: []string{"node-1/cilium", "node-2/cilium"},
			build:     (*ground).keepsEndpoints,
		},
	}
}

// machine is what lives on a node besides its kubelet and outlives it.
type machine struct {
	running map[string]types.UID // by name
	done    map[types.UID]bool   // Pods that have ended once
	written map[types.UID]bool   // what is on the disk
}

// nodeAgent is a kubelet.
type nodeAgent struct {
	verify  bool // it asks for a Pod before it starts it
	jobs    bool // Pods end by themselves
	records bool // it keeps a record of what is done
}

// runsPods are the kubelets of two nodes.
func (g *ground) runsPods(a *nodeAgent) scenarios.Check {
	machines := map[string]*machine{}
	g.machines = machines
	for _, name := range []string{"node-1", "node-2"} {
		m := &machine{running: map[string]types.UID{}, done: map[types.UID]bool{}, written: map[types.UID]bool{}}
		machines[name] = m
		g.world.Node(name).Process(cluster.ProcessSpec{Name: "kubelet", Main: func(ctx context.Context, env *cluster.Env) {
			sync := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				again, err := a.sync(ctx, g, env, m, req.NamespacedName)
				return reconcile.Result{RequeueAfter: again}, err
			}
			// It ends when the process does.
			_ = env.Run(ctx, kube.Controller{Name: "kubelet", Reconciler: reconcile.Func(sync), Watches: []kube.Watch{{Object: &corev1.Pod{}}}})
		}})
	}
	return scenarios.Check{Always: func() error {
		a, b := machines["node-1"], machines["node-2"]
		if g.world.Node("node-1").Down() || g.world.Node("node-2").Down() {
			return g.broken
		}
		for _, name := range slices.Sorted(maps.Keys(a.running)) {
			if _, twice := b.running[name]; twice {
				return fmt.Errorf("a pod %s runs on both nodes", name)
			}
		}
		return g.broken
	}}
}

// runs is how long a Pod of a job runs.
const runs = 10 * time.Second

// sync makes the machine run what the API server says, as far as the cache shows it.
func (a *nodeAgent) sync(ctx context.Context, g *ground, env *cluster.Env, m *machine, name types.NamespacedName) (time.Duration, error) {
	var pod corev1.Pod
	err := env.Client.Get(ctx, name, &pod)
	if client.IgnoreNotFound(err) != nil {
		return 0, err
	}
	uid, runs := m.running[name.Name]
	mine := err == nil && pod.Spec.NodeName == env.Node
	switch {
	case !mine && runs:
		delete(m.running, name.Name)
		env.Touch()
		return 0, nil
	case !mine:
		return 0, nil
	case pod.DeletionTimestamp != nil:
		delete(m.running, name.Name)
		env.Touch()
		return 0, client.IgnoreNotFound(env.Client.Delete(ctx, &pod, client.GracePeriodSeconds(0), sameObject(&pod)))
	case pod.Status.Phase == corev1.PodSucceeded:
		return 0, nil
	case a.records && m.written[pod.UID]:
		return 0, a.finish(ctx, env, &pod)
	case runs && uid == pod.UID:
		return a.watchOver(ctx, env, m, &pod)
	}
	return a.start(ctx, g, env, m, &pod)
}

// start starts a Pod.
func (a *nodeAgent) start(ctx context.Context, g *ground, env *cluster.Env, m *machine, pod *corev1.Pod) (time.Duration, error) {
	if a.verify {
		var now corev1.Pod
		err := env.Kube.Get(ctx, client.ObjectKeyFromObject(pod), &now)
		if apierrors.IsNotFound(err) || err == nil && (now.UID != pod.UID || now.DeletionTimestamp != nil) {
			return recheck, nil
		}
		if err != nil {
			return 0, err
		}
	}
	if m.done[pod.UID] {
		g.breach("the pod %s has ended and runs again", pod.Name)
	}
	m.running[pod.Name] = pod.UID
	env.Touch()
	return runs, nil
}

// watchOver ends the Pods of jobs when they have run.
func (a *nodeAgent) watchOver(ctx context.Context, env *cluster.Env, m *machine, pod *corev1.Pod) (time.Duration, error) {
	if !a.jobs {
		return 0, nil
	}
	if err := env.Clock.Sleep(ctx, runs/2); err != nil {
		return 0, err
	}
	m.done[pod.UID] = true
	if a.records {
		m.written[pod.UID] = true
	}
	delete(m.running, pod.Name)
	env.Touch()
	return 0, a.finish(ctx, env, pod)
}

// finish says that a Pod is done.
func (a *nodeAgent) finish(ctx context.Context, env *cluster.Env, pod *corev1.Pod) error {
	pod.Status.Phase = corev1.PodSucceeded
	return client.IgnoreNotFound(env.Client.Status().Update(ctx, pod))
}

// keepsEndpoints are agents on two nodes that keep an endpoint for each Pod of theirs.
func (g *ground) keepsEndpoints() scenarios.Check {
	g.follow(pods, nil)
	g.follow(configMaps, nil)
	for _, node := range []string{"node-1", "node-2"} {
		g.world.Node(node).Process(cluster.ProcessSpec{Name: "cilium", Main: func(ctx context.Context, env *cluster.Env) {
			mine := map[string]*corev1.ConfigMap{}
			sync := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, g.keepEndpoint(ctx, env, req.NamespacedName, mine)
			}
			// It ends when the process does.
			_ = env.Run(ctx, kube.Controller{Name: "cilium", Reconciler: reconcile.Func(sync), Watches: []kube.Watch{{Object: &corev1.Pod{}}}})
		}})
	}
	return scenarios.Check{Within: patience, Eventually: func() error {
		pod, endpoint := g.have(pods, "web"), g.have(configMaps, "web")
		if pod != nil && (endpoint == nil || endpoint.GetLabels()[uidLabel] != string(pod.GetUID())) {
			return fmt.Errorf("the pod web has no endpoint of its own")
		}
		return nil
	}}
}

func (g *ground) keepEndpoint(ctx context.Context, env *cluster.Env, name types.NamespacedName, mine map[string]*corev1.ConfigMap) error {
	var pod corev1.Pod
	gone, err := missing(env.Client.Get(ctx, name, &pod))
	if err != nil {
		return err
	}
	old := mine[name.Name]
	if old != nil && (gone || pod.Spec.NodeName != env.Node || old.Labels[uidLabel] != string(pod.UID)) {
		var options []client.DeleteOption
		if g.fixed {
			options = append(options, sameObject(old))
		}
		if err := env.Client.Delete(ctx, old, options...); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
		delete(mine, name.Name)
	}
	if gone || pod.Spec.NodeName != env.Node || mine[name.Name] != nil {
		return nil
	}
	endpoint := newConfigMap()
	endpoint.Namespace, endpoint.Name = name.Namespace, name.Name
	endpoint.Labels = map[string]string{uidLabel: string(pod.UID)}
	if err := env.Kube.Create(ctx, endpoint); apierrors.IsAlreadyExists(err) {
		return g.takeOver(ctx, env, endpoint, mine)
	} else if err != nil {
		return err
	}
	mine[name.Name] = endpoint
	return nil
}

// missing tells an object that is not there from other errors of looking for it.
func missing(err error) (bool, error) { return apierrors.IsNotFound(err), client.IgnoreNotFound(err) }

// takeOver makes an endpoint that is there one's own, or replaces it.
func (g *ground) takeOver(ctx context.Context, env *cluster.Env, endpoint *corev1.ConfigMap, mine map[string]*corev1.ConfigMap) error {
	var there corev1.ConfigMap
	if err := env.Kube.Get(ctx, client.ObjectKeyFromObject(endpoint), &there); err != nil {
		return err
	}
	if there.Labels[uidLabel] == endpoint.Labels[uidLabel] {
		mine[endpoint.Name] = &there
		return nil
	}
	var pod corev1.Pod
	if err := env.Kube.Get(ctx, client.ObjectKeyFromObject(endpoint), &pod); err != nil || string(pod.UID) != endpoint.Labels[uidLabel] {
		return client.IgnoreNotFound(err) // it is ours that is old
	}
	if err := env.Kube.Delete(ctx, &there, sameObject(&there)); err != nil {
		return err
	}
	return fmt.Errorf("the endpoint %s was that of another pod", endpoint.Name)
}
