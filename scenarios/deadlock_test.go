package scenarios_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// TestDeadlockIsAViolation is a system that takes a lock twice.
func TestDeadlockIsAViolation(t *testing.T) {
	r, err := scenarios.New(scenarios.System{
		Name: "knot", Doc: "A process that takes a lock twice.",
		Config:    struct{}{},
		Processes: scenarios.ProcessesWith(func(struct{}, scenarios.Cluster) []string { return []string{"knot"} }),
		Build: scenarios.BuildWith(func(w *scenarios.World, _ struct{}) (*struct{}, error) {
			w.ControlPlane().Process(cluster.ProcessSpec{Name: "knot", Main: func(_ context.Context, env *cluster.Env) {
				lock := env.Sim().NewMutex()
				lock.Lock()
				lock.Lock()
			}})
			return &struct{}{}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	o := r.RunSeed(parse(t, r, "systems: {knot: }\nproperties: [{name: up, why: So., always: 'true'}]"), 1)
	const want = `task knot#1/main.1 waits at "lock" since 0s`
	if o.Result != scenarios.Violated || o.Property != scenarios.NoDeadlock || !strings.Contains(o.Found, want) {
		t.Errorf("%s %s: %s, want %s: %s (%v)", o.Result, o.Property, o.Found, scenarios.NoDeadlock, want, o.Err)
	}
}

// TestStormIsAViolation is a system whose process asks the same again and again without
// a pause, which time moves along with: it would never end.
func TestStormIsAViolation(t *testing.T) {
	for name, row := range map[string]struct {
		ask  func(ctx context.Context, env *cluster.Env) error
		want string
	}{
		"writes": {func(ctx context.Context, env *cluster.Env) error {
			return env.Kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}})
		}, `storm: 3001 requests within a minute at`},
		"reads": {func(ctx context.Context, env *cluster.Env) error {
			return env.Kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "x"}, &corev1.ConfigMap{})
		}, `about the same as "get configmaps/default/x" of task eager#1/main.1`},
	} {
		r, err := scenarios.New(scenarios.System{
			Name: "eager", Doc: "A process that asks again and again.",
			Config:    struct{}{},
			Processes: scenarios.ProcessesWith(func(struct{}, scenarios.Cluster) []string { return []string{"eager"} }),
			Build: scenarios.BuildWith(func(w *scenarios.World, _ struct{}) (*struct{}, error) {
				w.ControlPlane().Process(cluster.ProcessSpec{Name: "eager", Main: func(ctx context.Context, env *cluster.Env) {
					for ctx.Err() == nil {
						_ = row.ask(ctx, env) // whatever the answer is
					}
				}})
				return &struct{}{}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		o := r.RunSeed(parse(t, r, "cluster: {latency: 1ms}\nsystems: {eager: }\nproperties: [{name: up, why: So., always: 'true'}]\nexplore: {horizon: 1h}"), 1)
		if o.Result != scenarios.Violated || o.Property != scenarios.NoLivelock || !strings.Contains(o.Found, row.want) {
			t.Errorf("%s: %s %s: %s, want %s: %s (%v)", name, o.Result, o.Property, o.Found, scenarios.NoLivelock, row.want, o.Err)
		}
	}
}
