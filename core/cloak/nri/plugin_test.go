package nri_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/node"
	"github.com/seedbed-sim/seedbed/core/cloak/nri"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// lab is a plugin between a runtime and a preparer that tests play.
type lab struct {
	*testing.T
	*nri.Plugin
	ctx   context.Context
	clock clock.Clock
	began time.Duration

	serve func(ctx context.Context, socket string, h nri.Handler) error // plays the runtime
	calls []string
	takes time.Duration // each call of the preparer, whatever its context says
	panic bool
}

func inAgent(t *testing.T, body func(l *lab)) {
	t.Helper()
	c := cluster.New(cluster.Config{Nodes: 1, Engine: engine.Config{Source: engine.NewSeed(1), Horizon: time.Hour, Idle: engine.IdleAllowed}})
	ended := false
	c.Node("node-1").Process(cluster.ProcessSpec{Name: "agent", Main: func(ctx context.Context, env *cluster.Env) {
		if !ended {
			l := &lab{T: t, ctx: ctx, clock: env.Clock, began: env.Clock.Monotonic()}
			l.Plugin = &nri.Plugin{Preparer: preparer{l}, Runtime: server{l}, Clock: env.Clock, Log: logr.Discard()}
			body(l)
			ended = true
		}
		_ = env.Clock.Sleep(ctx, 2*time.Hour) // a process that ends is started again
	}})
	if res := c.Run(); res.Err != nil {
		t.Error(res.Err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Error("the body did not run to its end")
	}
}

func (l *lab) since() time.Duration { return l.clock.Monotonic() - l.began }

type server struct{ l *lab }

func (s server) Serve(ctx context.Context, socket string, h nri.Handler) error {
	return s.l.serve(ctx, socket, h)
}

type preparer struct{ l *lab }

func (p preparer) call(name string, sb *node.Sandbox) {
	p.l.calls = append(p.l.calls, fmt.Sprintf("%s %s %s at %s", name, sb.Name, sb.NetnsPath, p.l.since()))
	if p.l.panic {
		panic("preparer")
	}
	_ = p.l.clock.Sleep(p.l.ctx, p.l.takes)
}

func (p preparer) PrepareSandbox(_ context.Context, sb *node.Sandbox) bool {
	p.call("sandbox", sb)
	return false
}
func (p preparer) PrepareContainer(_ context.Context, sb *node.Sandbox, c *node.Container) {
	p.call("container "+c.Name, sb)
}
func (p preparer) SandboxRemoved(_ context.Context, sb *node.Sandbox) { p.call("removed", sb) }

func sandbox(name string) *node.Sandbox {
	return &node.Sandbox{ID: "id-" + name, Name: name, NetnsPath: "/run/" + name, Annotations: map[string]string{cloak.AnnotationEnabled: "true"}}
}

var container = &node.Container{ID: "c", Name: "c"}

// connected runs the plugin, and f as a runtime that it is connected to.
func (l *lab) connected(f func(h nri.Handler)) {
	l.serve = func(ctx context.Context, _ string, h nri.Handler) error {
		f(h)
		l.serve = func(ctx context.Context, _ string, _ nri.Handler) error { return l.clock.Sleep(ctx, time.Hour) }
		return l.clock.Sleep(ctx, time.Hour)
	}
	l.clock.NewGroup(l.ctx).Go("plugin", func(ctx context.Context) { _ = l.Plugin.Run(ctx) })
	_ = l.clock.Sleep(l.ctx, time.Minute)
}

// Section 2.8: which request prepares what, and with which path.
func TestRequests(t *testing.T) {
	inAgent(t, func(l *lab) {
		l.connected(func(h nri.Handler) {
			h.RunPodSandbox(l.ctx, sandbox("a"))
			h.CreateContainer(l.ctx, sandbox("a"), container)
			h.StartContainer(l.ctx, sandbox("a"), container)
			h.RemovePodSandbox(l.ctx, sandbox("a"))
			host := sandbox("host")
			host.NetnsPath = ""
			h.RunPodSandbox(l.ctx, host)
			off := sandbox("off")
			off.Annotations = nil
			h.RunPodSandbox(l.ctx, off)
			h.StartContainer(l.ctx, off, container)
			h.RemovePodSandbox(l.ctx, off)
			h.Synchronize(l.ctx, []*node.Sandbox{off}, nil)
			h.StartContainer(l.ctx, nil, container)
		})
		want := []string{
			"sandbox a /proc/1/root/run/a at 0s", "sandbox a /proc/1/root/run/a at 0s", "container c a /proc/1/root/run/a at 0s",
			"removed a /proc/1/root/run/a at 0s", "sandbox host  at 0s",
		}
		if diff := cmp.Diff(want, l.calls); diff != "" {
			l.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// I10: whatever the preparer does, each request is answered within its budget.
func TestBudgets(t *testing.T) {
	for _, hurt := range []func(l *lab){
		func(l *lab) { l.takes = 10 * time.Second },
		func(l *lab) { l.panic = true },
	} {
		inAgent(t, func(l *lab) {
			hurt(l)
			l.connected(func(h nri.Handler) {
				for name, request := range map[string]func(){
					"RunPodSandbox":    func() { h.RunPodSandbox(l.ctx, sandbox("a")) },
					"CreateContainer":  func() { h.CreateContainer(l.ctx, sandbox("a"), container) },
					"StartContainer":   func() { h.StartContainer(l.ctx, sandbox("a"), container) },
					"RemovePodSandbox": func() { h.RemovePodSandbox(l.ctx, sandbox("a")) },
					"Synchronize": func() {
						h.Synchronize(l.ctx, []*node.Sandbox{sandbox("a"), sandbox("b")}, []nri.Running{{Sandbox: sandbox("a"), Container: container}})
					},
				} {
					before := l.since()
					request()
					budget := map[string]time.Duration{"StartContainer": nri.ContainerBudget, "Synchronize": 0}
					limit, named := budget[name]
					if !named {
						limit = nri.SandboxBudget
					}
					if took := l.since() - before; took > limit || !l.panic && took != limit {
						l.Errorf("%s took %s", name, took)
					}
				}
			})
		})
	}
}

// Section 2.8: Synchronize prepares what is there, each Pod for itself.
func TestSynchronize(t *testing.T) {
	inAgent(t, func(l *lab) {
		l.takes = 10 * time.Second
		l.connected(func(h nri.Handler) {
			h.Synchronize(l.ctx, []*node.Sandbox{sandbox("a"), sandbox("b")}, []nri.Running{{Sandbox: sandbox("b"), Container: container}})
		})
		got := map[string]bool{}
		for _, c := range l.calls {
			got[c] = true
		}
		want := map[string]bool{
			"sandbox a /proc/1/root/run/a at 0s": true, "sandbox b /proc/1/root/run/b at 0s": true, "container c b /proc/1/root/run/b at 10s": true,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			l.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Section 2.8 and S23: when the plugin connects again.
func TestReconnect(t *testing.T) {
	inAgent(t, func(l *lab) {
		closed, absent := io.EOF, fmt.Errorf("dial: %w", fs.ErrNotExist)
		answers := []error{closed, closed, absent, absent, absent, absent, absent, closed, absent, nil}
		var at []string
		l.serve = func(_ context.Context, socket string, _ nri.Handler) error {
			at = append(at, l.since().String())
			if socket != "/var/run/nri/nri.sock" {
				l.Errorf("socket %s", socket)
			}
			if len(at) > len(answers) {
				return l.clock.Sleep(l.ctx, time.Hour)
			}
			return answers[len(at)-1]
		}
		l.clock.NewGroup(l.ctx).Go("plugin", func(ctx context.Context) { _ = l.Plugin.Run(ctx) })
		_ = l.clock.Sleep(l.ctx, 10*time.Minute)
		want := "0s 1s 2s 7s 17s 37s 1m7s 1m37s 1m38s 1m43s 1m44s"
		if got := strings.Join(at, " "); got != want {
			l.Errorf("connects at %s, want %s", got, want)
		}
	})
}

// The runtime's own limit is two seconds for a request, in which the answer must also get
// back to it.
func TestBudgetsAreWithinTheLimit(t *testing.T) {
	const limit = 2 * time.Second
	for name, budget := range map[string]time.Duration{"sandbox": nri.SandboxBudget, "container": nri.ContainerBudget} {
		if budget > limit*3/4 {
			t.Errorf("the budget for a %s is %s", name, budget)
		}
	}
}
