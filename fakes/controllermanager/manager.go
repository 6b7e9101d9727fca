package controllermanager

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// API makes the requests of the controllers. An *apiserver.Server is one that
// answers at once; a simulator's lets time pass, and other things happen, before
// it returns.
type API interface {
	Call(ctx context.Context, req *apiserver.Request) (*apiserver.Response, error)
}

// Cache is what the watches of the driver have shown so far. What it returns is
// shared: read-only.
type Cache interface {
	// Get returns an object, or nil.
	Get(resource schema.GroupVersionResource, namespace, name string) apiserver.Object

	// List returns the objects of a namespace, or all if it is empty, in order of
	// namespace and name.
	List(resource schema.GroupVersionResource, namespace string) []apiserver.Object
}

// Queue holds the requests of one [Loop]: a request is in it at most once, and is
// not handed out while it is worked on.
type Queue interface {
	Add(req reconcile.Request)
	AddAfter(req reconcile.Request, d time.Duration)
}

// Options say what a [Manager] works with.
type Options struct {
	API      API
	Cache    Cache
	Clock    clock.PassiveClock
	Discover func() []apiserver.Resource // what the API serves now

	// Usage returns what an object counts in resource quotas; see
	// [apiserver.Store.Usage].
	Usage func(resource schema.GroupVersionResource, obj apiserver.Object) corev1.ResourceList

	// Controllers are those that run: see [Select]. Nil means all.
	Controllers []string

	// Pick chooses one of n where the real controllers follow the order of a Go
	// map. Nil always takes the first.
	Pick func(n int) int
}

// Loop is a queue and what is done about each request in it.
type Loop struct {
	Name    string
	Workers int          // requests worked on at once
	Backoff kube.Backoff // of failed attempts; zero is the usual one

	// Patience is how long the loop waits at the start for its watches to list
	// before it begins without them; zero means for ever.
	Patience time.Duration

	// Reconcile works on one request. It blocks in [API.Call].
	Reconcile reconcile.Func

	queue Queue
}

// Attach gives the loop its queue, before anything is observed.
func (l *Loop) Attach(q Queue) { l.queue = q }

func (l *Loop) add(namespace, name string) { l.queue.Add(request(namespace, name)) }

func request(namespace, name string) reconcile.Request {
	var r reconcile.Request
	r.Namespace, r.Name = namespace, name
	return r
}

// A controller is one of those that make up the manager.
type controller interface {
	loops() []*Loop

	// watches reports whether the controller observes a resource.
	watches(r *apiserver.Resource) bool

	// observe takes a change. A nil old is an addition, a nil new a deletion.
	observe(r *resource, old, new apiserver.Object)
}

// Manager is the controllers of one incarnation of kube-controller-manager. It is
// not safe for concurrent use, but a Reconcile that waits in API.Call may be
// overtaken by anything else.
type Manager struct {
	opts        Options
	controllers []controller
	recorder    *recorder // nil if no controller tells Events
	byResource  map[schema.GroupVersionResource]*resource
	byKind      map[schema.GroupVersionKind]*resource
	sorted      []*resource
}

// resource is a served resource and who observes it.
type resource struct {
	apiserver.Resource
	gvr       schema.GroupVersionResource
	preferred bool // no other version of it is preferred
	watched   bool
	observers []controller
}

// New returns a manager. It has discovered what the API serves, and no more.
func New(opts Options) (*Manager, error) {
	m := &Manager{opts: opts}
	if m.opts.Pick == nil {
		m.opts.Pick = func(int) int { return 0 }
	}
	names, err := Select(opts.Controllers)
	if err != nil {
		return nil, err
	}
	for _, k := range known {
		if slices.Contains(names, k.name) {
			m.controllers = append(m.controllers, k.make(m))
		}
	}
	m.Rediscover()
	return m, nil
}

// Loops returns the loops that a driver runs.
func (m *Manager) Loops() []*Loop {
	var out []*Loop
	for _, c := range m.controllers {
		out = append(out, c.loops()...)
	}
	if m.recorder != nil {
		out = append(out, m.recorder.loop)
	}
	return out
}

// Rediscover looks at what the API serves now. The real controllers do so every 30
// seconds.
func (m *Manager) Rediscover() {
	all := m.opts.Discover()
	byResource := make(map[schema.GroupVersionResource]*resource, len(all))
	m.byKind = make(map[schema.GroupVersionKind]*resource, len(all))
	m.sorted = m.sorted[:0]
	for i := range all {
		gvr := all[i].GVR()
		r := m.byResource[gvr]
		if r == nil {
			r = &resource{gvr: gvr}
			r.Resource = all[i]
			for _, c := range m.controllers {
				if c.watches(&r.Resource) {
					r.observers = append(r.observers, c)
				}
			}
		}
		r.Resource = all[i]
		byResource[gvr] = r
		m.byKind[r.GVK()] = r
		m.sorted = append(m.sorted, r)
	}
	m.byResource = byResource
	m.prefer()
	for _, r := range m.sorted {
		r.watched = r.preferred && len(r.observers) > 0 && r.can("list") && r.can("watch")
	}
}

// Watched returns the resources of which the manager wants to observe every
// change, sorted.
func (m *Manager) Watched() []schema.GroupVersionResource {
	var out []schema.GroupVersionResource
	for _, r := range m.sorted {
		if r.watched {
			out = append(out, r.gvr)
		}
	}
	return out
}

// WatchedBy returns those of the watched resources that matter to a loop.
func (m *Manager) WatchedBy(l *Loop) []schema.GroupVersionResource {
	var out []schema.GroupVersionResource
	for _, c := range m.controllers {
		if !slices.Contains(c.loops(), l) {
			continue
		}
		for _, r := range m.sorted {
			if r.watched && c.watches(&r.Resource) {
				out = append(out, r.gvr)
			}
		}
	}
	return out
}

// Observe takes a change that a watch has shown, after the Cache has it. A nil old
// is an addition, a nil new a deletion. It does not call the API.
func (m *Manager) Observe(gvr schema.GroupVersionResource, old, new apiserver.Object) {
	r := m.byResource[gvr]
	if r == nil {
		return // not served any more
	}
	for _, c := range r.observers {
		c.observe(r, old, new)
	}
}

func (r *resource) can(verb string) bool { return slices.Contains(r.Verbs, verb) }
