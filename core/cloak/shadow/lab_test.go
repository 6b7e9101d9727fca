package shadow_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

const (
	namespace = "default"
	horse     = "correct-horse-1"
)

// fatal is what a lab needs of a test; rapid's has it too.
type fatal interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// lab is an API server and one agent whose cache is up to date.
type lab struct {
	fatal
	*shadow.SecretReconciler
	ctx    context.Context
	clock  *clocktesting.FakePassiveClock
	kube   kube.Kube
	events []string
	values []string // that no event may show
}

func newLab(t fatal) *lab {
	l := &lab{fatal: t, ctx: context.Background(), clock: clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))}
	l.kube = apiclient.New(apiserver.New(apiserver.Options{Clock: l.clock}), clientscheme.Scheme)
	l.SecretReconciler = l.agent(l.kube, 1)
	return l
}

// agent is a reconciler of another node.
func (l *lab) agent(cache kube.Reader, seed byte) *shadow.SecretReconciler {
	return &shadow.SecretReconciler{Cache: cache, Live: l.kube, Entropy: rand.NewChaCha8([32]byte{seed}), Recorder: l, Log: logr.Discard()}
}

func (l *lab) Event(obj runtime.Object, kind, reason, message string) {
	l.Helper()
	for _, v := range l.values {
		if strings.Contains(message, v) {
			l.Errorf("an event shows a value: %s", message)
		}
	}
	l.events = append(l.events, fmt.Sprintf("%s %s %s: %s", obj.(client.Object).GetName(), kind, reason, message))
}

// put creates or changes a Secret that is to be protected.
func (l *lab) put(name string, edit func(*corev1.Secret)) *corev1.Secret {
	l.Helper()
	s := l.get(name)
	exists := s != nil
	if !exists {
		s = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{cloak.AnnotationSecretEnabled: "true"}, Annotations: map[string]string{},
		}}
	}
	edit(s)
	err := l.write(s, exists)
	if err != nil {
		l.Fatal(err)
	}
	for _, v := range s.Data {
		l.values = append(l.values, string(v))
	}
	return s
}

func (l *lab) write(s *corev1.Secret, exists bool) error {
	if exists {
		return l.kube.Update(l.ctx, s)
	}
	return l.kube.Create(l.ctx, s)
}

func data(pairs ...string) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		s.Data = map[string][]byte{}
		for i := 0; i < len(pairs); i += 2 {
			s.Data[pairs[i]] = []byte(pairs[i+1])
		}
	}
}

func (l *lab) get(name string) *corev1.Secret {
	l.Helper()
	s := &corev1.Secret{}
	err := l.kube.Get(l.ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		l.Fatal(err)
	}
	return s
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
}

// reconcile reconciles one Secret, and returns its shadow.
func (l *lab) reconcile(name string) *corev1.Secret {
	l.Helper()
	if _, err := l.Reconcile(l.ctx, request(name)); err != nil {
		l.Fatal(err)
	}
	return l.get(name + "-kloak")
}

// placeholderOf returns the placeholder of a key, which must fit a value in full.
func (l *lab) placeholderOf(s *corev1.Secret, key, value string) string {
	l.Helper()
	if s == nil {
		l.Fatal("there is no shadow")
	}
	p := string(s.Data[key])
	if fit := placeholder.Fits(p, []byte(value)); fit != placeholder.FitsAll {
		l.Errorf("%q stands in for %q and fits %s", p, value, fit)
	}
	return p
}

func (l *lab) condition(name string) string {
	l.Helper()
	c, ok := shadow.ConditionOf(l.get(name))
	if !ok {
		return ""
	}
	return c.Status + " " + c.Reason
}

// snapshot is a cache that has stopped at some time.
type snapshot struct{ secrets []corev1.Secret }

func (l *lab) snapshot() *snapshot {
	l.Helper()
	var list corev1.SecretList
	if err := l.kube.List(l.ctx, &list); err != nil {
		l.Fatal(err)
	}
	return &snapshot{list.Items}
}

func (s *snapshot) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	for i := range s.secrets {
		if client.ObjectKeyFromObject(&s.secrets[i]) == key {
			s.secrets[i].DeepCopyInto(obj.(*corev1.Secret))
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
}

func (s *snapshot) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	into, ok := list.(*corev1.SecretList)
	if !ok {
		return nil // there are no Pods
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	for i := range s.secrets {
		if options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(s.secrets[i].Labels)) {
			into.Items = append(into.Items, *s.secrets[i].DeepCopy())
		}
	}
	return nil
}

// same is entropy that has only one thing to say.
type same struct{}

func (same) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

var _ io.Reader = same{}
