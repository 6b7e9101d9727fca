package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Container is the container of a Pod that runs as a simulated process.
type Container struct {
	// Process says what runs. Its name is that of the process on its node; while
	// another Pod's process has it, a number is appended. A process that ends is
	// started again as its restart policy says, on the same disk.
	Process ProcessSpec

	// Terminate is called when the kubelet asks the process to end, as by SIGTERM.
	// What has not ended when the Pod's grace is over is killed. Nil means a process
	// that ends within a second.
	Terminate func()

	// Gone is called when the process has ended for good: what the Pod had on its
	// node goes with it.
	Gone func()
}

// reportTime is how long a kubelet takes to tell that a container has started: a
// process runs before the API knows its Pod's address.
const reportTime = 300 * time.Millisecond

// leastGrace is what a kubelet gives every process, also of a Pod deleted by force.
const leastGrace = time.Second

// box is a Pod's container as its kubelet knows it. It outlives the Pod's object: a
// kubelet that only hears that its Pod is no more gives it the whole grace.
type box struct {
	key       types.NamespacedName
	uid       types.UID
	node      *Node
	grace     time.Duration
	container *Container
	process   *Process
	before    int  // incarnations of the process that were other Pods'
	ending    bool // it has been asked to
	deadline  time.Duration
}

// RunPods makes the kubelets run Pods as simulated processes: those for which run
// returns a container. It is asked once for each Pod, when its kubelet starts it. The
// nodes need objects; see Config.NodeObjects. Without Config.Agents the agents come
// with it.
func (c *Cluster) RunPods(run func(p *corev1.Pod) *Container) {
	if !c.cfg.NodeObjects {
		panic("cluster: RunPods needs Config.NodeObjects")
	}
	if c.agents == nil {
		c.cfg.Agents = &Agents{}
		for _, n := range c.nodes {
			c.kubelet.equip(n)
		}
		c.startAgents()
	}
	c.agents.containers = run
}

// equip lets a node that is registered report its machine.
func (k *kubelet) equip(n *Node) {
	var o corev1.Node
	k.must(k.c.admin.Get(background, client.ObjectKey{Name: n.name}, &o))
	k.c.cfg.Agents.equip(n, &o)
	status := o.Status
	k.must(k.c.admin.Update(background, &o))
	o.Status = status
	k.must(k.c.admin.Status().Update(background, &o))
}

// launch starts the process of a Pod, if it has one. The kubelet tells of it later.
func (a *agents) launch(key types.NamespacedName, s *podState) bool {
	if a.containers == nil {
		return false
	}
	container := a.containers(s.pod)
	if container == nil {
		return false
	}
	b := &box{
		key: key, uid: s.pod.UID, node: a.c.nodeByName[s.pod.Spec.NodeName], container: container,
		grace: corev1.DefaultTerminationGracePeriodSeconds * time.Second,
	}
	if g := s.pod.Spec.TerminationGracePeriodSeconds; g != nil {
		b.grace = time.Duration(*g) * time.Second
	}
	b.process = a.processFor(b.node, container.Process)
	b.before = b.process.incarnation
	b.process.changed = func() { a.boxChanged(b) }
	a.boxes = append(a.boxes, b)
	b.process.Start()
	return true
}

// processFor returns a process of the node that no Pod has.
func (a *agents) processFor(n *Node, spec ProcessSpec) *Process {
	name := spec.Name
	for i := 2; ; i++ {
		p := a.c.processByName[n.name+"/"+spec.Name]
		if p == nil {
			return a.c.newProcess(n, spec)
		}
		if !slices.ContainsFunc(a.boxes, func(b *box) bool { return b.process == p }) {
			p.spec, p.ends = spec, 0
			return p
		}
		spec.Name = name + "-" + strconv.Itoa(i)
	}
}

// box returns the container of a Pod, or nil.
func (a *agents) box(uid types.UID) *box {
	for _, b := range a.boxes {
		if b.uid == uid {
			return b
		}
	}
	return nil
}

// boxChanged runs when the process of a Pod has started or ended.
func (a *agents) boxChanged(b *box) {
	if !b.process.alive && b.ending {
		a.c.eng.After(0, func(any) { a.remove(b) }, nil)
		return
	}
	a.c.eng.After(reportTime, func(any) { a.report(b.key) }, nil)
}

