package cluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubelet keeps Node and Pod objects in step with the simulated machines, for
// all nodes at once. It stands for the kubelets, the node lifecycle controller
// and the scheduler together, and writes to the store without latency: what the
// code under test sees of it passes through watches and latency all the same.
type kubelet struct {
	c       *Cluster
	shadows map[types.NamespacedName]*replica // by the Pods that stand for them
}

// nodeGrace is how long a node may be silent before it counts as not ready, as
// in kube-controller-manager.
const nodeGrace = 50 * time.Second

var background = context.Background()

// register creates the Node object.
func (k *kubelet) register(n *Node) {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   n.name,
		Labels: map[string]string{corev1.LabelHostname: n.name, corev1.LabelOSStable: "linux"},
	}}
	if k.c.cfg.Agents != nil {
		k.c.cfg.Agents.equip(n, o)
	}
	k.must(k.c.admin.Create(background, o))
	k.setReady(n, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
}

// must panics: the store refused something that a kubelet may do.
func (k *kubelet) must(err error) {
	if err != nil {
		panic("cluster: kubelet: " + err.Error())
	}
}

// setReady writes the Ready condition of a node.
func (k *kubelet) setReady(n *Node, status corev1.ConditionStatus, reason, message string) {
	if !k.c.cfg.NodeObjects {
		return
	}
	var o corev1.Node
	err := k.c.admin.Get(background, client.ObjectKey{Name: n.name}, &o)
	if apierrors.IsNotFound(err) {
		return // somebody has deleted it
	}
	k.must(err)
	now := metav1.NewTime(k.c.eng.Now())
	o.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: status, Reason: reason, Message: message,
		LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	k.must(k.c.admin.Status().Update(background, &o))
	if k.c.agents != nil {
		k.taint(n.name, status)
	}
}

// silent reports whether the control plane does not hear from the node: it is down,
// or what either of them sends does not reach the other.
func (n *Node) silent() bool {
	c := n.cluster
	return n.down || !c.reaches(n, c.control) || !c.reaches(c.control, n)
}

// listen runs when a node may have gone silent or is heard again. After the grace
// period a silent node is marked, and some time later its Pods go elsewhere.
func (k *kubelet) listen(n *Node) {
	silent := n.silent()
	if silent == n.quiet || n == k.c.control {
		return
	}
	n.quiet = silent
	n.silences++
	if !silent {
		k.heard(n)
		return
	}
	nth := n.silences
	k.c.eng.After(nodeGrace, func(any) {
		if n.silences == nth {
			n.lost = true
			k.setReady(n, corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
		}
	}, nil)
	k.c.eng.After(nodeGrace+evictAfter, func(any) {
		if n.silences == nth {
			k.c.evict(n)
		}
	}, nil)
}

// heard runs when a node is heard again. It ends what was evicted meanwhile.
func (k *kubelet) heard(n *Node) {
	if n.lost {
		n.lost = false
		k.setReady(n, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	}
	for _, p := range n.evicted {
		p.Stop()
	}
	n.evicted = nil
	if k.c.agents != nil {
		k.c.agents.nodeHeard(n.name)
	}
}

// booted runs when a node has booted: its kubelet posts its status anew.
func (k *kubelet) booted(n *Node) {
	told := n.lost // then listen does it
	if k.listen(n); !n.quiet && !told {
		k.setReady(n, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	}
}

// createPod makes the Pod object of a replica.
func (k *kubelet) createPod(r *replica) {
	if !k.c.cfg.NodeObjects {
		return
	}
	w := r.workload
	o := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.spec.Namespace, Name: r.pod, Labels: map[string]string{"app": w.spec.Name},
		},
		Spec: corev1.PodSpec{
			NodeName:   r.process.node.name,
			Containers: []corev1.Container{{Name: "main", Image: "simulated/" + w.spec.Name}},
		},
	}
	if k.shadows == nil {
		k.shadows = map[types.NamespacedName]*replica{}
	}
	k.shadows[client.ObjectKeyFromObject(o)] = r
	k.must(k.c.admin.Create(background, o))
}

// podStatus writes what has become of a replica's process.
func (k *kubelet) podStatus(r *replica) {
	if !k.c.cfg.NodeObjects || r.gone {
		return
	}
	key := client.ObjectKey{Namespace: r.workload.spec.Namespace, Name: r.pod}
	var o corev1.Pod
	err := k.c.admin.Get(background, key, &o)
	if apierrors.IsNotFound(err) {
		return
	}
	k.must(err)
	p := r.process
	ready := corev1.ConditionFalse
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	if p.alive {
		ready = corev1.ConditionTrue
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(k.c.eng.Now())}}
	}
	o.Status.Phase = corev1.PodRunning
	o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	o.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", Image: "simulated/" + r.workload.spec.Name, Ready: p.alive, State: state,
		RestartCount: int32(max(0, p.incarnation-1)),
	}}
	k.must(k.c.admin.Status().Update(background, &o))
}

// deletePod removes the Pod object of a replica at once.
func (k *kubelet) deletePod(r *replica) {
	r.gone = true
	if !k.c.cfg.NodeObjects {
		return
	}
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.workload.spec.Namespace, Name: r.pod}}
	delete(k.shadows, client.ObjectKeyFromObject(o))
	err := k.c.admin.Delete(background, o, client.GracePeriodSeconds(0))
	k.must(client.IgnoreNotFound(err))
}
