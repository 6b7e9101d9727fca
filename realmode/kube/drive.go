package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// What controller-runtime does where nothing is said.
const (
	backoffBase = 5 * time.Millisecond
	backoffMax  = 1000 * time.Second
)

// patience is how long a controller waits for its watches to list: as long as it takes.
const patience = 10 * 365 * 24 * time.Hour

// Run drives controllers until ctx ends or one of them cannot go on. It may be called
// once. A panic of a reconciler ends the process, as a crash does in the simulator: what
// it was about to do is not known to be whole.
func (c *Cluster) Run(ctx context.Context, controllers ...kube.Controller) error {
	built := make([]controller.Controller, len(controllers))
	for i := range controllers {
		var err error
		if built[i], err = c.build(&controllers[i]); err != nil {
			return fmt.Errorf("controller %s: %w", controllers[i].Name, err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		running sync.WaitGroup
		once    sync.Once
		failed  error
	)
	start := func(what string, run func(ctx context.Context) error) {
		running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				once.Do(func() { failed = fmt.Errorf("%s: %w", what, err) })
				cancel()
			}
		})
	}
	for _, s := range c.cache.all() {
		start("watch "+s.gvk.Kind, s.cache.Start)
	}
	for i, b := range built {
		start("controller "+controllers[i].Name, b.Start)
	}
	running.Wait()
	return failed
}

func (c *Cache) all() []*scope {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scopes
}

// build makes a controller of controller-runtime.
func (c *Cluster) build(spec *kube.Controller) (controller.Controller, error) {
	log := c.opts.Log.WithName(spec.Name)
	base, top := spec.Backoff.Base, spec.Backoff.Max
	if base == 0 {
		base = backoffBase
	}
	if top == 0 {
		top = backoffMax
	}
	built, err := controller.NewUnmanaged(spec.Name, controller.Options{
		Reconciler: spec.Reconciler, MaxConcurrentReconciles: max(1, spec.Workers),
		RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](base, top),
		CacheSyncTimeout: patience, RecoverPanic: ptr.To(false), SkipNameValidation: ptr.To(true),
		LogConstructor: func(request *reconcile.Request) logr.Logger {
			if request == nil {
				return log.V(1)
			}
			return log.V(1).WithValues("object", request.String())
		},
	})
	if err != nil {
		return nil, err
	}
	for i := range spec.Watches {
		w := &spec.Watches[i]
		s, err := c.cache.of(w)
		if err != nil {
			return nil, err
		}
		if err := built.Watch(sourceOf(s.cache, w)); err != nil {
			return nil, fmt.Errorf("watch %T: %w", w.Object, err)
		}
	}
	err = built.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		for _, r := range spec.Start { // workers begin when all watches have listed
			queue.Add(r)
		}
		return nil
	}))
	return built, err
}

func sourceOf(from cache.Cache, w *kube.Watch) source.Source {
	var h handler.EventHandler = &handler.EnqueueRequestForObject{}
	if w.Requests != nil {
		h = handler.EnqueueRequestsFromMapFunc(w.Requests)
	}
	return source.Kind[client.Object](from, w.Object, h)
}
