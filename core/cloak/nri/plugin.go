package nri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/node"
	"github.com/seedbed-sim/seedbed/core/clock"
)

const (
	// SandboxBudget is how long the runtime waits for a sandbox to be prepared, from
	// when the request is received. The runtime's own limit is 2 s by default.
	SandboxBudget = 1200 * time.Millisecond

	// ContainerBudget is the same for a container.
	ContainerBudget = 1500 * time.Millisecond

	// DefaultRetryAfterClose is the time until the plugin connects again after the
	// runtime has closed the connection.
	DefaultRetryAfterClose = time.Second

	// DefaultRetryAbsent is that after nobody was there to connect to, doubling up to
	// RetryAbsentMax.
	DefaultRetryAbsent = 5 * time.Second
	RetryAbsentMax     = 30 * time.Second

	// DefaultHostRoot is the host's root file system, seen from a process that shares the
	// host's process ids.
	DefaultHostRoot = "/proc/1/root"

	// patience is how long what the runtime does not wait for may take.
	patience = 30 * time.Second
)

// Runtime is where container runtimes serve NRI.
type Runtime interface {
	// Serve connects to the socket, registers the plugin, and hands requests to h, each
	// in a task of its own, until the connection ends. The error wraps fs.ErrNotExist if
	// nobody serves there. It returns soon after ctx has ended.
	Serve(ctx context.Context, socket string, h Handler) error
}

// Handler is what the runtime calls, and waits for.
type Handler interface {
	// Synchronize is told of all sandboxes and running containers when the plugin has
	// connected. What is being created at that moment is in neither this nor the
	// requests that follow.
	Synchronize(ctx context.Context, sandboxes []*node.Sandbox, containers []Running)

	RunPodSandbox(ctx context.Context, sb *node.Sandbox)
	CreateContainer(ctx context.Context, sb *node.Sandbox, c *node.Container)
	StartContainer(ctx context.Context, sb *node.Sandbox, c *node.Container)
	RemovePodSandbox(ctx context.Context, sb *node.Sandbox)
}

// Running is a container that runs when the plugin connects.
type Running struct {
	Sandbox   *node.Sandbox
	Container *node.Container
}

// Plugin is the cloak as a plugin of NRI. Paths of network namespaces are told as they
// are on the host.
type Plugin struct {
	Preparer   node.Preparer
	Runtime    Runtime
	Clock      clock.Clock
	SocketPath string // empty means cloak.DefaultNRISocket
	HostRoot   string // empty means DefaultHostRoot
	Log        logr.Logger

	// Times until the plugin connects again; zero means the defaults.
	RetryAfterClose, RetryAbsent time.Duration

	background clock.Group
}

// Run keeps the plugin connected until ctx ends. That nobody serves NRI is no error: the
// reconciler prepares Pods without it.
func (p *Plugin) Run(ctx context.Context) error {
	p.background = p.Clock.NewGroup(ctx)
	socket := or(p.SocketPath, cloak.DefaultNRISocket)
	absent := time.Duration(0)
	for {
		err := p.Runtime.Serve(ctx, socket, p)
		wait := or(p.RetryAfterClose, DefaultRetryAfterClose)
		if errors.Is(err, fs.ErrNotExist) {
			if absent == 0 {
				p.Log.Info("Nobody serves NRI; Pods are prepared without it", "socket", socket)
				absent = or(p.RetryAbsent, DefaultRetryAbsent)
			} else {
				absent = min(2*absent, max(RetryAbsentMax, p.RetryAbsent))
			}
			wait = absent
		} else {
			absent = 0
			p.Log.Info("The runtime has closed the connection", "socket", socket, "reason", fmt.Sprint(err))
		}
		if err := p.Clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// RunPodSandbox prepares a sandbox, whose network is there.
func (p *Plugin) RunPodSandbox(ctx context.Context, sb *node.Sandbox) {
	p.during(ctx, SandboxBudget, sb, func(ctx context.Context, sb *node.Sandbox) { p.Preparer.PrepareSandbox(ctx, sb) })
}

// CreateContainer prepares the sandbox, unless it is already: it may have been created
// while the plugin connected.
func (p *Plugin) CreateContainer(ctx context.Context, sb *node.Sandbox, _ *node.Container) {
	p.RunPodSandbox(ctx, sb)
}

// StartContainer prepares a container.
func (p *Plugin) StartContainer(ctx context.Context, sb *node.Sandbox, c *node.Container) {
	p.during(ctx, ContainerBudget, sb, func(ctx context.Context, sb *node.Sandbox) { p.Preparer.PrepareContainer(ctx, sb, c) })
}

// RemovePodSandbox says that a sandbox is gone.
func (p *Plugin) RemovePodSandbox(ctx context.Context, sb *node.Sandbox) {
	p.during(ctx, SandboxBudget, sb, p.Preparer.SandboxRemoved)
}

// Synchronize prepares all that is there, in the background: the runtime's limit is the
// same for all of it as for one request.
func (p *Plugin) Synchronize(_ context.Context, sandboxes []*node.Sandbox, containers []Running) {
	for _, sb := range sandboxes {
		p.later(sb, func(ctx context.Context, sb *node.Sandbox) {
			p.Preparer.PrepareSandbox(ctx, sb)
			for _, c := range containers {
				if c.Sandbox.ID == sb.ID {
					p.Preparer.PrepareContainer(ctx, sb, c.Container)
				}
			}
		})
	}
}

// during calls f in a task of its own, and returns when it is done or the budget is used
// up, whatever f does.
func (p *Plugin) during(ctx context.Context, budget time.Duration, sb *node.Sandbox, f func(context.Context, *node.Sandbox)) {
	if !wanted(sb) {
		return
	}
	ctx, cancel := p.Clock.WithTimeout(ctx, budget)
	defer cancel()
	done := p.Clock.NewSignal()
	p.background.Go("nri "+sb.Name, func(life context.Context) {
		defer done.Send()
		// What is under way when the runtime hangs up need not be broken off.
		inner, cancel := p.Clock.WithTimeout(life, budget)
		defer cancel()
		p.guarded(inner, sb, f)
	})
	if err := done.Wait(ctx); err != nil {
		p.Log.Info("The runtime goes on before all is prepared", "pod", sb.Namespace+"/"+sb.Name)
	}
}

// later calls f in a task of its own.
func (p *Plugin) later(sb *node.Sandbox, f func(context.Context, *node.Sandbox)) {
	if !wanted(sb) {
		return
	}
	p.background.Go("nri "+sb.Name, func(ctx context.Context) {
		ctx, cancel := p.Clock.WithTimeout(ctx, patience)
		defer cancel()
		p.guarded(ctx, sb, f)
	})
}

// wanted reports whether a Pod takes part; others cost nothing.
func wanted(sb *node.Sandbox) bool {
	return sb != nil && sb.Annotations[cloak.AnnotationEnabled] == "true"
}

// guarded calls f with the sandbox as this process sees it. A panic must not end the
// agent, which other Pods need; it is logged.
func (p *Plugin) guarded(ctx context.Context, sb *node.Sandbox, f func(context.Context, *node.Sandbox)) {
	defer func() {
		if r := recover(); r != nil {
			p.Log.Error(fmt.Errorf("panic: %v", r), "Pod is not prepared", "pod", sb.Namespace+"/"+sb.Name)
		}
	}()
	seen := *sb
	if seen.NetnsPath != "" {
		seen.NetnsPath = path.Join(or(p.HostRoot, DefaultHostRoot), seen.NetnsPath)
	}
	f(ctx, &seen)
}

var _ Handler = (*Plugin)(nil)
