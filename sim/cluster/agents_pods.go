package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// run lets the kubelet report that the containers of a Pod run.
func (a *agents) run(key types.NamespacedName) {
	s := a.known[key]
	if s == nil {
		return
	}
	s.start = engine.Timer{}
	if s.pod.DeletionTimestamp != nil || !a.runs(s.pod) {
		return // nodeHeard tries again
	}
	if a.box(s.pod.UID) != nil || a.launch(key, s) {
		return
	}
	p := s.pod.DeepCopy()
	a.running(p)
	a.judge(p)
	if _, err := a.do(&apiserver.Request{
		Verb: apiserver.Update, Resource: podsResource, Subresource: "status", Namespace: p.Namespace, Name: p.Name,
		Object: p, Owned: true, Shared: true, UserAgent: "kubelet",
	}); err != nil {
		return
	}
	if s.queued { // one that the scheduler has placed: somebody follows it
		a.tellStart(s.pod)
	}
}

// running fills in the status of a Pod whose containers run and are ready.
func (a *agents) running(p *corev1.Pod) {
	now := metav1.NewTime(a.c.eng.Now())
	st := &p.Status
	st.Phase, st.StartTime = corev1.PodRunning, &now
	a.address(p)
	for _, t := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		setCondition(st, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	st.InitContainerStatuses, st.ContainerStatuses = nil, nil
	for i := range p.Spec.InitContainers {
		c := containerStatus(p, &p.Spec.InitContainers[i])
		if always := p.Spec.InitContainers[i].RestartPolicy; always != nil && *always == corev1.ContainerRestartPolicyAlways {
			c.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
		} else {
			c.State.Terminated = &corev1.ContainerStateTerminated{
				Reason: "Completed", StartedAt: now, FinishedAt: now, ContainerID: c.ContainerID,
			}
			c.Started = new(false)
		}
		st.InitContainerStatuses = append(st.InitContainerStatuses, c)
	}
	for i := range p.Spec.Containers {
		c := containerStatus(p, &p.Spec.Containers[i])
		c.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
		st.ContainerStatuses = append(st.ContainerStatuses, c)
	}
}

func containerStatus(p *corev1.Pod, c *corev1.Container) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "simulated://" + string(p.UID) + "/" + c.Name,
		Ready: true, Started: new(true),
	}
}

// setCondition adds a condition, or changes it and keeps when it changed last.
func setCondition(st *corev1.PodStatus, c corev1.PodCondition) {
	i := slices.IndexFunc(st.Conditions, func(x corev1.PodCondition) bool { return x.Type == c.Type })
	switch {
	case i < 0:
		st.Conditions = append(st.Conditions, c)
		return
	case st.Conditions[i].Status == c.Status:
		c.LastTransitionTime = st.Conditions[i].LastTransitionTime
	}
	st.Conditions[i] = c
}

// address gives a Pod the address of its node and one of its own: the next of
// 10.244.0.0/14.
func (a *agents) address(p *corev1.Pod) {
	host := a.c.nodeByName[p.Spec.NodeName].address()
	p.Status.HostIP, p.Status.HostIPs = host, []corev1.HostIP{{IP: host}}
	ip := host
	if !p.Spec.HostNetwork {
		a.ips++
		ip = fmt.Sprintf("10.%d.%d.%d", 244+a.ips>>16&3, a.ips>>8&255, a.ips&255)
	}
	p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
}

// terminate lets the kubelet end a Pod: when its containers have ended, or when its
// grace is over.
func (a *agents) terminate(key types.NamespacedName, s *podState) {
	s.start.Cancel()
	s.start = engine.Timer{}
	s.kill.Cancel()
	if !a.runs(s.pod) {
		return // nodeHeard tries again
	}
	left := max(0, s.pod.DeletionTimestamp.Sub(a.c.eng.Now()))
	if b := a.box(s.pod.UID); b != nil {
		a.stop(b, left)
		return
	}
	s.kill = a.c.eng.After(min(left, stopping(s.pod)), func(any) { a.end(key) }, nil)
}

// stopping is how long the containers of a Pod take to end: they sleep where their
// preStop hooks say so, and then heed SIGTERM.
func stopping(p *corev1.Pod) time.Duration {
	var sleep time.Duration
	for i := range p.Spec.Containers {
		if l := p.Spec.Containers[i].Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
			sleep = max(sleep, time.Duration(l.PreStop.Sleep.Seconds)*time.Second)
		}
	}
	return sleep + stopTime
}

// end deletes the object of a Pod whose containers have ended. Finalizers may hold
// it still.
func (a *agents) end(key types.NamespacedName) {
	s := a.known[key]
	if s == nil || !a.runs(s.pod) {
		return
	}
	_, _ = a.do(&apiserver.Request{ // it may have gone by itself
		Verb: apiserver.Delete, Resource: podsResource, Namespace: key.Namespace, Name: key.Name, UserAgent: "kubelet",
		DeleteOptions: &metav1.DeleteOptions{
			GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &s.pod.UID},
		},
	})
}

// retire ends the process behind a Pod that somebody has deleted. Its workload
// replaces it, as it replaces any Pod that has gone.
func (a *agents) retire(r *replica) {
	if r.retiring {
		return
	}
	r.retiring = true
	a.c.eng.After(startTime, func(any) {
		w := r.workload
		if !slices.Contains(w.replicas, r) {
			return
		}
		w.remove(r)
		if w.spec.Kind == DaemonSet {
			w.add(r.process.node, r.slot)
		} else {
			w.add(w.place(r.slot), r.slot)
		}
	}, nil)
}

// nodeHeard looks again at the Pods of a node that was away.
func (a *agents) nodeHeard(name string) {
	a.boxesHeard(name)
	for _, key := range a.sorted() {
		s := a.known[key]
		if s.pod.Spec.NodeName != name || a.c.kubelet.shadows[key] != nil {
			continue
		}
		switch {
		case s.pod.DeletionTimestamp != nil:
			a.terminate(key, s)
		case s.pod.Status.Phase == corev1.PodPending && s.start == (engine.Timer{}):
			s.start = a.c.eng.After(startTime, func(any) { a.run(key) }, nil)
		}
	}
}

// sorted returns the keys of all known Pods in order.
func (a *agents) sorted() []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(a.known))
	for key := range a.known { // sorted below
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(x, y types.NamespacedName) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return keys
}
