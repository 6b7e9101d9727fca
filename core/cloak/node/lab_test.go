package node_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/node"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/secretsync"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

const namespace = "default"

var errBroken = errors.New("broken")

// lab is a node's agent in virtual time, with an API server and a kernel that take none
// unless a test says so.
type lab struct {
	*testing.T
	*node.Reconciler
	ctx    context.Context
	clock  clock.Clock
	kube   kube.Kube
	kernel *kernel.Kernel
	plane  plane.Plane
	syncer *secretsync.Syncer
	began  time.Duration

	takes   map[string]time.Duration // calls of the data plane
	failing map[string]bool
	calls   []string
	events  []string
	behind  bool // the cache has no Pods yet
	cut     bool // the API server does not answer
}

// inAgent runs body as the process of an agent.
func inAgent(t *testing.T, body func(l *lab)) {
	t.Helper()
	c := cluster.New(cluster.Config{Nodes: 1, Engine: engine.Config{Source: engine.NewSeed(1), Horizon: time.Hour, Idle: engine.IdleAllowed}})
	ended := false
	c.Node("node-1").Process(cluster.ProcessSpec{Name: "agent", Main: func(ctx context.Context, env *cluster.Env) {
		if !ended {
			body(newLab(ctx, t, env.Clock))
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

func newLab(ctx context.Context, t *testing.T, c clock.Clock) *lab {
	l := &lab{T: t, ctx: ctx, clock: c, takes: map[string]time.Duration{}, failing: map[string]bool{}, began: c.Monotonic()}
	l.kube = apiclient.New(apiserver.New(apiserver.Options{}), clientscheme.Scheme)
	l.kernel = kernel.New(kernel.Options{Conduct: func(ctx context.Context, call string) error {
		l.calls = append(l.calls, call)
		if err := c.Sleep(ctx, l.takes[call]); err != nil {
			return err
		}
		if l.failing[call] {
			return errBroken
		}
		return nil
	}})
	for _, name := range []string{"db", "other"} {
		l.create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{cloak.AnnotationSecretEnabled: "true"}},
			Data:       map[string][]byte{"k": []byte("correct-horse"), "k2": []byte("another-value")},
		})
		r := &shadow.SecretReconciler{Cache: l.kube, Live: l.kube, Entropy: rand.NewChaCha8([32]byte{1}), Recorder: l, Log: logr.Discard()}
		if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	l.restart()
	l.calls = nil
	return l
}

// restart is an agent that starts.
func (l *lab) restart() {
	l.plane = l.kernel.Plane(l.clock)
	l.syncer = secretsync.New(secretsync.Config{Cache: l.kube, Plane: l.plane, Clock: l.clock, Recorder: l, Log: logr.Discard()})
	l.Reconciler = node.New(l.ctx, node.Config{
		Cache: reader{l, func() bool { return l.behind }}, APIReader: reader{l, func() bool { return false }},
		Plane: l.plane, Binder: l.syncer, Clock: l.clock, NodeName: "node-1", Recorder: l, Log: logr.Discard(),
	})
	if err := l.syncer.Sync(l.ctx); err != nil {
		l.Fatal(err)
	}
}

// reader is the API server, or a cache that may be empty yet.
type reader struct {
	l      *lab
	behind func() bool
}

func (r reader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if r.behind() {
		key.Name = "nobody"
	} else if r.l.cut {
		return errBroken
	}
	return r.l.kube.Get(ctx, key, obj, opts...)
}

func (r reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return r.l.kube.List(ctx, list, opts...)
}

func (l *lab) Event(obj runtime.Object, _, reason, message string) {
	l.events = append(l.events, obj.(client.Object).GetName()+" "+reason+": "+message)
}

func (l *lab) create(obj client.Object) {
	l.Helper()
	if err := l.kube.Create(l.ctx, obj); err != nil {
		l.Fatal(err)
	}
}

// running is a Pod with its sandbox and its container in the kernel.
type running struct {
	l      *lab
	pod    *corev1.Pod
	netns  plane.Netns
	sb     *node.Sandbox
	c      *node.Container
	cgroup policy.Cgroup
	pid    int
}

var image = kernel.Image{Libraries: []kernel.File{"libssl"}, Commands: map[string]kernel.File{"/app": "app", "/tool": "tool"}}

// pod makes a Pod that refers to the shadow of db, and its sandbox.
func (l *lab) pod(name, ip string, edit func(*corev1.Pod)) *running {
	l.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{cloak.AnnotationEnabled: "true"}},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "c", Image: "i", EnvFrom: []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db-kloak"}}}}}}},
	}
	if edit != nil {
		edit(p)
	}
	l.create(p)
	r := &running{l: l, pod: p}
	addr := netip.MustParseAddr(ip)
	netns, path := l.kernel.AddNetns(addr)
	r.netns = netns
	r.sb = &node.Sandbox{ID: "sandbox-" + name, UID: p.UID, Namespace: namespace, Name: name, Annotations: p.Annotations, NetnsPath: path, IPs: []netip.Addr{addr}}
	r.create("container-" + name)
	return r
}

// create makes the cgroup and the process of the Pod's container, which does not run its
// command yet.
func (r *running) create(id string) {
	r.cgroup = r.l.kernel.AddCgroup(r.pod.UID, id, image)
	r.pid = r.l.kernel.Fork(r.cgroup, r.netns)
	r.c = &node.Container{ID: id, Name: "c", Args: []string{"/app"}}
}

// status lets the kubelet say how the container is.
func (r *running) status(edit func(*corev1.PodStatus)) {
	r.l.Helper()
	if err := r.l.kube.Get(r.l.ctx, client.ObjectKeyFromObject(r.pod), r.pod); err != nil {
		r.l.Fatal(err)
	}
	r.pod.Status.Phase = corev1.PodRunning
	r.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "c", ContainerID: "containerd://" + r.c.ID, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	if edit != nil {
		edit(&r.pod.Status)
	}
	if err := r.l.kube.Status().Update(r.l.ctx, r.pod); err != nil {
		r.l.Fatal(err)
	}
}

// reconcile reconciles the Pod until it asks for no more, or so many times.
func (r *running) reconcile(times int) (again bool) {
	r.l.Helper()
	for range times {
		result, err := r.l.Reconcile(r.l.ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(r.pod)})
		if err != nil {
			r.l.Fatal(err)
		}
		if result.RequeueAfter == 0 {
			return false
		}
		_ = r.l.clock.Sleep(r.l.ctx, result.RequeueAfter)
	}
	return true
}

