package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// worker says when each of its incarnations starts and ends.
func (l *lab) worker(version string) func(ctx context.Context, env *cluster.Env) {
	return func(ctx context.Context, env *cluster.Env) {
		l.say("%s %s starts", env.Process, version)
		env.OnEnd(func() { l.say("%s %s ends", env.Process, version) })
		_ = env.Clock.Sleep(ctx, time.Hour)
	}
}

// pods says which Pods there are.
func (l *lab) pods() {
	var list corev1.PodList
	l.must(l.c.Admin().List(context.Background(), &list))
	for _, p := range list.Items {
		s := p.Status.ContainerStatuses[0]
		l.say("pod %s on %s: %s ready=%v restarts=%d", p.Name, p.Spec.NodeName, p.Status.Phase, s.Ready, s.RestartCount)
	}
}

func TestDaemonSet(t *testing.T) {
	l := newLab(t, cluster.Config{Nodes: 3, NodeObjects: true})
	w := l.c.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "agent", OnlyOn: "node-1,node-3", Main: l.worker("v1")})
	l.at(5*time.Second, func() { l.c.Process("node-3/agent").Crash() })
	l.at(5500*time.Millisecond, l.pods)
	l.at(10*time.Second, l.pods)
	l.at(20*time.Second, func() { w.Rollout(l.worker("v2")) })
	l.at(40*time.Second, l.pods)
	l.run(time.Minute,
		"0: node-1/agent v1 starts",
		"0: node-3/agent v1 starts",
		"5000: node-3/agent v1 ends",
		"5500: pod agent-node-1 on node-1: Running ready=true restarts=0",
		"5500: pod agent-node-3 on node-3: Running ready=false restarts=0",
		"6000: node-3/agent v1 starts",
		"10000: pod agent-node-1 on node-1: Running ready=true restarts=0",
		"10000: pod agent-node-3 on node-3: Running ready=true restarts=1",
		"20000: node-1/agent v1 ends",
		"23000: node-1/agent-1 v2 starts",
		"26000: node-3/agent v1 ends",
		"29000: node-3/agent-1 v2 starts",
		"40000: pod agent-1-node-1 on node-1: Running ready=true restarts=0",
		"40000: pod agent-1-node-3 on node-3: Running ready=true restarts=0",
	)
}

func TestANodeThatJoinsGetsItsDaemons(t *testing.T) {
	l := newLab(t, cluster.Config{NodeObjects: true})
	l.c.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "agent", OnlyOn: "late-*", Main: l.worker("v1")})
	l.at(time.Second, func() { l.c.AddNode("late-1"); l.c.AddNode("other") })
	l.at(2*time.Second, l.pods)
	l.run(time.Minute,
		"1000: late-1/agent v1 starts",
		"2000: pod agent-late-1 on late-1: Running ready=true restarts=0",
	)
}

func TestDeploymentRollout(t *testing.T) {
	l := newLab(t, cluster.Config{})
	w := l.c.Deploy(cluster.WorkloadSpec{Kind: cluster.Deployment, Name: "web", Replicas: 2, Main: l.worker("v1")})
	l.at(20*time.Second, func() { w.Rollout(l.worker("v2")) })
	l.at(40*time.Second, func() {
		for _, p := range w.Processes() {
			l.say("%s remains", p.Name())
		}
	})
	l.run(time.Minute,
		"0: node-1/web-0 v1 starts",
		"0: node-2/web-1 v1 starts",
		"20000: node-1/web-2 v2 starts", // before the old one ends
		"23000: node-1/web-0 v1 ends",
		"26000: node-2/web-3 v2 starts",
		"29000: node-2/web-1 v1 ends",
		"40000: node-1/web-2 remains",
		"40000: node-2/web-3 remains",
	)
}

