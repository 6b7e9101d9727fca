package nri

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak/node"
	"github.com/seedbed-sim/seedbed/core/cloak/nri"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
)

// RequestTimeout is how long the runtime waits for an answer of its plugin, from when the
// request is its turn.
const RequestTimeout = 2 * time.Second

// Pod is what the kubelet wants to run: one container in a sandbox.
type Pod struct {
	UID         types.UID
	Namespace   string
	Name        string
	Annotations map[string]string
	Addr        netip.Addr
	Container   string // its name
	Args        []string
	Image       kernel.Image
	HostNetwork bool // it has no network namespace of its own
}

// Running is a Pod that runs.
type Running struct {
	Sandbox   *node.Sandbox
	Container *node.Container
	Netns     plane.Netns
	Cgroup    policy.Cgroup
	PID       int

	pause   policy.Cgroup
	created bool // so far that Synchronize knows it
	started bool
}

// Runtime is the runtime of one node. It is for one simulated world, in which one task
// runs at a time.
type Runtime struct {
	kernel *kernel.Kernel
	absent bool // NRI is not served
	conn   *conn
	pods   []*Running
	made   int // sandboxes and containers, for their ids

	// Takes is how long a sandbox is being created after the plugin was asked.
	Takes time.Duration

	// Frozen, if set, says whether the plugin's process gets no processor, and how often
	// that has begun. What happens meanwhile is not the plugin's doing.
	Frozen func() (now bool, times int)

	// Longest is the longest time that the plugin has held up a request, of those during
	// which its process was not frozen.
	Longest time.Duration
	Dropped int // plugins that were late, frozen or not
}

// New returns the runtime of a node with a kernel, without Pods.
func New(k *kernel.Kernel) *Runtime { return &Runtime{kernel: k} }

// SetServed says whether NRI is served; if not, a plugin that is connected is hung up on.
func (r *Runtime) SetServed(served bool) {
	r.absent = !served
	if !served {
		r.HangUp()
	}
}

// Served reports whether NRI is served.
func (r *Runtime) Served() bool { return !r.absent }

// Connected reports whether a plugin is connected.
func (r *Runtime) Connected() bool { return r.conn != nil }

// HangUp closes the connection of the plugin, as a runtime does that is restarted.
func (r *Runtime) HangUp() {
	if r.conn != nil {
		r.conn.close()
	}
}

// Start runs a Pod up to the start of its command, asking the plugin on the way. The
// clock is that of the calling task's process.
func (r *Runtime) Start(ctx context.Context, c clock.Clock, p Pod) (*Running, error) {
	r.made++
	netns, path := plane.Netns(0), ""
	if !p.HostNetwork {
		netns, path = r.kernel.AddNetns(p.Addr)
	}
	run := &Running{Netns: netns, Sandbox: &node.Sandbox{
		ID: fmt.Sprintf("sandbox-%d", r.made), UID: p.UID, Namespace: p.Namespace, Name: p.Name,
		Annotations: p.Annotations, NetnsPath: path, IPs: []netip.Addr{p.Addr},
	}}
	run.pause = r.kernel.AddCgroup(p.UID, run.Sandbox.ID, kernel.Image{})
	r.kernel.Fork(run.pause, netns)
	r.pods = append(r.pods, run)
	if err := r.ask(ctx, c, func(ctx context.Context, h nri.Handler) { h.RunPodSandbox(ctx, run.Sandbox) }); err != nil {
		return nil, err
	}
	if err := c.Sleep(ctx, r.Takes); err != nil {
		return nil, err
	}
	run.created = true
	return run, r.startContainer(ctx, c, run, p)
}

