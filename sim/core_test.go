package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// reports runs an agent on each node that writes a ConfigMap of the node's name over and
// over, and a collector that writes the object "all" once it has seen enough of them. It
// has seen enough when enough says so. Both keep at it whatever fails.
func reports(w *sim.World, enough func(seen, nodes int) bool) {
	write := func(ctx context.Context, env *cluster.Env, name string) {
		err := env.Kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			env.Log.V(1).Info("cannot write", "err", err.Error())
		}
	}
	for _, n := range w.Nodes() {
		n.Process(cluster.ProcessSpec{Name: "agent", Main: func(ctx context.Context, env *cluster.Env) {
			// Nobody reports before faults have ceased, so that the core has something to do.
			for pause := 21 * time.Second; env.Clock.Sleep(ctx, pause) == nil; pause = time.Second {
				write(ctx, env, n.Name())
			}
		}})
	}
	w.ControlPlane().Process(cluster.ProcessSpec{Name: "collector", Main: func(ctx context.Context, env *cluster.Env) {
		for env.Clock.Sleep(ctx, time.Second) == nil {
			var list corev1.ConfigMapList
			if env.Kube.List(ctx, &list, client.InNamespace("default")) == nil && enough(len(list.Items), len(w.Nodes())) {
				write(ctx, env, "all")
			}
		}
	}})
}

func collected(w *sim.World) error {
	return w.Admin().Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "all"}, &corev1.ConfigMap{})
}

func coreOptions() sim.Options {
	return sim.Options{
		Name: "core", Horizon: 10 * time.Minute, Seeds: 40, Workers: 1, Twice: -1,
		Cluster: cluster.Config{Nodes: 5, APIServers: 2, Profile: cluster.Profile{CeaseAt: 20 * time.Second}},
	}
}

// TestACoreConverges: a collector that goes on with a majority is fine, and one that waits
// for all nodes passes every check but the one about the core.
func TestACoreConverges(t *testing.T) {
	majority := func(seen, nodes int) bool { return seen > nodes/2 }
	everybody := func(seen, nodes int) bool { return seen >= nodes }
	for _, test := range []struct {
		name   string
		enough func(seen, nodes int) bool
		core   bool // judge the core
		caught bool
	}{
		{"a majority is enough", majority, true, false},
		{"waits for every node, and nobody asks about a core", everybody, false, false},
		{"waits for every node", everybody, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, err := sim.Run(coreOptions(), func(w *sim.World) {
				reports(w, test.enough)
				if test.core {
					w.EventuallyInCore("core-collects", "a report is due though nodes are gone", time.Minute, func(*cluster.Core) error { return collected(w) })
				}
				w.Eventually("collects", "a report is due", 2*time.Minute, func() error {
					return errors.Join(collected(w), whole(w))
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			if !test.caught {
				if report.Failure != nil {
					t.Errorf("it fails: %v", report.Failure.First.Err)
				}
				return
			}
			if report.Failure == nil {
				t.Fatalf("%d histories hold", report.Runs)
			}
			v := report.Failure.First.Violation()
			if v == nil || v.Property != "core-collects" {
				t.Fatalf("it fails otherwise: %v", report.Failure.First.Err)
			}
			for _, part := range []string{"the core is node-", ", while ", "not within 1m0s"} {
				if !strings.Contains(v.Err.Error(), part) {
					t.Errorf("%q is not in %q", part, v.Err)
				}
			}
		})
	}
}

// TestWhatACoreIs: a majority, an API server, and the rest is broken until it is mended.
func TestWhatACoreIs(t *testing.T) {
	o := coreOptions()
	ways := map[string]int{}
	for seed := range uint64(60) {
		var w *sim.World
		r := sim.RunSeed(o, seed, func(fresh *sim.World) {
			w = fresh
			reports(w, func(int, int) bool { return false })
			w.EventuallyInCore("sane", "", time.Minute, func(core *cluster.Core) error {
				if len(core.Nodes)*2 <= len(w.Nodes()) || len(core.Servers) == 0 {
					return fmt.Errorf("no majority: %s", core)
				}
				for _, out := range core.Outside {
					if core.Has(out.Name) {
						return fmt.Errorf("%s is inside and outside: %s", out.Name, core)
					}
					ways[out.How]++
				}
				if len(core.Outside) > 0 && whole(w) == nil {
					return fmt.Errorf("all is well although %s", core)
				}
				for _, n := range core.Nodes {
					if n.Down() || n.Processes()[0].Paused() || !n.Processes()[0].Alive() {
						return fmt.Errorf("%s is not well: %s", n.Name(), core)
					}
				}
				return nil
			})
			w.Eventually("mended", "", time.Minute, func() error { return whole(w) })
		})
		if r.Err != nil {
			t.Fatalf("seed %d: %v", seed, r.Err)
		}
	}
	for _, how := range []string{"is down", "is cut off", "is frozen"} {
		if ways[how] == 0 {
			t.Errorf("nothing ever %s: %v", how, ways)
		}
	}
}

// TestTheScriptKeepsItsWord: what the script has taken down does not come back with the
// core, and without a majority nothing is judged.
func TestTheScriptKeepsItsWord(t *testing.T) {
	for name, test := range map[string]struct {
		down   []string
		judged bool
	}{
		"one node":    {[]string{"node-2"}, true},
		"three nodes": {[]string{"node-1", "node-2", "node-3"}, false},
	} {
		judged := false
		r := sim.RunSeed(coreOptions(), 1, func(w *sim.World) {
			for _, name := range test.down {
				w.At(time.Second, w.Node(name).Crash)
			}
			w.EventuallyInCore("core", "", time.Minute, func(core *cluster.Core) error {
				judged = true
				if core.Has(test.down[0]) {
					return fmt.Errorf("%s has %s", core, test.down[0])
				}
				return nil
			})
			w.Finally("down", "", func() error {
				if !w.Node(test.down[0]).Down() {
					return fmt.Errorf("%s is up", test.down[0])
				}
				return nil
			})
		})
		if r.Err != nil || judged != test.judged {
			t.Errorf("%s: judged: %t, %v", name, judged, r.Err)
		}
	}
}

func TestEventuallyInCoreIsUsedRightly(t *testing.T) {
	hold := func(*cluster.Core) error { return nil }
	for want, row := range map[string]struct {
		cease time.Duration
		build sim.Build
	}{
		"give the profile of faults a CeaseAt": {0, func(w *sim.World) { w.EventuallyInCore("core", "", time.Minute, hold) }},
		"must be declared before \"all\"": {time.Second, func(w *sim.World) {
			w.Eventually("all", "", time.Minute, func() error { return nil })
			w.EventuallyInCore("core", "", time.Minute, hold)
		}},
		"can be judged after 1h0m1s": {time.Second, func(w *sim.World) { w.EventuallyInCore("core", "", time.Hour, hold) }},
	} {
		o := coreOptions()
		o.Cluster.Profile.CeaseAt = row.cease
		if r := sim.RunSeed(o, 1, row.build); r.Err == nil || !strings.Contains(r.Err.Error(), want) {
			t.Errorf("error %v, want %s", r.Err, want)
		}
	}
}
