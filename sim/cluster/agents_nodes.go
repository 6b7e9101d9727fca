package cluster

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// machine is a node as the scheduler sees it.
type machine struct {
	node *corev1.Node
	used charge
}

// charge is what Pods take of a node.
type charge struct {
	node        *machine // nil: nothing is taken
	cpu, memory int64    // in thousandths of a core, in bytes
	pods        int64
}

const defaultPodsPerNode = 110

// equip fills in what a kubelet reports of its machine.
func (a *Agents) equip(n *Node, o *corev1.Node) {
	pods := a.PodsPerNode
	if pods == 0 {
		pods = defaultPodsPerNode
	}
	o.Labels[corev1.LabelArchStable] = "amd64"
	o.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("8"),
		corev1.ResourceMemory:           resource.MustParse("32Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             *resource.NewQuantity(int64(pods), resource.DecimalSI),
	}
	o.Status.Allocatable = o.Status.Capacity
	o.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: n.address()}, {Type: corev1.NodeHostName, Address: n.name},
	}
	o.Status.NodeInfo = corev1.NodeSystemInfo{
		MachineID: n.name, SystemUUID: n.name, BootID: n.name,
		KernelVersion: "simulated", OSImage: "Seedbed", ContainerRuntimeVersion: "simulated://1",
		KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64",
	}
}

// address is the IP address of a node: one of 172.18.0.0/16.
func (n *Node) address() string {
	return "172.18." + strconv.Itoa((n.index+2)/256) + "." + strconv.Itoa((n.index+2)%256)
}

// taints are those by which the node controller tells that a node is not ready.
var taints = map[corev1.ConditionStatus]string{
	corev1.ConditionFalse: corev1.TaintNodeNotReady, corev1.ConditionUnknown: corev1.TaintNodeUnreachable,
}

// taint keeps Pods away from a node that is not ready, and lets them back.
func (k *kubelet) taint(name string, status corev1.ConditionStatus) {
	resp, err := k.c.agents.do(&apiserver.Request{Verb: apiserver.Get, Resource: nodesResource, Name: name})
	if err != nil {
		return // somebody has deleted it
	}
	o := resp.Object.(*corev1.Node)
	o.Spec.Taints = slices.DeleteFunc(o.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
	if key, bad := taints[status]; bad {
		o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	_, _ = k.c.agents.do(&apiserver.Request{ // somebody may have deleted the node
		Verb: apiserver.Update, Resource: nodesResource, Name: name, Object: o, Owned: true, UserAgent: "kube-controller-manager",
	})
}

func (a *agents) nodeChanged(ev apiserver.Event) {
	n := ev.Object.(*corev1.Node)
	m := a.byName[n.Name]
	switch {
	case ev.Type == watch.Deleted:
		if m != nil {
			delete(a.byName, n.Name)
			a.machines = slices.DeleteFunc(a.machines, func(x *machine) bool { return x == m })
		}
		return
	case m == nil:
		m = &machine{}
		a.byName[n.Name] = m
		a.machines = append(a.machines, m)
	}
	m.node = n
	a.reconsider()
}

// occupy charges a Pod to its node.
func (a *agents) occupy(s *podState) {
	m := a.byName[s.pod.Spec.NodeName]
	over := s.pod.Status.Phase == corev1.PodSucceeded || s.pod.Status.Phase == corev1.PodFailed
	if s.charge.node == m && !over {
		return
	}
	a.release(s)
	if m == nil || over {
		return
	}
	s.charge = chargeOf(s.pod)
	s.charge.node = m
	m.used.add(s.charge, 1)
}

// release takes the charge of a Pod from its node.
func (a *agents) release(s *podState) {
	if s.charge.node != nil {
		s.charge.node.used.add(s.charge, -1)
	}
	s.charge = charge{}
}

func (c *charge) add(o charge, times int64) {
	c.cpu += times * o.cpu
	c.memory += times * o.memory
	c.pods += times * o.pods
}

// chargeOf adds up what the containers of a Pod request; init containers run before
// the others, so that the largest counts.
func chargeOf(p *corev1.Pod) charge {
	total := charge{pods: 1}
	for i := range p.Spec.Containers {
		r := p.Spec.Containers[i].Resources.Requests
		total.cpu += r.Cpu().MilliValue()
		total.memory += r.Memory().Value()
	}
	for i := range p.Spec.InitContainers {
		r := p.Spec.InitContainers[i].Resources.Requests
		total.cpu = max(total.cpu, r.Cpu().MilliValue())
		total.memory = max(total.memory, r.Memory().Value())
	}
	return total
}
