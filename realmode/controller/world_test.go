package controller_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	fakerest "github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/deploy"
)

const (
	account      = "system:serviceaccount:seedbed-system:seedbed-controller"
	accountToken = "token-of-the-controller"
	adminToken   = "token-of-the-administrator"
)

// world is a cluster with an API server of ours, in the time of a synctest bubble.
type world struct {
	*testing.T
	store   *apiserver.Store
	server  *apiserver.Server
	lock    sync.Mutex // the server is used by one at a time
	handler *fakerest.Handler
	admin   client.Client
	refused []string // what the account may not do, and tried

	said safeBuffer

	mu     sync.Mutex
	writes []write
}

// write is a request of a process that changes something other than the Lease and Events.
type write struct{ who, method, path string }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.said.String())
		}
	})
	w.store = apiserver.NewStore(apiserver.Options{
		Clock: clock.New(), RBAC: true, DefaultRoles: true,
		Refused: func(a *authz.Attributes) {
			w.refused = append(w.refused, a.Verb+" "+a.Resource+"/"+a.Subresource+" in "+a.Namespace+" "+a.Name)
		},
	})
	w.server = apiserver.NewServer(w.store, "apiserver-1")
	w.handler = fakerest.New(w.server, fakerest.WithGate(w.gate), fakerest.WithTokens(map[string]*apiserver.User{
		adminToken:   nil,
		accountToken: {Name: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:seedbed-system", "system:authenticated"}},
	}))
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		w.must(add(scheme))
	}
	cfg := w.handler.Config()
	cfg.BearerToken = adminToken
	var err error
	w.admin, err = client.New(cfg, client.Options{Scheme: scheme})
	w.must(err)
	for _, name := range []string{controller.Namespace, controller.EncryptionNamespace, controller.References, "app"} {
		w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return w
}

func (w *world) gate(ctx context.Context, fn func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	fn()
	return nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(o client.Object) {
	w.Helper()
	w.must(w.admin.Create(w.Context(), o))
}

// install creates the CustomResourceDefinitions of core.
func (w *world) install() {
	w.Helper()
	names, err := fs.Glob(v1alpha1.CRDs, "crds/*.yaml")
	w.must(err)
	for _, name := range names {
		data, err := v1alpha1.CRDs.ReadFile(name)
		w.must(err)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		w.must(yaml.UnmarshalStrict(data, crd))
		w.create(crd)
	}
}

// bind gives the account of the controllers what cfg needs.
func (w *world) bind(cfg controller.Config) {
	w.Helper()
	for _, o := range deploy.Roles(deploy.Controller, "test", cfg.Grants()) {
		w.create(o)
	}
}

// config is that of a process that is called who.
func (w *world) config(who string) controller.Config {
	return controller.Config{
		Rest: w.restConfig(&line{RoundTripper: w.handler, w: w, who: who}), Namespace: controller.Namespace, Identity: who,
		Clock: clock.New(), Entropy: rand.Reader, Log: w.log().WithName(who),
	}
}

// log keeps all that is logged, and shows it if the test fails.
func (w *world) log() logr.Logger {
	return logr.FromSlogHandler(slog.NewTextHandler(&w.said, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// safeBuffer is written by several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// toldNone checks that secrets are in no log and in no Event.
func (w *world) toldNone(first string, more ...string) {
	w.Helper()
	events := &corev1.EventList{}
	w.must(w.admin.List(w.Context(), events))
	told := w.said.String()
	if !strings.Contains(told, "Leads") || len(events.Items) == 0 {
		w.Errorf("nothing was told that could be looked at; %d Events", len(events.Items))
	}
	for i := range events.Items {
		told += events.Items[i].Message
	}
	for _, secret := range append(more, first) {
		if strings.Contains(told, secret) {
			w.Error("a secret was told in a log or an Event")
		}
	}
}

func (w *world) restConfig(transport http.RoundTripper) *restclient.Config {
	cfg := w.handler.Config()
	cfg.BearerToken, cfg.Transport = accountToken, transport
	return cfg
}

// line is the way of a process to the API server, which may be cut.
type line struct {
	http.RoundTripper
	w   *world
	who string

	mu  sync.Mutex
	cut bool
}

var errCut = errors.New("connection refused")

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	if cut {
		return nil, errCut
	}
	if r.Method != http.MethodGet && !slices.ContainsFunc([]string{"/leases", "/events", "selfsubjectaccessreviews"}, func(s string) bool { return strings.Contains(r.URL.Path, s) }) {
		l.w.mu.Lock()
		l.w.writes = append(l.w.writes, write{l.who, r.Method, r.URL.Path})
		l.w.mu.Unlock()
	}
	return l.RoundTripper.RoundTrip(r)
}

// kill cuts the line for good: to the cluster the process is dead.
func (l *line) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
}

// writers are the processes that have written since, in order and each once.
func (w *world) writers(since int) (names []string, total int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.writes[since:] {
		if !slices.Contains(names, x.who) {
			names = append(names, x.who)
		}
	}
	return names, len(w.writes)
}

// start runs a process until the test ends, or stop is called.
func (w *world) start(cfg controller.Config) (p *controller.Process, stop func() error) {
	w.Helper()
	p, err := controller.New(cfg)
	w.must(err)
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() {
		err := p.Run(ctx)
		if err != nil && ctx.Err() == nil {
			w.Logf("%s ends with %v", cfg.Identity, err)
		}
		ended <- err
	}()
	return p, sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
}

// within waits in the time of the bubble.
func (w *world) within(d time.Duration, what string, holds func() bool) {
	w.Helper()
	for end := time.Now().Add(d); !holds(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			w.Fatalf("not after %s: %s", d, what)
		}
	}
}

func (w *world) secret(namespace, name string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, w.admin.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s)
}
