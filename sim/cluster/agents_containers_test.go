package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

const gate corev1.PodConditionType = "example.com/warm"

func gated(p *corev1.Pod) {
	p.Spec.NodeName = "node-1"
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	p.Spec.TerminationGracePeriodSeconds = new(int64)
	*p.Spec.TerminationGracePeriodSeconds = 20
}

// boxed runs every Pod as a process that says what happens to it.
func (l *lab) boxed() {
	l.c.RunPods(func(p *corev1.Pod) *cluster.Container {
		ends := func() {}
		return &cluster.Container{
			Process: cluster.ProcessSpec{Name: p.Name, Main: func(ctx context.Context, env *cluster.Env) {
				l.say("%s starts", env.Process)
				ctx, cancel := env.Clock.WithCancel(ctx)
				ends = func() { env.Sim().After(5*time.Second, func(any) { cancel() }, nil) }
				_ = env.Clock.Sleep(ctx, time.Hour)
				l.say("%s ends", env.Process)
			}},
			Terminate: func() { ends() },
			Gone:      func() { l.say("%s is forgotten", p.Name) },
		}
	})
}

// warm sets the condition that the gate is about.
func (l *lab) warm(name string) {
	var p corev1.Pod
	l.must(l.c.Admin().Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, &p))
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue})
	l.must(l.c.Admin().Status().Update(context.Background(), &p))
}

// TestAPodThatIsAProcess is ready when its gate is open, is started again on its node
// when it crashes, and goes when it has ended.
func TestAPodThatIsAProcess(t *testing.T) {
	l := newLab(t, cluster.Config{Nodes: 1, NodeObjects: true})
	l.boxed()
	l.at(0, func() { l.must(l.c.Admin().Create(context.Background(), pod("a", gated))) })
	l.at(2*time.Second, func() { l.sayPod("a") })
	l.at(3*time.Second, func() { l.warm("a") })
	l.at(4*time.Second, func() { l.sayPod("a"); l.c.Process("node-1/a").Crash() })
	l.at(4500*time.Millisecond, func() { l.sayPod("a") })
	l.at(6*time.Second, func() {
		l.sayPod("a")
		l.must(l.c.Admin().Delete(context.Background(), pod("a")))
	})
	l.at(10*time.Second, func() { l.sayPod("a") })
	l.at(12*time.Second, func() { l.sayPod("a") })
	l.run(time.Minute,
		`1000: node-1/a starts`,
		`2000: a: Running on "node-1" at 10.244.0.1, ready true, ReadinessGatesNotReady: corresponding condition of pod readiness gate "example.com/warm" does not exist.`,
		`4000: a: Running on "node-1" at 10.244.0.1, ready true`,
		`4500: a: Running on "node-1" at 10.244.0.1, ready false, ContainersNotReady: containers with unready status: [main], ContainersNotReady: containers with unready status: [main]`,
		`5000: node-1/a starts`,
		`6000: a: Running on "node-1" at 10.244.0.1, ready true`,
		`10000: a: Running on "node-1" at 10.244.0.1, ready true`,
		`11000: node-1/a ends`,
		`11000: a is forgotten`,
		`12000: a: pods "a" not found`,
	)
}

// TestAPodDeletedByForceIsKilled a second later.
func TestAPodDeletedByForceIsKilled(t *testing.T) {
	l := newLab(t, cluster.Config{Nodes: 1, NodeObjects: true})
	l.boxed()
	l.at(0, func() { l.must(l.c.Admin().Create(context.Background(), pod("a", gated))) })
	l.at(5*time.Second, func() { l.must(l.c.Admin().Delete(context.Background(), pod("a"), client.GracePeriodSeconds(0))) })
	l.run(time.Minute, `1000: node-1/a starts`, `6000: a is forgotten`)
}

// TestAPodReplacedBehindTheBackOfItsKubelet runs on until its grace is over, beside its
// successor of the same name.
func TestAPodReplacedBehindTheBackOfItsKubelet(t *testing.T) {
	l := newLab(t, cluster.Config{Nodes: 1, NodeObjects: true})
	l.boxed()
	l.at(0, func() { l.must(l.c.Admin().Create(context.Background(), pod("a", gated))) })
	var heal func()
	l.at(4*time.Second, func() { heal = l.c.Isolate(l.c.Node("node-1"), true, true) })
	l.at(5*time.Second, func() {
		l.must(l.c.Admin().Delete(context.Background(), pod("a"), client.GracePeriodSeconds(0)))
		l.must(l.c.Admin().Create(context.Background(), pod("a", gated)))
	})
	l.at(8*time.Second, func() { heal() })
	l.run(time.Minute,
		`1000: node-1/a starts`,
		`9000: node-1/a-2 starts`,
		`13000: node-1/a ends`,
		`13000: a is forgotten`,
	)
}
