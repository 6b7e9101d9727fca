package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
	"github.com/seedbed-sim/seedbed/sim/cluster/workqueue"
)

// ControllerManager is the name of the process that runs Config.Controllers.
const ControllerManager = "kube-controller-manager"

// rediscoverEvery is how often the controllers look at which resources are served.
const rediscoverEvery = 30 * time.Second

// startControllers starts the process of kube-controller-manager, if there is any.
func (c *Cluster) startControllers() {
	names := c.cfg.Controllers
	if len(names) == 0 {
		return
	}
	if _, err := controllermanager.Select(names); err != nil {
		panic("cluster: " + err.Error())
	}
	c.control.Process(ProcessSpec{Name: ControllerManager, Main: func(ctx context.Context, env *Env) {
		newControllers(env, names).run(ctx)
	}})
}

// controllers drives the controllers of fakes/controllermanager in one incarnation
// of a process: with its informers, its work queues and its API path.
type controllers struct {
	env       *Env
	manager   *controllermanager.Manager
	informers map[schema.GroupVersionResource]*Informer
}

func newControllers(env *Env, names []string) *controllers {
	p := env.proc
	st := p.cluster.store
	k := &controllers{env: env, informers: map[schema.GroupVersionResource]*Informer{}}
	order := p.stream("map order")
	m, err := controllermanager.New(controllermanager.Options{
		API: caller{p}, Cache: k, Clock: env.Clock, Discover: st.Resources, Usage: st.Usage, Controllers: names, Pick: order.Intn,
	})
	if err != nil {
		panic("cluster: " + err.Error()) // the names have been checked
	}
	k.manager = m
	return k
}

// run starts every controller once its watches have listed, and never returns.
func (k *controllers) run(ctx context.Context) {
	for _, l := range k.manager.Loops() {
		c := k.controller(l)
		k.env.eproc.Go(ctx, l.Name, func(context.Context) {
			if k.sync(ctx, l) == nil {
				c.start(ctx, c.workers())
			}
		})
	}
	k.watch()
	for k.env.Clock.Sleep(ctx, rediscoverEvery) == nil {
		k.manager.Rediscover()
		k.watch()
	}
}

// controller makes the queue of a loop and the workers for it.
func (k *controllers) controller(l *controllermanager.Loop) *controller {
	c := &controller{env: k.env, spec: kube.Controller{Name: l.Name, Reconciler: l.Reconcile, Workers: l.Workers}}
	c.queue = workqueue.New(k.env.proc.eng, workqueue.Options{Base: l.Backoff.Base, Max: l.Backoff.Max}, c.wake)
	k.env.controllers = append(k.env.controllers, c)
	l.Attach(loopQueue{c.queue})
	return c
}

// loopQueue is a work queue as the loops know it.
type loopQueue struct{ queue *workqueue.Queue }

// Add implements controllermanager.Queue.
func (q loopQueue) Add(req reconcile.Request) { q.queue.Add(req, 0) }

// AddAfter implements controllermanager.Queue.
func (q loopQueue) AddAfter(req reconcile.Request, d time.Duration) { q.queue.AddAfter(req, d, 0) }

// sync waits until the watches of a loop have listed, or as long as it has patience.
func (k *controllers) sync(ctx context.Context, l *controllermanager.Loop) error {
	wait := ctx
	if l.Patience > 0 {
		var cancel context.CancelFunc
		wait, cancel = k.env.Clock.WithTimeout(ctx, l.Patience)
		defer cancel()
	}
	for _, gvr := range k.manager.WatchedBy(l) {
		inf := k.informers[gvr]
		if inf == nil {
			continue // not served any more
		}
		if inf.wait(wait) != nil {
			break
		}
	}
	return ctx.Err()
}

// watch opens the watches that are missing, in the order of the resources' names, and
// stops those of resources that are not served any more. Which of them lists first is
// a matter of latency.
func (k *controllers) watch() {
	p := k.env.proc
	wanted := k.manager.Watched()
	for _, gvr := range wanted {
		if k.informers[gvr] == nil {
			k.informers[gvr] = k.inform(gvr)
		}
	}
	p.informers = slices.DeleteFunc(p.informers, func(inf *Informer) bool {
		gvr := inf.kind.resource
		if slices.Contains(wanted, gvr) {
			return false
		}
		inf.reflector.stop()
		delete(k.informers, gvr)
		return true
	})
}

func (k *controllers) inform(gvr schema.GroupVersionResource) *Informer {
	p := k.env.proc
	r, ok := p.cluster.store.Lookup(gvr)
	if !ok {
		panic(fmt.Sprintf("cluster: %s is watched but not served", gvr.Resource))
	}
	inf := p.informer(&kind{gvk: r.GVK(), resource: gvr, raw: !r.Typed}, scope{})
	inf.handle(observer{k.manager, gvr})
	return inf
}

// observer hands the changes of an informer to the controllers.
type observer struct {
	manager  *controllermanager.Manager
	resource schema.GroupVersionResource
}

func (o observer) changed(old, new Object, _ bool) { o.manager.Observe(o.resource, old, new) }

// Get implements controllermanager.Cache.
func (k *controllers) Get(gvr schema.GroupVersionResource, namespace, name string) Object {
	inf := k.informers[gvr]
	if inf == nil {
		return nil
	}
	return inf.items.get(types.NamespacedName{Namespace: namespace, Name: name})
}

// List implements controllermanager.Cache.
func (k *controllers) List(gvr schema.GroupVersionResource, namespace string) []Object {
	inf := k.informers[gvr]
	if inf == nil {
		return nil
	}
	return inf.items.in(namespace)
}