func TestDeploymentWithoutNodesRunsOnTheControlPlane(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.c.Deploy(cluster.WorkloadSpec{Kind: cluster.Deployment, Name: "web", OnlyOn: "none", Main: l.worker("v1")})
	l.run(time.Second, "0: web-0 v1 starts")
}

// TestEviction follows a node that stays away: not ready after 50 s, its Pods
// replaced five minutes later. The DaemonSet's stay.
func TestEviction(t *testing.T) {
	l := newLab(t, cluster.Config{NodeObjects: true})
	l.c.Deploy(cluster.WorkloadSpec{Kind: cluster.Deployment, Name: "web", Replicas: 2, Main: l.worker("v1")})
	l.c.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "agent", OnlyOn: "node-1", Main: l.worker("v1")})
	ready := func() {
		var n corev1.Node
		l.must(l.c.Admin().Get(context.Background(), client.ObjectKey{Name: "node-1"}, &n))
		l.say("node-1 ready: %s", n.Status.Conditions[0].Status)
	}
	l.at(10*time.Second, func() { l.c.Node("node-1").Crash() })
	l.at(11*time.Second, ready)
	l.at(61*time.Second, ready)
	l.at(400*time.Second, func() { l.c.Node("node-1").Start() })
	l.at(402*time.Second, ready)
	l.run(10*time.Minute,
		"0: node-1/web-0 v1 starts",
		"0: node-2/web-1 v1 starts",
		"0: node-1/agent v1 starts",
		"10000: node-1/web-0 v1 ends",
		"10000: node-1/agent v1 ends",
		"11000: node-1 ready: True",
		"61000: node-1 ready: Unknown",
		"360000: node-2/web-2 v1 starts",
		"401000: node-1/agent v1 starts",
		"402000: node-1 ready: True",
	)
}

// TestEvictionOfANodeThatIsCutOff is the same with a node that goes on without the
// control plane: its copy runs beside the new one until it hears that it is evicted.
func TestEvictionOfANodeThatIsCutOff(t *testing.T) {
	tests := []struct {
		name    string
		out, in bool
	}{{"both ways", true, true}, {"not heard", true, false}, {"deaf", false, true}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, cluster.Config{NodeObjects: true})
			l.c.Deploy(cluster.WorkloadSpec{Kind: cluster.Deployment, Name: "web", OnlyOn: "node-*", Main: l.worker("v1")})
			ready := func() {
				var n corev1.Node
				l.must(l.c.Admin().Get(context.Background(), client.ObjectKey{Name: "node-1"}, &n))
				l.say("node-1 ready: %s since %ds", n.Status.Conditions[0].Status, int(n.Status.Conditions[0].LastTransitionTime.Sub(l.c.Engine().Now().Add(-l.c.Engine().Elapsed())).Seconds()))
			}
			var heal func()
			cut := func() { heal = l.c.Isolate(l.c.Node("node-1"), tt.out, tt.in) }
			l.at(10*time.Second, cut)
			l.at(50*time.Second, func() { heal() })
			l.at(55*time.Second, ready)
			l.at(100*time.Second, cut)
			l.at(145*time.Second, ready)
			l.at(155*time.Second, ready)
			l.at(500*time.Second, func() { heal() })
			l.at(501*time.Second, ready)
			l.run(10*time.Minute,
				"0: node-1/web-0 v1 starts",
				"55000: node-1 ready: True since 0s",
				"145000: node-1 ready: True since 0s",
				"155000: node-1 ready: Unknown since 150s",
				"450000: node-2/web-1 v1 starts",
				"500000: node-1/web-0 v1 ends",
				"501000: node-1 ready: True since 500s",
			)
		})
	}
}

func TestUnknownWorkloadKind(t *testing.T) {
	l := newLab(t, cluster.Config{})
	defer func() {
		if got, want := fmt.Sprint(recover()), `cluster: workload x: unknown kind "CronJob"`; got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	l.c.Deploy(cluster.WorkloadSpec{Kind: "CronJob", Name: "x"})
}