// remove lets go of a container that has ended, with the object of its Pod.
func (a *agents) remove(b *box) {
	i := slices.Index(a.boxes, b)
	if i < 0 || b.process.alive {
		return
	}
	a.boxes = slices.Delete(a.boxes, i, i+1)
	b.process.changed = nil
	if b.container.Gone != nil {
		b.container.Gone()
	}
	if s := a.known[b.key]; s != nil && s.pod.UID == b.uid {
		a.end(b.key)
	}
}

// stop asks the process of a Pod to end, and kills it after left.
func (a *agents) stop(b *box, left time.Duration) {
	p := b.process
	left = max(left, leastGrace)
	deadline := a.c.eng.Elapsed() + left
	if b.ending && deadline >= b.deadline {
		return
	}
	asked := b.ending
	b.ending, b.deadline = true, deadline
	p.stopped = true
	p.unschedule()
	if !p.alive {
		a.remove(b)
		return
	}
	if b.container.Terminate == nil {
		left = min(left, stopTime)
	} else if !asked {
		a.c.emit("proc", p.name, "terminate", "", 0, "is asked to end")
		b.container.Terminate()
	}
	a.c.eng.After(left, func(any) {
		if a.c.eng.Elapsed() >= b.deadline || b.container.Terminate == nil {
			a.kill(b)
		}
	}, nil)
}

func (a *agents) kill(b *box) {
	if slices.Contains(a.boxes, b) && b.process.alive {
		b.process.Stop()
	}
}

// abandon ends what runs for a Pod whose object is gone, once its kubelet hears.
func (a *agents) abandon(uid types.UID) {
	if b := a.box(uid); b != nil && !b.node.silent() {
		a.stop(b, b.grace)
	}
}

// boxesHeard looks again at the containers of a node that was away.
func (a *agents) boxesHeard(name string) {
	for _, b := range slices.Clone(a.boxes) {
		if b.node.name != name {
			continue
		}
		if s := a.known[b.key]; s == nil || s.pod.UID != b.uid {
			a.abandon(b.uid)
		} else {
			a.report(b.key)
		}
	}
}

// report lets the kubelet tell what has become of a Pod that runs.
func (a *agents) report(key types.NamespacedName) {
	s := a.known[key]
	if s == nil || s.pod.DeletionTimestamp != nil || a.c.kubelet.shadows[key] != nil || !a.runs(s.pod) {
		return
	}
	b := a.box(s.pod.UID)
	gated := len(s.pod.Spec.ReadinessGates) > 0 && s.pod.Status.Phase == corev1.PodRunning
	if b == nil && !gated {
		return
	}
	p := s.pod.DeepCopy()
	if p.Status.Phase != corev1.PodRunning {
		a.running(p)
	}
	if b != nil {
		b.tell(p, metav1.NewTime(a.c.eng.Now()))
	}
	a.judge(p)
	if equality.Semantic.DeepEqual(&p.Status, &s.pod.Status) {
		return
	}
	_, _ = a.do(&apiserver.Request{ // if it has changed meanwhile, the watch tells
		Verb: apiserver.Update, Resource: podsResource, Subresource: "status", Namespace: p.Namespace, Name: p.Name,
		Object: p, Owned: true, Shared: true, UserAgent: "kubelet",
	})
}

// tell fills in the status of the container.
func (b *box) tell(p *corev1.Pod, now metav1.Time) {
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		alive := b.process.alive
		restarts := int32(max(0, b.process.incarnation-b.before-1))
		if c.Ready == alive && c.RestartCount == restarts {
			continue
		}
		c.Ready, c.RestartCount, c.Started = alive, restarts, &alive
		c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		if alive {
			c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
		}
	}
}

// judge says whether a Pod is ready: its containers and its readiness gates are.
func (a *agents) judge(p *corev1.Pod) {
	now := metav1.NewTime(a.c.eng.Now())
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}
	containers := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: now}
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; !c.Ready {
			containers.Status, containers.Reason = corev1.ConditionFalse, "ContainersNotReady"
			containers.Message = fmt.Sprintf("containers with unready status: [%s]", c.Name)
			ready.Status, ready.Reason, ready.Message = containers.Status, containers.Reason, containers.Message
		}
	}
	for _, gate := range p.Spec.ReadinessGates {
		i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate.ConditionType })
		why := ""
		switch {
		case i < 0:
			why = fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType)
		case p.Status.Conditions[i].Status != corev1.ConditionTrue:
			why = fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %s", gate.ConditionType, p.Status.Conditions[i].Status)
		}
		if why != "" && ready.Status == corev1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, "ReadinessGatesNotReady", why
		}
	}
	setCondition(&p.Status, containers)
	setCondition(&p.Status, ready)
}
