package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// pod is a Pod that somebody outside makes.
func pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "nginx"}}
	for _, f := range edit {
		f(p)
	}
	return p
}

// sayPod says what has become of a Pod.
func (l *lab) sayPod(name string) {
	var p corev1.Pod
	if err := l.c.Admin().Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, &p); err != nil {
		l.say("%s: %v", name, err)
		return
	}
	text := fmt.Sprintf("%s: %s on %q", name, p.Status.Phase, p.Spec.NodeName)
	if len(p.Status.ContainerStatuses) > 0 {
		text += fmt.Sprintf(" at %s, ready %v", p.Status.PodIP, p.Status.ContainerStatuses[0].Ready)
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionFalse {
			text += fmt.Sprintf(", %s: %s", c.Reason, c.Message)
		}
	}
	l.say("%s", text)
}

func TestAgentsRunAPodAndEndIt(t *testing.T) {
	l := newLab(t, cluster.Config{Agents: &cluster.Agents{}})
	l.at(0, func() { l.must(l.c.Admin().Create(context.Background(), pod("web"))) })
	l.at(20*time.Millisecond, func() { l.sayPod("web") })
	l.at(2*time.Second, func() {
		l.sayPod("web")
		l.must(l.c.Admin().Delete(context.Background(), pod("web"), client.GracePeriodSeconds(5)))
	})
	l.at(2900*time.Millisecond, func() { l.sayPod("web") })
	l.at(3100*time.Millisecond, func() { l.sayPod("web") })
	l.run(10*time.Second,
		`20: web: Pending on "node-1"`,
		`2000: web: Running on "node-1" at 10.244.0.1, ready true`,
		`2900: web: Running on "node-1" at 10.244.0.1, ready true`,
		`3100: web: pods "web" not found`,
	)
	var events corev1.EventList
	l.must(l.c.Admin().List(context.Background(), &events))
	var reasons []string
	for _, e := range events.Items {
		reasons = append(reasons, e.Reason)
	}
	if fmt.Sprint(reasons) != "[Scheduled Pulled Created Started]" {
		t.Errorf("events: %v", reasons)
	}
}

// A preStop hook that sleeps is waited for, as long as the grace lasts.
func TestAgentsWaitForHooksWithinTheGrace(t *testing.T) {
	l := newLab(t, cluster.Config{Agents: &cluster.Agents{}})
	sleeps := func(p *corev1.Pod) {
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 10}}}
	}
	l.at(0, func() {
		l.must(l.c.Admin().Create(context.Background(), pod("patient", sleeps)))
		l.must(l.c.Admin().Create(context.Background(), pod("hasty", sleeps)))
	})
	l.at(2*time.Second, func() {
		l.must(l.c.Admin().Delete(context.Background(), pod("patient")))
		l.must(l.c.Admin().Delete(context.Background(), pod("hasty"), client.GracePeriodSeconds(5)))
	})
	for _, at := range []int{6500, 7500, 12500, 13500} {
		l.at(time.Duration(at)*time.Millisecond, func() { l.sayPod("patient"); l.sayPod("hasty") })
	}
	l.run(20*time.Second,
		`6500: patient: Running on "node-1" at 10.244.0.1, ready true`,
		`6500: hasty: Running on "node-2" at 10.244.0.2, ready true`,
		`7500: patient: Running on "node-1" at 10.244.0.1, ready true`,
		`7500: hasty: pods "hasty" not found`,
		`12500: patient: Running on "node-1" at 10.244.0.1, ready true`,
		`12500: hasty: pods "hasty" not found`,
		`13500: patient: pods "patient" not found`,
		`13500: hasty: pods "hasty" not found`,
	)
}

