package cluster_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// The toy workload: on each node a controller watches its own objects. An
// outsider changes one of them every five seconds; the controller reads the
// object, writes what it has done, and reads its node's lease: three API calls.
const (
	objectsPerNode = 10
	changeEvery    = 5 * time.Second
)

type toy struct {
	kube  client.Client
	cache *cluster.Cache
	rest  client.ObjectKey
}

func (t *toy) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var o Light
	if err := t.cache.Get(ctx, req.NamespacedName, &o, shared); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if o.Done == o.Want {
		return reconcile.Result{}, nil
	}
	if err := t.kube.Get(ctx, req.NamespacedName, &o); err != nil {
		return reconcile.Result{}, err
	}
	o.Done = o.Want
	if err := t.kube.Update(ctx, &o); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, t.kube.Get(ctx, t.rest, &Light{})
}

// shared reads the cache without a copy, as the toy of the design does.
var shared = client.UnsafeDisableDeepCopy

// toyCluster builds the toy world.
func toyCluster(nodes int, seed uint64, horizon time.Duration) *cluster.Cluster {
	c := cluster.New(cluster.Config{
		Engine: engine.Config{Source: engine.NewSeed(seed), Horizon: horizon},
		Nodes:  nodes,
		Scheme: lightScheme,
		Kinds:  []apiserver.KindInfo{{GVK: lightGVK}},
	})
	for _, n := range c.Nodes() {
		d := addToyNode(c, n)
		d.stream = c.Engine().Stream("driver", n.Name())
		c.Engine().After(d.pause(), drive, d)
	}
	return c
}

// addToyNode adds what a node consists of, and returns who would change it.
func addToyNode(c *cluster.Cluster, n *cluster.Node) *driver {
	mine := map[string]string{"node": n.Name()}
	keys := make([]client.ObjectKey, objectsPerNode)
	for i := range keys {
		keys[i] = client.ObjectKey{Namespace: "default", Name: fmt.Sprintf("%s-%d", n.Name(), i)}
		must(c.Admin().Create(context.Background(), &Light{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: keys[i].Name, Labels: map[string]string{"node": n.Name()},
			},
		}, apiclient.GiveAway))
	}
	rest := client.ObjectKey{Namespace: "kube-node-lease", Name: n.Name()}
	must(c.Admin().Create(context.Background(), &Light{
		ObjectMeta: metav1.ObjectMeta{Namespace: rest.Namespace, Name: rest.Name},
	}, apiclient.GiveAway))
	n.Process(cluster.ProcessSpec{Name: "agent", Main: func(ctx context.Context, env *cluster.Env) {
		_ = env.Run(ctx, kube.Controller{
			Name:       "toy",
			Reconciler: &toy{kube: env.Kube, cache: env.Cache, rest: rest},
			Watches:    []kube.Watch{{Object: &Light{}, Namespace: "default", Selector: labels.SelectorFromSet(mine)}},
		})
	}})
	return &driver{c: c, keys: keys}
}

// driver is the outsider of one node.
type driver struct {
	c      *cluster.Cluster
	keys   []client.ObjectKey
	stream *engine.Stream
}

func (d *driver) pause() time.Duration {
	return d.stream.Duration(engine.Dist{Mean: changeEvery, Max: 16 * changeEvery})
}

func drive(arg any) {
	d := arg.(*driver)
	var o Light
	must(d.c.Admin().Get(context.Background(), d.keys[d.stream.Intn(len(d.keys))], &o))
	o.Want++
	must(d.c.Admin().Update(context.Background(), &o, apiclient.GiveAway))
	d.c.Engine().After(d.pause(), drive, d)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// BenchmarkEvents is the cost of an engine event of the toy workload. The
// cluster is built and has listed before the clock starts.
func BenchmarkEvents(b *testing.B) {
	for _, nodes := range []int{3, 100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(sim.GCPercent))
			c := toyCluster(nodes, 1, 0)
			measureEvents(b, c.Engine(), nodes)
			must(c.Close())
		})
	}
}

// measureEvents runs e, which has as many nodes, for b.N events.
func measureEvents(b *testing.B, e *engine.Engine, nodes int) {
	b.Helper()
	warm := e.RunUntil(10 * time.Second)
	if warm.Err != nil {
		b.Fatal(warm.Err)
	}
	runtime.GC()
	steps := warm.Steps
	elapsed := 10 * time.Second
	slice := time.Duration(int64(60*time.Second) * 3 / int64(nodes))
	began := cpu()
	b.ReportAllocs()
	b.ResetTimer()
	for steps-warm.Steps < uint64(b.N) {
		elapsed += slice
		res := e.RunUntil(elapsed)
		if res.Err != nil {
			b.Fatal(res.Err)
		}
		steps = res.Steps
	}
	b.StopTimer()
	done := float64(steps - warm.Steps)
	b.ReportMetric(float64((cpu()-began).Nanoseconds())/done, "cpu-ns/event")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/done, "ns/event")
	b.ReportMetric(done/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric((elapsed-10*time.Second).Seconds()*float64(nodes)/3600/b.Elapsed().Seconds(), "node-hours/s")
}

// BenchmarkRun is a whole run of three light nodes over a virtual minute, with
// set-up, on all processors, as sim.Run does it.
func BenchmarkRun(b *testing.B) {
	measureRuns(b, func(seed uint64) engine.Result {
		c := toyCluster(3, seed, time.Minute)
		res := c.Run()
		must(c.Close())
		return res
	})
}

// measureRuns makes b.N runs of one world each, on all processors.
func measureRuns(b *testing.B, run func(seed uint64) engine.Result) {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(sim.GCPercent))
	b.ReportAllocs()
	began := cpu()
	var seed, steps atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res := run(seed.Add(1))
			must(res.Err)
			steps.Add(res.Steps)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64(b.N)/(cpu()-began).Seconds(), "runs/cpu-s")
	b.ReportMetric(float64(steps.Load())/float64(b.N), "events/run")
}

// cpu is the processor time that this program has used. It tells more than the
// wall clock on a machine that is shared.
func cpu() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkIdleNode is the memory of a node that does nothing but watch its ten
// objects.
func BenchmarkIdleNode(b *testing.B) {
	const nodes = 5000
	for range b.N {
		before := memory()
		c := toyCluster(0, 1, 0)
		for i := range nodes {
			addToyNode(c, c.AddNode(fmt.Sprint("node-", i)))
		}
		if res := c.Engine().RunUntil(500 * time.Millisecond); res.Err != nil {
			b.Fatal(res.Err)
		}
		b.ReportMetric(float64(memory()-before)/nodes, "B/node")
		must(c.Close())
	}
}

// memory is what is live on the heap and on stacks.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
