package secretsync_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/secretsync"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
)

const (
	namespace = "default"
	horse     = "correct-horse-1"
)

// stopped is a clock that tests set. Nobody waits on it: there is one task.
type stopped struct {
	clock.Clock
	now       time.Duration
	meanwhile func()
}

func (s *stopped) Monotonic() time.Duration { return s.now }

// Sleep lets the time pass, and whatever a test wants to happen in it.
func (s *stopped) Sleep(_ context.Context, d time.Duration) error {
	s.now += d
	if s.meanwhile != nil {
		s.meanwhile()
	}
	return nil
}

// lab is an API server, a kernel, and a syncer between them.
type lab struct {
	*testing.T
	*secretsync.Syncer
	kube     kube.Kube
	kernel   *kernel.Kernel
	clock    *stopped
	shadows  *shadow.SecretReconciler
	calls    []string // of the data plane that change something
	failing  string   // the call that fails
	cut      bool     // lists fail
	events   []string
	capacity kernel.Limits
}

var errBroken = errors.New("broken")

func newLab(t *testing.T) *lab { return newLabOf(t, kernel.DefaultLimits) }

func newLabOf(t *testing.T, limits kernel.Limits) *lab {
	l := &lab{T: t, clock: &stopped{}, capacity: limits, kube: apiclient.New(apiserver.New(apiserver.Options{}), clientscheme.Scheme)}
	l.kernel = kernel.New(kernel.Options{Limits: limits, Conduct: func(_ context.Context, call string) error {
		if !strings.HasPrefix(call, "read ") {
			l.calls = append(l.calls, call)
		}
		if call == l.failing {
			return errBroken
		}
		return nil
	}})
	l.shadows = &shadow.SecretReconciler{Cache: l.kube, Live: l.kube, Entropy: rand.NewChaCha8([32]byte{1}), Recorder: l, Log: logr.Discard()}
	l.restart()
	return l
}

// restart is an agent that starts: its memory is gone, the kernel's is not.
func (l *lab) restart() {
	l.Syncer = secretsync.New(secretsync.Config{Cache: (*cache)(l), Plane: l.kernel, Clock: l.clock, Recorder: l, Log: logr.Discard()})
}

// cache is the API server as long as lists do not fail.
type cache lab

func (c *cache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return c.kube.Get(ctx, key, obj, opts...)
}

func (c *cache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if c.cut {
		return errBroken
	}
	return c.kube.List(ctx, list, opts...)
}

func (l *lab) Event(obj runtime.Object, _, reason, message string) {
	if strings.Contains(message, "horse") {
		l.Errorf("an event shows a value: %s", message)
	}
	l.events = append(l.events, obj.(client.Object).GetName()+" "+reason)
}

// put makes a Secret with one key, or changes it, and its shadow with it.
func (l *lab) put(name, value, hosts, port string) {
	l.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err := l.kube.Get(l.Context(), client.ObjectKeyFromObject(s), s)
	s.Labels = map[string]string{cloak.AnnotationSecretEnabled: "true"}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[cloak.AnnotationHosts], s.Annotations[cloak.AnnotationPort] = hosts, port
	s.Data = map[string][]byte{"k": []byte(value)}
	if err == nil {
		err = l.kube.Update(l.Context(), s)
	} else {
		err = l.kube.Create(l.Context(), s)
	}
	if err != nil {
		l.Fatal(err)
	}
	l.reconcile(name)
}

func (l *lab) reconcile(name string) {
	l.Helper()
	if _, err := l.shadows.Reconcile(l.Context(), reconcile.Request{NamespacedName: nameOf(name)}); err != nil {
		l.Fatal(err)
	}
}

func nameOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (l *lab) get(name string) *corev1.Secret {
	l.Helper()
	s := &corev1.Secret{}
	if err := l.kube.Get(l.Context(), nameOf(name), s); err != nil {
		l.Fatal(err)
	}
	return s
}

func (l *lab) change(name string, edit func(*corev1.Secret)) {
	l.Helper()
	s := l.get(name)
	edit(s)
	if err := l.kube.Update(l.Context(), s); err != nil {
		l.Fatal(err)
	}
}

func (l *lab) delete(name string) {
	l.Helper()
	if err := l.kube.Delete(l.Context(), l.get(name)); err != nil {
		l.Fatal(err)
	}
}

// sync syncs, which must succeed.
func (l *lab) sync() {
	l.Helper()
	l.calls, l.events = nil, nil
	if err := l.Sync(l.Context()); err != nil {
		l.Error(err)
	}
}

// loaded is what the kernel has, without placeholders, and virtual IPs.
func (l *lab) loaded() string {
	l.Helper()
	entries, err := l.kernel.Entries(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s=%s→%s:%s", e.Owner.Name, e.Value.Reveal(), e.Rule.Hosts, e.Rule.Port))
	}
	return strings.Join(sorted(out), " ")
}

func (l *lab) vips() string {
	l.Helper()
	rows, err := l.kernel.LoadVIPs(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, strings.TrimSpace(string(r.State)+" "+r.Host))
	}
	return strings.Join(out, ", ")
}

// grants is which cgroups may use what.
func (l *lab) grants() string {
	l.Helper()
	grants, err := l.kernel.Grants(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	entries, err := l.kernel.Entries(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	owners := map[policy.Grant]plane.Owner{}
	var out []string
	for _, g := range grants {
		for _, e := range entries {
			if e.Key() == g.Key {
				owners[g] = e.Owner
			}
		}
		out = append(out, fmt.Sprintf("%d:%s", g.Cgroup, owners[g].Name))
	}
	return strings.Join(sorted(out), " ")
}
