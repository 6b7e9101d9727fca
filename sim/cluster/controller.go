package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim/cluster/workqueue"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// controller drives one kube.Controller; its doc comment is the contract.
type controller struct {
	env       *Env
	spec      kube.Controller
	queue     *workqueue.Queue
	informers []*Informer
	idle      []*worker
}

// worker is one task that reconciles.
type worker struct {
	c     *controller
	wait  *engine.Wait
	begin func(*engine.Wait)
}

// lowPriority is what controller-runtime gives to objects of the first list and
// to updates that changed nothing, so that real changes overtake them.
const lowPriority = -100

func newController(e *Env, spec kube.Controller) (*controller, error) {
	if spec.Reconciler == nil {
		return nil, errors.New("no reconciler")
	}
	c := &controller{env: e, spec: spec}
	o := workqueue.Options{Base: spec.Backoff.Base, Max: spec.Backoff.Max}
	c.queue = workqueue.New(e.proc.eng, o, c.wake)
	e.controllers = append(e.controllers, c)
	for i := range spec.Watches {
		if err := c.watch(&spec.Watches[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// watch opens one declared watch.
func (c *controller) watch(w *kube.Watch) error {
	p := c.env.proc
	k, err := p.cluster.kindOf(w.Object)
	if err != nil {
		return err
	}
	inf := p.informer(k, scope{w.Namespace, w.Name, w.Selector, w.Fields})
	c.informers = append(c.informers, inf)
	if w.Requests == nil {
		inf.handle(ownName{c.queue})
	} else {
		inf.handle(&mapped{c: c, requests: w.Requests})
	}
	return nil
}

// sync waits for the watches and enqueues the start requests.
func (c *controller) sync(ctx context.Context) error {
	for _, inf := range c.informers {
		if err := inf.wait(ctx); err != nil {
			return err
		}
	}
	for _, req := range c.spec.Start {
		c.queue.Add(req, 0)
	}
	return nil
}

func (c *controller) workers() int { return max(1, c.spec.Workers) }

// start starts n workers as tasks of their own.
func (c *controller) start(ctx context.Context, n int) {
	for range n {
		c.env.eproc.Go(ctx, c.spec.Name, func(ctx context.Context) { _ = c.work(ctx) })
	}
}

// work makes the running task a worker until ctx ends.
func (c *controller) work(ctx context.Context) error {
	w := &worker{c: c}
	w.begin = w.rest
	return w.run(logr.NewContext(ctx, c.env.Log.WithName(c.spec.Name)))
}

// wake hands a ready request to a worker that rests, if there is one.
func (c *controller) wake() {
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		w.wait.Done()
	}
}

// rest parks the worker until wake.
func (w *worker) rest(wait *engine.Wait) {
	w.wait = wait
	w.c.idle = append(w.c.idle, w)
}

var opRest = engine.Op{Verb: "next request", Idle: true}

// run reconciles one request after the other until ctx ends, and says why it did.
func (w *worker) run(ctx context.Context) error {
	c := w.c
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if it := c.queue.Get(); it != nil {
			c.reconcile(ctx, it)
		} else if err := c.env.eproc.Await(ctx, opRest, w.begin); err != nil {
			return err
		}
	}
}

// reconcile does one attempt at one request.
func (c *controller) reconcile(ctx context.Context, it *workqueue.Item) {
	q := c.queue
	res, err := c.spec.Reconciler.Reconcile(ctx, it.Request)
	switch {
	case err == nil && res.RequeueAfter > 0:
		q.Forget(it)
		q.Again(it, res.RequeueAfter)
	case err == nil && res.Requeue: //nolint:staticcheck // reconcilers still use it
		q.Retry(it)
	case err == nil:
		q.Forget(it)
	case errors.Is(err, reconcile.TerminalError(nil)):
		q.Forget(it)
		c.failed(it, err, -1)
	default:
		c.failed(it, err, q.Retry(it))
	}
	q.Done(it)
}

// failed tells the story of a failed attempt.
func (c *controller) failed(it *workqueue.Item, err error, again time.Duration) {
	cl := c.env.proc.cluster
	detail := ""
	if cl.full {
		detail = fmt.Sprintf("%s of %s fails: %v", c.spec.Name, it.Request, err)
		if again >= 0 {
			detail += "; again in " + again.String()
		}
	}
	cl.emit("sys", c.env.Process, "reconcile error", it.Request.Name, uint64(again), detail)
}

// ownName enqueues the object of an event itself.
type ownName struct{ queue *workqueue.Queue }

func (h ownName) changed(old, new Object, first bool) {
	o := new
	if o == nil {
		o = old
	}
	h.queue.Add(reconcile.Request{NamespacedName: nameOf(o)}, priority(old, new, first))
}

func priority(old, new Object, first bool) int {
	if first || old != nil && new != nil && old.GetResourceVersion() == new.GetResourceVersion() {
		return lowPriority
	}
	return 0
}

// mapped enqueues what a function of the user's makes of an object. The function
// may read the cache or even call the API, so it runs in a task of its own: one
// event after the other, the task only lives while there are events.
type mapped struct {
	c        *controller
	requests func(ctx context.Context, obj client.Object) []reconcile.Request
	events   []change
	running  bool
}

type change struct {
	old, new Object
	priority int
}

func (h *mapped) changed(old, new Object, first bool) {
	h.events = append(h.events, change{old, new, priority(old, new, first)})
	if h.running {
		return
	}
	h.running = true
	e := h.c.env
	e.eproc.Go(e.root, h.c.spec.Name+"-events", h.run)
}

func (h *mapped) run(ctx context.Context) {
	for len(h.events) > 0 {
		ev := h.events[0]
		h.events = h.events[1:]
		h.enqueue(ctx, ev.old, ev.priority)
		h.enqueue(ctx, ev.new, ev.priority)
	}
	h.events = nil
	h.running = false
}

func (h *mapped) enqueue(ctx context.Context, o Object, prio int) {
	if o == nil {
		return
	}
	obj := o.DeepCopyObject().(client.Object) // user code may change what it gets
	for _, req := range h.requests(ctx, obj) {
		h.c.queue.Add(req, prio)
	}
}