// delete deletes the Pod, whose processes end.
func (r *running) delete() {
	r.l.Helper()
	r.l.kernel.RemoveCgroup(r.cgroup)
	if err := r.l.kube.Delete(r.l.ctx, r.pod, client.GracePeriodSeconds(0)); err != nil {
		r.l.Fatal(err)
	}
}

// within calls f with a budget, and returns how long it took.
func (l *lab) within(budget time.Duration, f func(ctx context.Context)) time.Duration {
	ctx, cancel := l.clock.WithTimeout(l.ctx, budget)
	defer cancel()
	before := l.clock.Monotonic()
	f(ctx)
	return l.clock.Monotonic() - before
}

// state is what the kernel has: networks, addresses, cgroups, grants.
func (l *lab) state() string {
	l.Helper()
	a, err := l.plane.Attachments(l.ctx)
	if err != nil {
		l.Fatal(err)
	}
	grants, err := l.plane.Grants(l.ctx)
	if err != nil {
		l.Fatal(err)
	}
	return fmt.Sprintf("%d networks, %d addresses, %d cgroups, %d grants", len(a.Netns), len(a.Bound), len(a.Cgroups), len(grants))
}

func (l *lab) want(row, state string) {
	l.Helper()
	if got := l.state(); got != state {
		l.Errorf("%s: %s, want %s", row, got, state)
	}
}

// hooked reports whether a file with TLS code is hooked.
func (l *lab) hooked(f kernel.File) bool { return l.kernel.Hooked(f) }

func count(calls []string, call string) (n int) {
	for _, c := range calls {
		if c == call {
			n++
		}
	}
	return n
}

func hasEvent(events []string, text string) bool {
	for _, e := range events {
		if strings.Contains(e, text) {
			return true
		}
	}
	return false
}
