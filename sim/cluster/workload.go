package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// WorkloadKind says how many copies of a workload run, and where.
type WorkloadKind string

// Kinds of workloads.
const (
	// DaemonSet runs one copy on each node.
	DaemonSet WorkloadKind = "DaemonSet"
	// Deployment runs Replicas copies, spread over the nodes; without nodes they
	// run on the control plane. A copy whose node stays away is replaced on
	// another node, although it may still be running there.
	Deployment WorkloadKind = "Deployment"
)

// WorkloadSpec describes processes that a cluster keeps running.
type WorkloadSpec struct {
	Kind      WorkloadKind
	Name      string
	Namespace string // of the Pods; empty means kube-system
	Replicas  int    // of a Deployment; zero means one

	// OnlyOn narrows the nodes by a pattern such as "node-1,node-3" or "*".
	OnlyOn string

	// Main, Restart and User are those of each process.
	Main    func(ctx context.Context, env *Env)
	Restart Restart
	User    *apiserver.User
}

// Workload is a running DaemonSet or Deployment. If nodes are registered with
// the API server, so is a Pod per copy.
type Workload struct {
	cluster  *Cluster
	spec     WorkloadSpec
	replicas []*replica
	made     int
}

// replica is one copy.
type replica struct {
	workload *Workload
	slot     int // which of the replicas it is
	pod      string
	process  *Process
	gone     bool
	retiring bool // its Pod was deleted by somebody outside
}

// evictAfter is how long a node may stay not ready before its Pods are replaced
// elsewhere: the default toleration.
const evictAfter = 300 * time.Second

// rolloutPause is the time between two steps of a rollout: a stop or a start and
// becoming ready.
const rolloutPause = 3 * time.Second

// Deploy starts a workload.
func (c *Cluster) Deploy(spec WorkloadSpec) *Workload {
	if spec.Namespace == "" {
		spec.Namespace = "kube-system"
	}
	w := &Workload{cluster: c, spec: spec}
	c.workloads = append(c.workloads, w)
	switch spec.Kind {
	case DaemonSet:
		for _, n := range w.nodes() {
			w.add(n, n.index)
		}
	case Deployment:
		for i := range max(1, spec.Replicas) {
			w.add(w.place(i), i)
		}
	default:
		panic(fmt.Sprintf("cluster: workload %s: unknown kind %q", spec.Name, spec.Kind))
	}
	return w
}

// Processes returns the processes of the present copies.
func (w *Workload) Processes() []*Process {
	out := make([]*Process, 0, len(w.replicas))
	for _, r := range w.replicas {
		out = append(out, r.process)
	}
	return out
}

// nodes are the nodes on which the workload may run.
func (w *Workload) nodes() []*Node {
	var fit []*Node
	for _, n := range w.cluster.nodes {
		if match(w.spec.OnlyOn, n.name) {
			fit = append(fit, n)
		}
	}
	return fit
}

// place chooses the node of a Deployment's copy, round robin among those that
// are up, as far as the control plane knows.
func (w *Workload) place(i int) *Node {
	var up []*Node
	for _, n := range w.nodes() {
		if !n.down && !n.lost {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return w.cluster.control
	}
	return up[i%len(up)]
}

// add starts one copy.
func (w *Workload) add(n *Node, slot int) *replica {
	name := w.spec.Name
	if w.spec.Kind == Deployment {
		name = fmt.Sprintf("%s-%d", name, w.made)
	} else if w.made >= len(w.nodes()) {
		name = fmt.Sprintf("%s-%d", name, w.made/len(w.nodes()))
	}
	w.made++
	r := &replica{workload: w, slot: slot, pod: fmt.Sprintf("%s-%s", name, n.name)}
	r.process = w.cluster.newProcess(n, ProcessSpec{
		Name: name, Main: w.spec.Main, Restart: w.spec.Restart, User: w.spec.User,
	})
	r.process.changed = func() { w.cluster.kubelet.podStatus(r) }
	w.replicas = append(w.replicas, r)
	w.cluster.kubelet.createPod(r)
	r.process.Start()
	return r
}

// remove stops one copy for good.
func (w *Workload) remove(r *replica) {
	w.forget(r)
	r.process.Stop()
}

// forget takes one copy out of the workload, whose process may still run.
func (w *Workload) forget(r *replica) {
	for i, x := range w.replicas {
		if x == r {
			w.replicas = append(w.replicas[:i:i], w.replicas[i+1:]...)
			break
		}
	}
	w.cluster.kubelet.deletePod(r)
}

// Rollout replaces all copies, one after the other, by copies that run main. A
// DaemonSet stops the old copy of a node before it starts the new one; a
// Deployment starts the new one first, so both run for a while.
func (w *Workload) Rollout(main func(ctx context.Context, env *Env)) {
	w.spec.Main = main
	w.cluster.emit("story", "", "rollout", w.spec.Name, 0, "rollout of "+w.spec.Name)
	old := append([]*replica(nil), w.replicas...)
	w.step(old)
}

func (w *Workload) step(old []*replica) {
	if len(old) == 0 {
		return
	}
	r := old[0]
	swap := func(any) { w.remove(r) }
	if w.spec.Kind == Deployment {
		w.add(w.place(r.slot), r.slot)
		w.cluster.eng.After(rolloutPause, swap, nil)
	} else {
		w.remove(r)
		swap = func(any) { w.add(r.process.node, r.slot) }
		w.cluster.eng.After(rolloutPause, swap, nil)
	}
	w.cluster.eng.After(2*rolloutPause, func(any) { w.step(old[1:]) }, nil)
}

// evict replaces the copies of Deployments on a node that has been away for too
// long. The old copy ends when the node hears of it.
func (c *Cluster) evict(n *Node) {
	for _, w := range c.workloads {
		if w.spec.Kind != Deployment {
			continue
		}
		for _, r := range append([]*replica(nil), w.replicas...) {
			if r.process.node != n {
				continue
			}
			if to := w.place(r.slot); to != n {
				w.forget(r)
				n.evicted = append(n.evicted, r.process)
				w.add(to, r.slot)
			}
		}
	}
}
