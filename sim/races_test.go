package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// lostUpdate is a world in which two processes add one to a counter, four seconds
// apart, each without a precondition, so that one of the additions is lost if the other
// comes in between. The noise are processes that go on writing objects of their own.
func lostUpdate(noise int) sim.Build {
	return func(w *sim.World) {
		w.Create(configMap("counter", nil, map[string]string{"n": "0"}))
		added := 0
		add := func(name string, at time.Duration) {
			w.ControlPlane().Process(cluster.ProcessSpec{
				Name: name, Restart: cluster.Restart{Never: true},
				Main: func(ctx context.Context, env *cluster.Env) {
					_ = env.Clock.Sleep(ctx, at)
					if increase(ctx, env, "counter") == nil {
						added++
					}
				},
			})
		}
		add("one", time.Second)
		add("two", 5*time.Second)
		for i := range noise {
			name := fmt.Sprintf("noise-%d", i)
			w.Create(configMap(name, nil, map[string]string{"n": "0"}))
			w.ControlPlane().Process(cluster.ProcessSpec{Name: name, Main: func(ctx context.Context, env *cluster.Env) {
				for env.Clock.Sleep(ctx, 200*time.Millisecond) == nil {
					_ = increase(ctx, env, name) // an error is one write less
				}
			}})
		}
		w.Finally("nothing is lost", "two additions make two", func() error {
			var counter corev1.ConfigMap
			w.Must(w.Admin().Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "counter"}, &counter))
			if n := counter.Data["n"]; added == 2 && n != "2" {
				return fmt.Errorf("two have added one, and the counter is %s", n)
			}
			return nil
		})
	}
}

// increase adds one to a counter, whatever others do to it meanwhile.
func increase(ctx context.Context, env *cluster.Env, name string) error {
	var counter corev1.ConfigMap
	if err := env.Kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &counter); err != nil {
		return err
	}
	n, err := strconv.Atoi(counter.Data["n"])
	if err != nil {
		return err
	}
	counter.Data["n"] = strconv.Itoa(n + 1)
	counter.ResourceVersion = ""
	return env.Kube.Update(ctx, &counter)
}

// seedsToFind is the median over some master seeds of how many runs it takes until one
// fails, at most so many.
func seedsToFind(p cluster.Profile, build sim.Build, masters, most uint64) uint64 {
	var needed []uint64
	for master := range masters {
		n := uint64(0)
		for n < most {
			n++
			o := sim.Options{Cluster: cluster.Config{Profile: p}, Horizon: 20 * time.Second}
			if sim.RunSeed(o, master*1_000_000+n, build).Err != nil {
				break
			}
		}
		needed = append(needed, n)
	}
	slices.Sort(needed)
	return needed[len(needed)/2]
}

// Faults that look for races find one in a few runs, whatever else goes on.
func TestRacesAreFoundSooner(t *testing.T) {
	for _, noise := range []int{0, 10} {
		t.Run(fmt.Sprintf("%d others", noise), func(t *testing.T) {
			const masters, most = 5, 150
			races := seedsToFind(sim.Races(), lostUpdate(noise), masters, most)
			stormy := seedsToFind(sim.Stormy(), lostUpdate(noise), masters, most)
			t.Logf("found after %d runs of Races and %d of Stormy (median of %d, %d at most)", races, stormy, masters, most)
			if races > 20 || races*3 > stormy {
				t.Errorf("found after %d runs of Races and %d of Stormy, want at most 20 and a third", races, stormy)
			}
		})
	}
}
