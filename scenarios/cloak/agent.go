package cloak

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corenode "github.com/seedbed-sim/seedbed/core/cloak/node"
	corenri "github.com/seedbed-sim/seedbed/core/cloak/nri"
	"github.com/seedbed-sim/seedbed/core/cloak/refresh"
	"github.com/seedbed-sim/seedbed/core/cloak/secretsync"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/cloak/trusteddns"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
	"github.com/seedbed-sim/seedbed/fakes/nri"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// node is one node: its kernel and runtime, and what is known of its agent.
type node struct {
	state   *State
	name    string
	kernel  *kernel.Kernel
	runtime *nri.Runtime
	boots   int          // that are known
	queue   []*work      // to be started or stopped by the runtime
	due     func()       // wakes the runtime
	env     *cluster.Env // of the agent that runs

	layout     kernel.Layout // of the maps that its agent works with
	unreadable []string      // types of objects that its cache does not give away

	plane   *scenarios.Span // how long calls of the data plane take
	refuses bool            // some of them fail
	forgets bool            // some of them seem to have failed

	// views are what the data plane may have: the Secrets that the last sync to succeed has
	// seen, and those that syncs since have. They outlive agents, as the data plane does.
	views []*corev1.SecretList
}

func (s *State) addNode(name string) {
	n := &node{state: s, name: name, plane: s.config.Plane}
	n.kernel = kernel.New(kernel.Options{Conduct: n.conduct, Done: n.done, Now: s.world.Engine().Elapsed, Limits: s.config.limits()})
	n.runtime = nri.New(n.kernel)
	n.runtime.SetServed(s.config.NRI)
	n.runtime.Frozen = func() (bool, int) {
		agent := s.world.Cluster.Process(name + "/agent")
		return agent.Paused(), agent.Pauses()
	}
	s.nodes, s.byName[name] = append(s.nodes, n), n
}

// errPlane is what the kernel says of a call that it does not carry out.
var errPlane = errors.New("input/output error")

// conduct lets a call of the data plane take its time, or fail.
func (n *node) conduct(ctx context.Context, _ string) error {
	if n.refuses && n.state.unlucky(4) {
		return errPlane
	}
	if n.plane == nil || n.env == nil {
		return nil
	}
	return n.env.Clock.Sleep(ctx, n.state.within(n.plane))
}

// done lets a call of the data plane seem to have failed.
func (n *node) done(context.Context, string) error {
	if n.forgets && n.state.unlucky(4) {
		return errPlane
	}
	return nil
}

// runAgent is the main function of the agent's process.
func (s *State) runAgent(ctx context.Context, env *cluster.Env) {
	n := s.byName[env.Node]
	n.env = env
	s.booted(n)
	log, recorder := s.logOf(env), recorder{s, env}
	plane := n.kernel.PlaneOf(n.layout, env.Clock)
	cache := readable{env.Cache, n}
	retention := s.config.Retention.Std()
	syncer := secretsync.New(secretsync.Config{
		Cache: seenBy{cache, n}, Plane: plane, Clock: env.Clock, Recorder: recorder, Log: log,
		VIPs: virtualip.Config{Retention: retention, Quarantine: retention, Hosts: s.config.Limits.Hosts},
	})
	pods := corenode.New(ctx, corenode.Config{
		Cache: cache, APIReader: env.Kube, Plane: plane, Binder: syncer, Clock: env.Clock, NodeName: env.Node, Recorder: recorder, Log: log,
	})
	shadows := &shadow.SecretReconciler{Cache: cache, Live: env.Kube, Entropy: env.Entropy, Recorder: recorder, Log: log}
	sync := &secretsync.SecretSyncReconciler{Sync: func(ctx context.Context) error {
		err := syncer.Sync(ctx)
		if err == nil {
			n.views = n.views[len(n.views)-1:]
		}
		return err
	}}
	addresses := refresh.New(refresh.Config{Plane: plane, Exchanger: exchanger{s, env}, Clock: env.Clock, Entropy: env.Entropy, Log: log})
	dns := &trusteddns.TrustedDNSReconciler{Cache: cache, Recorder: recorder, Log: log, Apply: func(ctx context.Context, servers []netip.Addr) error {
		addresses.Trust(servers)
		return plane.SetTrusted(ctx, servers)
	}}
	port := n.runtime.Port(env.Clock)
	env.OnEnd(port.Gone)
	plugin := &corenri.Plugin{Preparer: pods, Runtime: port, Clock: env.Clock, HostRoot: "/", Log: log}
	group := env.Clock.NewGroup(ctx)
	for _, run := range []func(context.Context) error{pods.Run, plugin.Run, addresses.Run} {
		group.Go("part", func(ctx context.Context) {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				log.Error(err, "Part of the agent ended")
			}
		})
	}
	controllers := []kube.Controller{shadows.Controller(), sync.Controller(), dns.Controller(), pods.Controller()}
	if err := env.Run(ctx, controllers...); err != nil && !errors.Is(err, context.Canceled) {
		log.Error(err, "Controllers ended")
	}
}

// readable is a cache from which some kinds cannot be read for a while.
type readable struct {
	kube.Reader
	node *node
}

// errUnreadable is what such a read returns.
var errUnreadable = errors.New("cache could not be read")

func (c readable) fails(obj any) error {
	for _, kind := range c.node.unreadable {
		if strings.HasSuffix(fmt.Sprintf("%T", obj), "."+kind) {
			return errUnreadable
		}
	}
	return nil
}

// Get implements kube.Reader.
func (c readable) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := c.fails(obj); err != nil {
		return err
	}
	return c.Reader.Get(ctx, key, obj, opts...)
}

// List implements kube.Reader.
func (c readable) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.fails(list); err != nil {
		return err
	}
	return c.Reader.List(ctx, list, opts...)
}

// seenBy notes which Secrets a sync sees.
type seenBy struct {
	kube.Reader
	node *node
}

// List implements kube.Reader.
func (c seenBy) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Reader.List(ctx, list, opts...)
	if secrets, ok := list.(*corev1.SecretList); ok && err == nil {
		c.node.views = append(c.node.views, secrets.DeepCopy())
	}
	return err
}

// recorder looks into the agents' events for values.
type recorder struct {
	s   *State
	env *cluster.Env
}

// Event implements cloak.Recorder.
func (r recorder) Event(obj runtime.Object, kind, reason, message string) {
	r.s.told[reason] = true
	name := obj.(client.Object).GetName()
	if found := r.s.leaks.Find([]byte(message)); found != "" {
		r.s.breaks(valuesStayHidden, fmt.Errorf("an event about %s shows %s", name, found))
	}
	r.env.Event("event", name, 1, kind+" "+reason+": "+message)
}
