package nri_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/cloak/node"
	"github.com/seedbed-sim/seedbed/core/cloak/nri"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
	fake "github.com/seedbed-sim/seedbed/fakes/nri"
)

// handler is a plugin that writes down what it is asked, and takes its time.
type handler struct {
	clock clock.Clock
	log   []string
	takes time.Duration
}

func (h *handler) asked(ctx context.Context, what string) {
	h.log = append(h.log, what)
	_ = h.clock.Sleep(ctx, h.takes)
}

func (h *handler) Synchronize(_ context.Context, sandboxes []*node.Sandbox, containers []nri.Running) {
	h.log = append(h.log, fmt.Sprintf("synchronize %d %d", len(sandboxes), len(containers)))
}
func (h *handler) RunPodSandbox(ctx context.Context, sb *node.Sandbox) { h.asked(ctx, "run "+sb.Name) }
func (h *handler) CreateContainer(ctx context.Context, sb *node.Sandbox, _ *node.Container) {
	h.asked(ctx, "create "+sb.Name)
}
func (h *handler) StartContainer(ctx context.Context, sb *node.Sandbox, _ *node.Container) {
	h.asked(ctx, "start "+sb.Name)
}
func (h *handler) RemovePodSandbox(ctx context.Context, sb *node.Sandbox) {
	h.asked(ctx, "remove "+sb.Name)
}

// lab is a runtime with a plugin, in one process for both.
type lab struct {
	*testing.T
	ctx     context.Context
	clock   clock.Clock
	runtime *fake.Runtime
	h       *handler
}

func inProcess(t *testing.T, body func(l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := bubble{began: time.Now()}
		body(&lab{T: t, ctx: ctx, clock: c, runtime: fake.New(kernel.New(kernel.Options{})), h: &handler{clock: c}})
	})
}

// connect connects the plugin; the error it ends with goes to *ended.
func (l *lab) connect() (port *fake.Port, ended *error) {
	port, ended = l.runtime.Port(l.clock), new(error)
	l.clock.NewGroup(l.ctx).Go("plugin", func(ctx context.Context) { *ended = port.Serve(ctx, "socket", l.h) })
	_ = l.clock.Sleep(l.ctx, time.Millisecond)
	return port, ended
}

func (l *lab) start(name string) *fake.Running {
	run, err := l.runtime.Start(l.ctx, l.clock, fake.Pod{UID: "uid", Name: name, Addr: netip.MustParseAddr("10.1.0.1"), Args: []string{"/app"}})
	if err != nil {
		l.Error(err)
	}
	return run
}

func (l *lab) want(row string, log ...string) {
	l.Helper()
	if diff := cmp.Diff(log, l.h.log); diff != "" {
		l.Errorf("%s (-want +got):\n%s", row, diff)
	}
	l.h.log = nil
}

// A Pod from start to end, and what is told when the plugin connects.
func TestLife(t *testing.T) {
	inProcess(t, func(l *lab) {
		l.start("early")
		l.want("without a plugin nothing fails")
		l.connect()
		l.want("connected", "synchronize 1 1")
		l.start("a")
		if err := l.runtime.Stop(l.ctx, l.clock, "uid"); err != nil {
			l.Error(err)
		}
		l.want("a Pod", "run a", "create a", "start a", "remove early", "remove a")
	})
}

// A late answer: the runtime goes on, and the plugin is disconnected (nri#114, nri#316).
func TestLateAnswer(t *testing.T) {
	inProcess(t, func(l *lab) {
		_, ended := l.connect()
		l.h.takes = 1900 * time.Millisecond
		l.start("a")
		if l.runtime.Dropped != 0 {
			l.Error("dropped in time")
		}
		l.h.takes = time.Minute
		before := l.clock.Monotonic()
		l.start("b")
		took := l.clock.Monotonic() - before
		_ = l.clock.Sleep(l.ctx, time.Millisecond)
		if took != fake.RequestTimeout || l.runtime.Dropped != 1 || !errors.Is(*ended, io.EOF) {
			l.Errorf("took %s, dropped %d, ended with %v", took, l.runtime.Dropped, *ended)
		}
		l.want("the rest goes without it", "synchronize 0 0", "run a", "create a", "start a", "run b")
	})
}

