package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// TestRefusals: each permission that a process lacks is told once.
func TestRefusals(t *testing.T) {
	l := newLab(t, cluster.Config{API: apiserver.Options{RBAC: true}})
	l.create("a", "1")
	l.c.Node("node-1").Process(cluster.ProcessSpec{
		Name: "agent", User: &apiserver.User{Name: "agent"},
		Main: func(ctx context.Context, env *cluster.Env) {
			for range 2 {
				_ = env.Kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &corev1.ConfigMap{})
			}
			_ = env.Kube.List(ctx, &corev1.NodeList{})
		},
	})
	l.run(time.Second)
	var got []string
	for _, r := range l.c.Refusals() {
		got = append(got, r.String())
	}
	want := []string{
		"process node-1/agent (agent) was refused: get configmaps a in the namespace default",
		"process node-1/agent (agent) was refused: list nodes at the cluster scope",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if first := l.c.Refusals()[0]; first.Count != 2 {
		t.Errorf("the first was refused %d times, want 2", first.Count)
	}
}
