package cluster

import (
	"context"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/disk"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

// Env is everything that one incarnation of a process can reach. All of it ends
// with the incarnation: a call made after that never returns.
type Env struct {
	// Process is the process's name, "node-1/agent"; Node that of its machine.
	Process, Node string

	// Incarnation is 1 for the first start of the process.
	Incarnation int

	// Clock is time, deadlines and tasks as this process sees them.
	Clock clock.Clock

	// Kube reads and writes the API server itself.
	Kube client.Client

	// Cache reads the process's informers.
	Cache *Cache

	// Client reads from Cache and writes to the API server, as the client of a
	// controller-runtime manager does.
	Client client.Client

	// Entropy is the source of keys, tokens and jitter.
	Entropy io.Reader

	// Log writes into the trace of the run.
	Log logr.Logger

	proc        *Process
	root        context.Context
	eproc       *engine.Process
	controllers []*controller
	ends        []func()
}

func newEnv(p *Process) *Env {
	c := p.cluster
	e := &Env{
		Process: p.name, Node: p.node.name, Incarnation: p.incarnation,
		Clock:   processClock{p.proc},
		Kube:    p.kube(),
		Cache:   &Cache{proc: p},
		Entropy: c.eng.Entropy(p.name),
		proc:    p, eproc: p.proc,
	}
	e.Client = cachedClient{Client: e.Kube, cache: e.Cache}
	e.Log = logr.New(&logSink{proc: p})
	return e
}

// cachedClient is a client whose reads come from the cache.
type cachedClient struct {
	client.Client
	cache *Cache
}

func (c cachedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return c.cache.Get(ctx, key, obj, opts...)
}

func (c cachedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.cache.List(ctx, list, opts...)
}

// context carries the logger, where controller-runtime's log.FromContext finds
// it.
func (e *Env) context(ctx context.Context) context.Context { return logr.NewContext(ctx, e.Log) }

// Caller makes the process's API requests, for code that brings a client of its own.
func (e *Env) Caller() apiserver.Caller { return caller{e.proc} }

// Disk is the file system of the process's node. It outlives the process.
func (e *Env) Disk() disk.FS { return e.proc.node.Disk().Mount(e.eproc) }

// Network sends messages to other machines and listens for theirs.
func (e *Env) Network() *network.Host { return e.proc.cluster.net.Host(e.Node) }

// Sim is the simulated process itself, for code that builds on the engine.
func (e *Env) Sim() *engine.Process { return e.eproc }

// Cluster is the world outside the process. Code under test has no business
// there; fakes that live inside a process do.
func (e *Env) Cluster() *Cluster { return e.proc.cluster }

// Run drives controllers until ctx ends, as the Start method of a
// controller-runtime manager does. One of the workers is the calling task itself.
func (e *Env) Run(ctx context.Context, controllers ...kube.Controller) error {
	started := make([]*controller, 0, len(controllers))
	for _, spec := range controllers {
		c, err := newController(e, spec)
		if err != nil {
			return fmt.Errorf("controller %s: %w", spec.Name, err)
		}
		started = append(started, c)
	}
	for i, c := range started {
		if err := c.sync(ctx); err != nil {
			return fmt.Errorf("controller %s: %w", c.spec.Name, err)
		}
		if i+1 < len(started) {
			c.start(ctx, c.workers())
			continue
		}
		c.start(ctx, c.workers()-1)
		return c.work(ctx)
	}
	return nil
}

// OnEnd registers f to run when the incarnation ends, however it does. It runs
// outside the process and cannot call into it.
func (e *Env) OnEnd(f func()) { e.ends = append(e.ends, f) }

// Event puts something that the system under test has to say into the trace.
// Verb, object and n count for the run's hash; detail is plain words for the
// story and must not contain secrets.
func (e *Env) Event(verb, object string, n uint64, detail string) {
	e.proc.cluster.emit("sys", e.Process, verb, object, n, detail)
}

// Touch says that something a property may look at has changed.
func (e *Env) Touch() { e.proc.eng.Touch() }

func (e *Env) end() {
	for _, c := range e.controllers {
		c.queue.Shutdown()
	}
	for _, f := range e.ends {
		f()
	}
}