func TestSchedulerSpreadsAndSaysWhyItCannot(t *testing.T) {
	l := newLab(t, cluster.Config{Agents: &cluster.Agents{PodsPerNode: 1}})
	huge := func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-9"}
	}
	l.at(0, func() {
		for _, p := range []*corev1.Pod{pod("a"), pod("b"), pod("c"), pod("lost", huge)} {
			l.must(l.c.Admin().Create(context.Background(), p))
		}
	})
	l.at(2*time.Second, func() {
		l.sayPod("a")
		l.sayPod("b")
		l.sayPod("c")
		l.sayPod("lost")
		l.must(l.c.Admin().Delete(context.Background(), pod("b"), client.GracePeriodSeconds(0)))
	})
	l.at(4*time.Second, func() { l.sayPod("c") })
	l.run(5*time.Second,
		`2000: a: Running on "node-1" at 10.244.0.1, ready true`,
		`2000: b: Running on "node-2" at 10.244.0.2, ready true`,
		`2000: c: Pending on "", Unschedulable: 0/2 nodes are available: 2 Too many pods.`,
		`2000: lost: Pending on "", Unschedulable: 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.`,
		`4000: c: Running on "node-2" at 10.244.0.3, ready true`,
	)
}

func TestSchedulerRefusesWhatItDoesNotModel(t *testing.T) {
	l := newLab(t, cluster.Config{Agents: &cluster.Agents{}})
	apart := func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "web"}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}, TopologyKey: corev1.LabelHostname,
			}},
		}}
	}
	l.at(0, func() { l.must(l.c.Admin().Create(context.Background(), pod("web", apart))) })
	l.at(time.Second, func() { l.sayPod("web") })
	l.run(2*time.Second, `1000: web: Pending on "", Unschedulable: 0/2 nodes are available: `+
		`2 node(s) cannot be judged: the simulated scheduler does not model affinity between Pods.`)
}

// What runs on a node that is away neither starts nor ends until it is back; nothing
// is placed there once its absence was noticed.
func TestAgentsOfANodeThatIsAway(t *testing.T) {
	l := newLab(t, cluster.Config{Agents: &cluster.Agents{}})
	on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
	l.at(0, func() {
		l.must(l.c.Admin().Create(context.Background(), pod("old", on("node-1"))))
	})
	l.at(2*time.Second, func() {
		l.c.Node("node-1").Crash()
		l.must(l.c.Admin().Create(context.Background(), pod("new", on("node-1"))))
		l.must(l.c.Admin().Delete(context.Background(), pod("old"), client.GracePeriodSeconds(1)))
	})
	l.at(60*time.Second, func() {
		l.sayPod("old")
		l.sayPod("new")
		l.must(l.c.Admin().Create(context.Background(), pod("late")))
	})
	l.at(62*time.Second, func() {
		l.sayPod("late")
		l.c.Node("node-1").Start()
	})
	l.at(64*time.Second, func() {
		l.sayPod("old")
		l.sayPod("new")
	})
	l.run(65*time.Second,
		`60000: old: Running on "node-1" at 10.244.0.1, ready true`,
		`60000: new: Pending on "node-1"`,
		`62000: late: Running on "node-2" at 10.244.0.2, ready true`,
		`64000: old: pods "old" not found`,
		`64000: new: Running on "node-1" at 10.244.0.3, ready true`,
	)
}

// A Pod that stands for a process takes the process with it, and the workload
// replaces both.
func TestDeletingTheShadowOfAProcessReplacesIt(t *testing.T) {
	l := newLab(t, cluster.Config{Nodes: 1, Agents: &cluster.Agents{}})
	l.c.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "agent", Main: l.worker("v1")})
	l.at(2*time.Second, func() {
		l.pods()
		victim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent-node-1"}}
		l.must(l.c.Admin().Delete(context.Background(), victim))
	})
	l.at(4*time.Second, l.pods)
	l.run(5*time.Second,
		"0: node-1/agent v1 starts",
		"2000: pod agent-node-1 on node-1: Running ready=true restarts=0",
		"3000: node-1/agent v1 ends",
		"3000: node-1/agent-1 v1 starts",
		"4000: pod agent-1-node-1 on node-1: Running ready=true restarts=0",
	)
}
