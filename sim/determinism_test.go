package sim_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// stormyOptions is a small cluster with every kind of fault.
func stormyOptions() sim.Options {
	return sim.Options{
		Name:    "storm",
		Horizon: 4 * time.Minute,
		Cluster: cluster.Config{Nodes: 3, NodeObjects: true, APIServers: 2, Profile: sim.Stormy()},
	}
}

// echo copies the wish of an object to its state, by way of the cache, and
// counts on its node's disk what it has done.
type echo struct{ env *cluster.Env }

func (e *echo) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var o corev1.ConfigMap
	if err := e.env.Client.Get(ctx, req.NamespacedName, &o); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if o.Data["state"] == o.Data["wish"] {
		return reconcile.Result{}, nil
	}
	o.Data["state"] = o.Data["wish"]
	return reconcile.Result{}, e.env.Kube.Update(ctx, &o)
}

// storm is a world in which a daemon on each node echoes wishes that a user
// changes all the time.
func storm(w *sim.World) {
	w.Deploy(cluster.WorkloadSpec{
		Kind: cluster.DaemonSet, Name: "echo",
		Main: func(ctx context.Context, env *cluster.Env) {
			_ = env.Run(ctx, kube.Controller{
				Name: "echo", Reconciler: &echo{env}, Workers: 2,
				Watches: []kube.Watch{{
					Object: &corev1.ConfigMap{}, Namespace: "default",
					Selector: labels.SelectorFromSet(labels.Set{"node": env.Node}),
				}},
			})
		},
	})
	var keys []client.ObjectKey
	for _, n := range w.Nodes() {
		for i := range 3 {
			o := configMap(fmt.Sprintf("%s-%d", n.Name(), i), map[string]string{"node": n.Name()},
				map[string]string{"wish": "0", "state": "0"})
			w.Create(o)
			keys = append(keys, client.ObjectKeyFromObject(o))
		}
	}
	round := 0
	w.Every(time.Second, func() {
		if w.Ceased() {
			return
		}
		round++
		var o corev1.ConfigMap
		w.Must(w.Admin().Get(context.Background(), keys[w.Choose("wish", len(keys))], &o))
		o.Data["wish"] = fmt.Sprint(round)
		w.Must(w.Admin().Update(context.Background(), &o))
	})
	w.Eventually("echoed", "a wish that nobody grants is a bug report", time.Minute, func() error {
		var list corev1.ConfigMapList
		w.Must(w.Admin().List(context.Background(), &list, client.InNamespace("default")))
		for _, o := range list.Items {
			if o.Data["wish"] != o.Data["state"] {
				return fmt.Errorf("%s is %s and should be %s", o.Name, o.Data["state"], o.Data["wish"])
			}
		}
		return nil
	})
}

// stormHashes are the hashes of some seeds, as text.
func stormHashes(seeds uint64) string {
	var b strings.Builder
	for seed := range seeds {
		r := sim.RunSeed(stormyOptions(), seed, storm)
		fmt.Fprintf(&b, "%d %016x %d %v\n", seed, r.Hash, r.Steps, r.Err)
	}
	return b.String()
}

const hashesEnv = "SEEDBED_TEST_PRINT_HASHES"

// TestMain prints hashes for TestSameHashInAnotherProcess when asked to.
func TestMain(m *testing.M) {
	if os.Getenv(hashesEnv) != "" {
		fmt.Print(stormHashes(hashSeeds))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const hashSeeds = 20

func TestSameHashAgain(t *testing.T) {
	if diff := cmp.Diff(stormHashes(hashSeeds), stormHashes(hashSeeds)); diff != "" {
		t.Errorf("second time (-first +second):\n%s", diff)
	}
}

func TestSameHashWithOneProcessor(t *testing.T) {
	want := stormHashes(hashSeeds)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if diff := cmp.Diff(want, stormHashes(hashSeeds)); diff != "" {
		t.Errorf("GOMAXPROCS=1 (-before +now):\n%s", diff)
	}
}

func TestSameHashInAnotherProcess(t *testing.T) {
	want := stormHashes(hashSeeds)
	for _, setting := range []string{"GOMAXPROCS=1", "GOMAXPROCS=2", "GOGC=20"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), hashesEnv+"=1", setting)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(out)); diff != "" {
			t.Errorf("with %s (-here +there):\n%s", setting, diff)
		}
	}
}

func TestSameReportWithAnyNumberOfWorkers(t *testing.T) {
	run := func(workers int) []uint64 {
		o := stormyOptions()
		o.Workers, o.Seeds = workers, 24
		rep, err := sim.Run(o, storm)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Failure != nil {
			t.Fatal(rep.Failure)
		}
		hashes := []uint64{rep.Hash}
		for _, r := range rep.Results {
			hashes = append(hashes, r.Hash)
		}
		return hashes
	}
	if diff := cmp.Diff(run(1), run(8)); diff != "" {
		t.Errorf("8 workers (-1 worker +8 workers):\n%s", diff)
	}
}