// Stop ends a Pod, whether it has started or not.
func (r *Runtime) Stop(ctx context.Context, c clock.Clock, uid types.UID) error {
	for _, run := range slices.Clone(r.pods) {
		if run.Sandbox.UID != uid {
			continue
		}
		if run.Cgroup != 0 {
			r.kernel.RemoveCgroup(run.Cgroup)
		}
		r.kernel.RemoveCgroup(run.pause)
		r.kernel.RemoveNetns(run.Netns)
		r.pods = slices.DeleteFunc(r.pods, func(o *Running) bool { return o == run })
		if err := r.ask(ctx, c, func(ctx context.Context, h nri.Handler) { h.RemovePodSandbox(ctx, run.Sandbox) }); err != nil {
			return err
		}
	}
	return nil
}

// PowerLoss forgets all Pods and the plugin: with the node, all of it is gone. The kernel
// is the node's business.
func (r *Runtime) PowerLoss() {
	r.HangUp()
	r.pods = nil
}

// Restart ends the container of a Pod that runs and starts another in its place, in the
// same sandbox, as a kubelet does with one that has ended.
func (r *Runtime) Restart(ctx context.Context, c clock.Clock, run *Running, p Pod) error {
	r.kernel.RemoveCgroup(run.Cgroup)
	run.Cgroup, run.started = 0, false
	return r.startContainer(ctx, c, run, p)
}

// startContainer makes a container in a sandbox, and runs its command.
func (r *Runtime) startContainer(ctx context.Context, c clock.Clock, run *Running, p Pod) error {
	r.made++
	run.Container = &node.Container{ID: fmt.Sprintf("container-%d", r.made), Name: p.Container, Args: p.Args}
	if err := r.ask(ctx, c, func(ctx context.Context, h nri.Handler) { h.CreateContainer(ctx, run.Sandbox, run.Container) }); err != nil {
		return err
	}
	if !slices.Contains(r.pods, run) {
		return nil // it was stopped meanwhile
	}
	run.Cgroup = r.kernel.AddCgroup(p.UID, run.Container.ID, p.Image)
	run.PID = r.kernel.Fork(run.Cgroup, run.Netns)
	if err := r.ask(ctx, c, func(ctx context.Context, h nri.Handler) { h.StartContainer(ctx, run.Sandbox, run.Container) }); err != nil {
		return err
	}
	run.started = true
	if len(p.Args) > 0 {
		r.kernel.Exec(run.PID, p.Args[0])
	}
	return nil
}

// ask lets the plugin do something, and waits for it as long as the runtime does. It
// fails only if ctx ends.
func (r *Runtime) ask(ctx context.Context, c clock.Clock, call func(context.Context, nri.Handler)) error {
	conn, err := r.turn(ctx, c)
	if conn == nil {
		return err
	}
	defer conn.done()
	before := c.Monotonic()
	frozen, times := r.frozen()
	answered := c.NewSignal()
	conn.send(&request{call: call, answered: answered})
	limited, cancel := c.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	err = answered.Wait(limited)
	if _, by := r.frozen(); !frozen && by == times {
		r.Longest = max(r.Longest, c.Monotonic()-before)
	}
	if err != nil && ctx.Err() == nil {
		r.Dropped++
		conn.close()
	}
	return ctx.Err()
}

// turn waits until no other request is with the plugin: NRI hands over one at a time. It
// returns nil if there is no plugin, or not any more.
func (r *Runtime) turn(ctx context.Context, c clock.Clock) (*conn, error) {
	for {
		switch {
		case r.conn == nil:
			return nil, ctx.Err()
		case !r.conn.busy:
			r.conn.busy = true
			return r.conn, nil
		}
		free := c.NewSignal()
		r.conn.waiting = append(r.conn.waiting, free)
		if err := free.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

func (r *Runtime) frozen() (now bool, times int) {
	if r.Frozen == nil {
		return false, 0
	}
	return r.Frozen()
}

// known are the sandboxes and containers that Synchronize is told of.
func (r *Runtime) known() (sandboxes []*node.Sandbox, containers []nri.Running) {
	for _, run := range r.pods {
		if run.created {
			sandboxes = append(sandboxes, run.Sandbox)
		}
		if run.started {
			containers = append(containers, nri.Running{Sandbox: run.Sandbox, Container: run.Container})
		}
	}
	return sandboxes, containers
}
