package sim_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// alone is a world with one process.
func alone(main func(ctx context.Context, env *cluster.Env)) sim.Build {
	return func(w *sim.World) {
		w.ControlPlane().Process(cluster.ProcessSpec{Name: "p", Main: main})
	}
}

// TestGoroutineOfTheSystemIsCaught is a task that uses the go statement.
func TestGoroutineOfTheSystemIsCaught(t *testing.T) {
	if !engine.CheapIdentity {
		t.Skip("goroutines are told apart on amd64 and arm64 only, where make test runs this")
	}
	calls := map[string]func(ctx context.Context, env *cluster.Env){
		"writes": func(ctx context.Context, env *cluster.Env) { _ = env.Kube.Create(ctx, configMap("a", nil, nil)) },
		"reads": func(ctx context.Context, env *cluster.Env) {
			_ = env.Cache.List(ctx, &corev1.ConfigMapList{})
		},
		"sleeps":  func(ctx context.Context, env *cluster.Env) { _ = env.Clock.Sleep(ctx, time.Second) },
		"touches": func(_ context.Context, env *cluster.Env) { env.Touch() },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			caught := make(chan any, 1)
			sim.RunSeed(small(), 1, alone(func(ctx context.Context, env *cluster.Env) {
				_ = env.Cache.List(ctx, &corev1.ConfigMapList{})
				go func() {
					defer func() { caught <- recover() }()
					call(ctx, env)
				}()
				err, _ := (<-caught).(error)
				if err == nil || !strings.Contains(err.Error(), "called from a goroutine that is not a task, started by task p#1/main.1") {
					t.Errorf("the goroutine was told %v", err)
				}
				_ = env.Clock.Sleep(ctx, time.Hour)
			}))
		})
	}
}

// TestContextOfTheMachineIsRefused is a deadline in real time.
func TestContextOfTheMachineIsRefused(t *testing.T) {
	if !engine.CheapIdentity {
		t.Skip("such contexts are looked for on amd64 and arm64 only, where make test runs this")
	}
	r := sim.RunSeed(small(), 1, alone(func(ctx context.Context, env *cluster.Env) {
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		_ = env.Clock.Sleep(ctx, time.Second)
	}))
	if r.Err == nil || !strings.Contains(r.Err.Error(), "use Process.WithTimeout, not context.WithTimeout") {
		t.Errorf("the run ends with %v", r.Err)
	}
}

// TestStallNamesCheckAndSeed runs a child that waits for a real lock for ever.
func TestStallNamesCheckAndSeed(t *testing.T) {
	const child = "SEEDBED_TEST_STALL"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Fatalf("the child ends with %v:\n%s", err, out)
		}
		if want := t.Name() + ", seed 41: stall: task p#1/main.1 has not yielded for 100ms of real time"; !strings.Contains(string(out), want) {
			t.Errorf("the child says\n%s\nwant %s", out, want)
		}
		return
	}
	o := small()
	o.First, o.Seeds = 41, 1
	o.Cluster.Engine.Stall = 100 * time.Millisecond
	sim.Check(t, o, alone(func(context.Context, *cluster.Env) {
		var lock sync.Mutex
		lock.Lock()
		lock.Lock()
	}))
}

// TestDeadlockInACluster is a process whose two tasks take two locks in opposite
// order, in a cluster in which something always happens.
func TestDeadlockInACluster(t *testing.T) {
	o := small()
	o.Horizon = time.Hour
	r := sim.RunSeed(o, 1, func(w *sim.World) {
		tick(w)
		alone(func(ctx context.Context, env *cluster.Env) {
			a, b := env.Sim().NewMutex(), env.Sim().NewMutex()
			g := env.Clock.NewGroup(ctx)
			take := func(first, second sync.Locker) func(ctx context.Context) {
				return func(ctx context.Context) {
					first.Lock()
					_ = env.Kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &corev1.ConfigMap{})
					second.Lock()
				}
			}
			g.Go("one", take(a, b))
			g.Go("other", take(b, a))
			g.Wait()
		})(w)
	})
	var dead *engine.DeadlockError
	if !errors.As(r.Err, &dead) {
		t.Fatalf("the run ends with %v", r.Err)
	}
	const want = `task p#1/main.1 waits at "join one" since 0s, task p#1/one.1 waits at "lock" since `
	if !strings.Contains(dead.Error(), want) || dead.At > time.Minute {
		t.Errorf("%v, want %s", dead, want)
	}
}

// TestWaitsAreExcusedWhileFaultsLast asks something that nobody answers, in a run
// whose faults cease after twenty minutes.
func TestWaitsAreExcusedWhileFaultsLast(t *testing.T) {
	o := small()
	o.Horizon = time.Hour
	o.Cluster.Profile = sim.Stormy().Only("api-latency").Until(20 * time.Minute)
	r := sim.RunSeed(o, 1, func(w *sim.World) {
		tick(w)
		alone(func(ctx context.Context, env *cluster.Env) {
			_ = env.Sim().Await(ctx, engine.Op{Verb: "ask"}, func(*engine.Wait) {})
		})(w)
	})
	var dead *engine.DeadlockError
	if !errors.As(r.Err, &dead) || dead.At < 26*time.Minute || dead.At > 27*time.Minute {
		t.Errorf("the run ends with %v, want a deadlock about six minutes after faults have ceased", r.Err)
	}
}
