package cluster_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// bareWorld is the toy workload written by hand on the engine: a map for an API
// server, a map for a cache, a slice for a work queue, and nothing between them
// but latency. It is the peer of the toy cluster: what an event would cost if a
// cluster were not simulated at all.
type bareWorld struct {
	e       *engine.Engine
	objects map[bareKey]*Light
	version uint64
}

type bareKey struct{ namespace, name string }

// bareNode is an agent that watches its objects, and the outsider that changes them.
type bareNode struct {
	w       *bareWorld
	p       *engine.Process
	ctx     context.Context
	keys    []bareKey
	rest    bareKey
	network *engine.Stream
	outside *engine.Stream
	last    time.Duration // when the last watch event arrives; events keep their order

	cache map[bareKey]*Light
	dirty map[bareKey]bool
	queue []bareKey
	more  *engine.Signal
}

type bareCall struct {
	n    *bareNode
	wait *engine.Wait
	key  bareKey
	put  *Light // nil: a read
	got  *Light
}

func newBareWorld(nodes int, seed uint64, horizon time.Duration) *bareWorld {
	w := &bareWorld{
		e:       engine.New(engine.Config{Source: engine.NewSeed(seed), Horizon: horizon}),
		objects: map[bareKey]*Light{},
	}
	for i := range nodes {
		w.add(fmt.Sprint("node-", i))
	}
	return w
}

func (w *bareWorld) add(name string) {
	n := &bareNode{
		w: w, p: w.e.Process(name), rest: bareKey{"kube-node-lease", name},
		network: w.e.Stream("network", name), outside: w.e.Stream("driver", name),
		cache: map[bareKey]*Light{}, dirty: map[bareKey]bool{},
	}
	for i := range objectsPerNode {
		k := bareKey{"default", fmt.Sprintf("%s-%d", name, i)}
		o := &Light{ObjectMeta: metav1.ObjectMeta{
			Namespace: k.namespace, Name: k.name, Labels: map[string]string{"node": name}, ResourceVersion: "0",
		}}
		w.objects[k], n.cache[k] = o, o
		n.keys = append(n.keys, k)
	}
	w.objects[n.rest] = &Light{ObjectMeta: metav1.ObjectMeta{Namespace: n.rest.namespace, Name: name, ResourceVersion: "0"}}
	n.p.Start(n.run)
	w.e.After(n.pause(), bareDrive, n)
}

func (n *bareNode) pause() time.Duration {
	return n.outside.Duration(engine.Dist{Mean: changeEvery, Max: 16 * changeEvery})
}

func (n *bareNode) latency() time.Duration {
	return 200*time.Microsecond + n.network.Duration(engine.Dist{Mean: 800 * time.Microsecond})
}

func bareDrive(arg any) {
	n := arg.(*bareNode)
	k := n.keys[n.outside.Intn(len(n.keys))]
	o := n.w.objects[k].DeepCopyObject().(*Light)
	o.Want++
	n.w.put(n, k, o)
	n.w.e.After(n.pause(), bareDrive, n)
}

func (w *bareWorld) put(n *bareNode, k bareKey, in *Light) *Light {
	o := in.DeepCopyObject().(*Light)
	w.version++
	o.ResourceVersion = strconv.FormatUint(w.version, 10)
	w.objects[k] = o
	at := max(w.e.Elapsed()+n.latency(), n.last+1)
	n.last = at
	w.e.After(at-w.e.Elapsed(), bareEvent, &bareCall{n: n, key: k, got: o})
	return o
}

func bareEvent(arg any) {
	ev := arg.(*bareCall)
	n := ev.n
	n.cache[ev.key] = ev.got
	if !n.dirty[ev.key] {
		n.dirty[ev.key] = true
		n.queue = append(n.queue, ev.key)
		n.more.Send()
	}
}

func (n *bareNode) run(ctx context.Context) {
	n.ctx, n.more = ctx, n.p.NewSignal()
	for {
		for len(n.queue) == 0 {
			if n.more.Wait(ctx) != nil {
				return
			}
		}
		k := n.queue[0]
		n.queue = n.queue[1:]
		delete(n.dirty, k)
		if o := n.cache[k]; o.Done == o.Want {
			continue
		}
		o := n.call(k, nil).DeepCopyObject().(*Light)
		o.Done = o.Want
		n.call(k, o)
		n.call(n.rest, nil)
	}
}

func (n *bareNode) call(k bareKey, put *Light) *Light {
	c := &bareCall{n: n, key: k, put: put}
	op := engine.Op{Verb: "get", Key: k.name}
	if put != nil {
		op = engine.Op{Verb: "update", Key: k.name, Write: true}
	}
	must(n.p.Await(n.ctx, op, c.send))
	return c.got
}

func (c *bareCall) send(w *engine.Wait) {
	c.wait = w
	c.n.w.e.After(c.n.latency(), bareArrive, c)
}

func bareArrive(arg any) {
	c := arg.(*bareCall)
	c.got = c.n.w.objects[c.key]
	if c.put != nil && c.put.ResourceVersion == c.got.ResourceVersion {
		c.got = c.n.w.put(c.n, c.key, c.put)
	}
	c.n.w.e.After(c.n.latency(), bareReply, c)
}

func bareReply(arg any) { arg.(*bareCall).wait.Done() }

// BenchmarkBareEvents is the peer of BenchmarkEvents.
func BenchmarkBareEvents(b *testing.B) {
	for _, nodes := range []int{3, 100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(sim.GCPercent))
			w := newBareWorld(nodes, 1, 0)
			measureEvents(b, w.e, nodes)
			must(w.e.Close())
		})
	}
}

// BenchmarkBareRun is the peer of BenchmarkRun.
func BenchmarkBareRun(b *testing.B) {
	measureRuns(b, func(seed uint64) engine.Result {
		w := newBareWorld(3, seed, time.Minute)
		res := w.e.Run()
		must(w.e.Close())
		return res
	})
}