// What is being created while the plugin connects is told of by nobody (nri#63).
func TestGap(t *testing.T) {
	inProcess(t, func(l *lab) {
		l.runtime.Takes = time.Second
		l.clock.NewGroup(l.ctx).Go("kubelet", func(context.Context) { l.start("a") })
		_ = l.clock.Sleep(l.ctx, 500*time.Millisecond)
		l.connect()
		_ = l.clock.Sleep(l.ctx, time.Minute)
		l.want("gap", "synchronize 0 0", "create a", "start a")
	})
}

// A plugin whose process ends holds nobody up, and a runtime without NRI says so.
func TestGone(t *testing.T) {
	inProcess(t, func(l *lab) {
		port, _ := l.connect()
		l.h.takes = time.Minute
		before := l.clock.Monotonic()
		l.clock.NewGroup(l.ctx).Go("crash", func(ctx context.Context) {
			_ = l.clock.Sleep(ctx, time.Second)
			port.Gone()
		})
		l.start("a")
		if took := l.clock.Monotonic() - before; took != time.Second || l.runtime.Dropped != 0 {
			l.Errorf("took %s, dropped %d", took, l.runtime.Dropped)
		}
		l.runtime.SetServed(false)
		if _, ended := l.connect(); !errors.Is(*ended, fs.ErrNotExist) {
			l.Errorf("without NRI: %v", *ended)
		}
	})
}

// A container that ends, with another in its place: same sandbox, another cgroup.
func TestRestart(t *testing.T) {
	inProcess(t, func(l *lab) {
		l.connect()
		run := l.start("a")
		sandbox, cgroup, pid := run.Sandbox.ID, run.Cgroup, run.PID
		l.h.log = nil
		if err := l.runtime.Restart(l.ctx, l.clock, run, fake.Pod{UID: "uid", Name: "a", Args: []string{"/app"}}); err != nil {
			l.Error(err)
		}
		if run.Sandbox.ID != sandbox || run.Cgroup == cgroup || run.PID == pid {
			l.Errorf("%+v", run)
		}
		l.want("a container", "create a", "start a")
	})
}

// With the node's power, Pods and plugin are gone.
func TestPowerLoss(t *testing.T) {
	inProcess(t, func(l *lab) {
		_, ended := l.connect()
		l.start("a")
		l.runtime.PowerLoss()
		_ = l.clock.Sleep(l.ctx, time.Millisecond)
		if l.runtime.Connected() || !errors.Is(*ended, io.EOF) {
			l.Errorf("the plugin is still there: %v", *ended)
		}
		l.h.log = nil
		l.connect()
		l.want("nothing runs", "synchronize 0 0")
	})
}

// Requests of two Pods are with the plugin one after the other, and who waits for its turn
// is not held up by the plugin.
func TestTurns(t *testing.T) {
	inProcess(t, func(l *lab) {
		l.connect()
		l.h.takes = 900 * time.Millisecond
		before, group := l.clock.Monotonic(), l.clock.NewGroup(l.ctx)
		for _, name := range []string{"a", "b", "c"} {
			group.Go(name, func(context.Context) { l.start(name) })
		}
		group.Wait()
		if took := l.clock.Monotonic() - before; took != 9*l.h.takes || l.runtime.Longest != l.h.takes || l.runtime.Dropped != 0 {
			l.Errorf("took %s, the longest %s, dropped %d", took, l.runtime.Longest, l.runtime.Dropped)
		}
	})
}

// What happens while the plugin's process gets no processor is not its doing.
func TestFrozen(t *testing.T) {
	inProcess(t, func(l *lab) {
		frozen, times := false, 0
		l.runtime.Frozen = func() (bool, int) { return frozen, times }
		l.connect()
		l.h.takes = time.Minute
		frozen, times = true, 1
		l.start("a")
		if l.runtime.Longest != 0 || l.runtime.Dropped != 1 {
			l.Errorf("the longest %s, dropped %d", l.runtime.Longest, l.runtime.Dropped)
		}
		l.connect()
		frozen = false
		l.start("b")
		if l.runtime.Longest != fake.RequestTimeout || l.runtime.Dropped != 2 {
			l.Errorf("the longest %s, dropped %d", l.runtime.Longest, l.runtime.Dropped)
		}
	})
}

// A Pod in the host's network has none of its own.
func TestHostNetwork(t *testing.T) {
	inProcess(t, func(l *lab) {
		run, err := l.runtime.Start(l.ctx, l.clock, fake.Pod{UID: "uid", Name: "a", HostNetwork: true})
		if err != nil || run.Netns != 0 || run.Sandbox.NetnsPath != "" {
			l.Errorf("%+v, %v", run, err)
		}
	})
}
