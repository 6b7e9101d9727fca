package scenarios_test

import (
	"context"
	"strings"
	"testing"

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
