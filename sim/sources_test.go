package sim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// election is a plain task, not a reconciler: whoever creates the ConfigMap
// "leader" leads, and gives it up after a while.
func election(patience time.Duration) func(ctx context.Context, env *cluster.Env) {
	return func(ctx context.Context, env *cluster.Env) {
		me := fmt.Sprintf("%s-%d", env.Process, env.Incarnation)
		for ctx.Err() == nil {
			err := env.Kube.Create(ctx, configMap("leader", nil, map[string]string{"who": me}))
			if err == nil {
				env.Event("leads", me, 0, "leads")
				_ = env.Clock.Sleep(ctx, time.Second)
				_ = env.Kube.Delete(ctx, configMap("leader", nil, nil))
			}
			_ = env.Clock.Sleep(ctx, patience)
		}
	}
}

func electionWorld(candidates int, patience time.Duration) sim.Build {
	return func(w *sim.World) {
		for i := range candidates {
			w.ControlPlane().Process(cluster.ProcessSpec{Name: fmt.Sprintf("candidate-%d", i), Main: election(patience)})
		}
		w.Eventually("the leader lives", "nobody would do the work, for ever", time.Minute, func() error {
			var o corev1.ConfigMap
			err := w.Admin().Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "leader"}, &o)
			if apierrors.IsNotFound(err) {
				return errors.New("nobody leads")
			}
			for _, p := range w.Processes() {
				if p.Alive() && o.Data["who"] == fmt.Sprintf("%s-%d", p.Name(), p.Incarnation()) {
					return nil
				}
			}
			return fmt.Errorf("%s leads and is dead", o.Data["who"])
		})
	}
}

// A check of plain tasks: several candidates want to lead, and each of them may
// crash when it does.
func ExampleRun_task() {
	report, err := sim.Run(sim.Options{
		Name:      "election",
		Cluster:   cluster.Config{Profile: sim.Stormy().Only("process-crash").Until(30 * time.Second)},
		Horizon:   2 * time.Minute,
		Seeds:     50,
		Artifacts: sim.NoArtifacts,
	}, electionWorld(3, 5*time.Second))
	if err != nil {
		fmt.Println("the engine failed:", err)
		return
	}
	v := report.Failure.Small.Violation()
	fmt.Println(v)
	for _, p := range report.Failure.Small.Schedule.Picks {
		fmt.Printf("choice %d of %s is %d\n", p.Nth, p.Label, p.Value)
	}
	fmt.Println("it means:", v.Meaning)
	// Output:
	// property "the leader lives" broken: not within 1m0s: candidate-1-1 leads and is dead
	// choice 5 of fault/process-crash/candidate-1 is 1
	// choice 0 of latency/candidate-1 is 1
	// it means: nobody would do the work, for ever
}

// TestElectionWithRapid lets rapid choose the workload and the faults. Without
// crashes the election works.
func TestElectionWithRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		candidates := rapid.IntRange(1, 4).Draw(t, "candidates")
		patience := time.Duration(rapid.IntRange(1, 10).Draw(t, "patience")) * time.Second
		sim.CheckRapid(t, sim.Options{
			Horizon: 90 * time.Second,
			Cluster: cluster.Config{Profile: sim.Stormy().Only("api-error-500", "api-loss-response").Until(20 * time.Second)},
		}, electionWorld(candidates, patience))
	})
}

// TestSourceMayAbandonARun is what rapid does when it runs out of data: the panic
// reaches it, wherever the run was, and no property is blamed.
func TestSourceMayAbandonARun(t *testing.T) {
	for left := range 40 {
		drawn, built := 0, false
		src := engine.NewDraw(func(_ string, n uint64) uint64 {
			if drawn++; drawn > left {
				panic("out of data")
			}
			return n - 1
		})
		func() {
			defer func() {
				if r := recover(); r != "out of data" {
					t.Errorf("after %d draws the panic is %v", left, r)
				}
			}()
			o := small()
			o.Horizon = 90 * time.Second
			sim.CheckSource(t, src, o, func(w *sim.World) {
				for range 10 {
					w.Choose("size", 5)
				}
				built = true
				electionWorld(2, time.Second)(w)
			})
			t.Errorf("after %d draws the run is not abandoned", left)
		}()
		if built != (left >= 12) {
			t.Errorf("after %d draws: built is %v", left, built)
		}
	}
}

// FuzzElection is a native fuzz target: its bytes are the choices of a run, so
// coverage leads the fuzzer to new histories.
func FuzzElection(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("every byte is a choice"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sim.Fuzz(t, data, sim.Options{
			Horizon: 90 * time.Second, Artifacts: t.TempDir(),
			Cluster: cluster.Config{Profile: sim.Swarm().Without("process-crash", "process-kill").Until(20 * time.Second)},
		}, electionWorld(2, 3*time.Second))
	})
}
