package kube_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	corekube "github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fakerest "github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

// cluster is an API server of ours, and a connection to it.
type cluster struct {
	*testing.T
	*kube.Cluster
	mu    sync.Mutex
	asked []string // lists and watches
}

func newCluster(t *testing.T, opts kube.Options) *cluster {
	t.Helper()
	c := &cluster{T: t}
	cfg := fakerest.New(apiserver.New(apiserver.Options{Clock: clock.New()})).Config()
	inner := cfg.Transport
	cfg.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		q := r.URL.Query()
		if r.Method == http.MethodGet && (q.Has("watch") || q.Has("limit")) {
			c.mu.Lock()
			if what := r.URL.Path + "?" + q.Get("fieldSelector") + q.Get("labelSelector"); !slices.Contains(c.asked, what) {
				c.asked = append(c.asked, what)
			}
			c.mu.Unlock()
		}
		return inner.RoundTrip(r)
	})
	opts.QPS = -1
	var err error
	if c.Cluster, err = kube.Connect(cfg, opts); err != nil {
		t.Fatal(err)
	}
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (c *cluster) create(name string, labels map[string]string) {
	c.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}, Data: map[string][]byte{"v": []byte("1")}}
	if err := c.Live().Create(c.Context(), s); err != nil {
		c.Fatal(err)
	}
}

// drive runs controllers until the test ends; what they end with is checked.
func (c *cluster) drive(controllers ...corekube.Controller) {
	ctx, cancel := context.WithCancel(c.Context())
	done := make(chan error, 1)
	go func() { done <- c.Cluster.Run(ctx, controllers...) }()
	c.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			c.Errorf("it ends with %v", err)
		}
	})
}

func (c *cluster) names(opts ...client.ListOption) (names []string) {
	c.Helper()
	list := &corev1.SecretList{}
	if err := c.Cached().List(c.Context(), list, opts...); err != nil {
		c.Fatal(err)
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

func nothing(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

// TestCacheHoldsWhatIsWatched and no more: each watch asks for its own, and is read from.
func TestCacheHoldsWhatIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slim := func(o client.Object) { o.(*corev1.Secret).Data = nil }
		c := newCluster(t, kube.Options{Slim: slim})
		for _, name := range []string{"d", "b", "a", "c"} {
			c.create(name, map[string]string{"of": name})
		}
		if err := c.Cached().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, &corev1.Secret{}); err == nil || !strings.Contains(err.Error(), "no controller watches that") {
			t.Errorf("before: %v", err)
		}
		cOrD, err := labels.Parse("of in (c,d)")
		if err != nil {
			t.Fatal(err)
		}
		named := corekube.Watch{Object: &corev1.Secret{}, Namespace: "default", Name: "a"}
		c.drive(
			corekube.Controller{Name: "one", Reconciler: reconcile.Func(nothing), Watches: []corekube.Watch{named}},
			corekube.Controller{Name: "two", Reconciler: reconcile.Func(nothing), Watches: []corekube.Watch{
				named, {Object: &corev1.Secret{}, Selector: cOrD},
			}},
		)
		synctest.Wait()
		// A watch of one object does not answer who asks for all.
		if d := cmp.Diff([]string{"c", "d"}, c.names()); d != "" {
			t.Errorf("cached (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"a"}, c.names(client.InNamespace("default"), client.MatchingFields{"metadata.name": "a"})); d != "" {
			t.Errorf("of the object that is watched (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"c"}, c.names(client.MatchingFields{"metadata.name": "c"})); d != "" {
			t.Errorf("of a name (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"c"}, c.names(client.Limit(1))); d != "" {
			t.Errorf("of a limit (-want +got):\n%s", d)
		}
		s := &corev1.Secret{}
		if err := c.Cached().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, s); err != nil || s.Name != "a" || len(s.Data) > 0 || len(s.ManagedFields) > 0 {
			t.Errorf("read %v, error %v", s, err)
		}
		for what, err := range map[string]error{
			"a kind that nobody watches": c.Cached().List(t.Context(), &corev1.PodList{}),
			"a field without an index":   c.Cached().List(t.Context(), &corev1.SecretList{}, client.MatchingFields{"type": "x"}),
		} {
			if err == nil {
				t.Errorf("%s can be read", what)
			}
		}
		c.mu.Lock()
		slices.Sort(c.asked)
		want := []string{"/api/v1/namespaces/default/secrets?metadata.name=a", "/api/v1/secrets?of in (c,d)"}
		if d := cmp.Diff(want, c.asked); d != "" {
			t.Errorf("asked (-want +got):\n%s", d)
		}
		c.mu.Unlock()
	})
}

// TestContract: what kube.Controller promises of its driver, in the time of a bubble.
func TestContract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, kube.Options{})
		began := time.Now()
		var mu sync.Mutex
		calls := map[string][]time.Duration{} // when each request was reconciled
		fails := errors.New("fails")
		reconciler := func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			calls[r.Name] = append(calls[r.Name], time.Since(began).Round(time.Second))
			switch r.Name {
			case "again":
				return reconcile.Result{RequeueAfter: time.Minute}, nil
			case "fails":
				return reconcile.Result{}, fails
			case "terminal":
				return reconcile.Result{}, reconcile.TerminalError(fails)
			}
			return reconcile.Result{}, nil
		}
		request := func(name string) reconcile.Request {
			return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
		}
		mapped := func(_ context.Context, o client.Object) []reconcile.Request {
			return []reconcile.Request{request("mapped-" + o.GetLabels()["of"])}
		}
		c.create("a", map[string]string{"of": "x"})
		c.drive(corekube.Controller{
			Name: "contract", Reconciler: reconcile.Func(reconciler), Workers: 2,
			Start:   []reconcile.Request{request("again"), request("fails"), request("terminal")},
			Backoff: corekube.Backoff{Base: 10 * time.Second, Max: 30 * time.Second},
			Watches: []corekube.Watch{{Object: &corev1.Secret{}}, {Object: &corev1.Secret{}, Requests: mapped}},
		})
		time.Sleep(90 * time.Second)
		s := &corev1.Secret{}
		if err := c.Live().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, s); err != nil {
			t.Fatal(err)
		}
		s.Labels["of"] = "y" // both of before and of now are told
		if err := c.Live().Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(45 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		at := func(seconds ...int) (all []time.Duration) {
			for _, s := range seconds {
				all = append(all, time.Duration(s)*time.Second)
			}
			return all
		}
		want := map[string][]time.Duration{
			"again": at(0, 60, 120), "fails": at(0, 10, 30, 60, 90, 120), "terminal": at(0),
			"a": at(0, 90), "mapped-x": at(0, 90), "mapped-y": at(90),
		}
		if d := cmp.Diff(want, calls); d != "" {
			t.Errorf("reconciled (-want +got):\n%s", d)
		}
	})
}

// TestPreconditions: what is missing is named.
func TestPreconditions(t *testing.T) {
	c := newCluster(t, kube.Options{})
	if err := c.Reach(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.CheckDefinitions(&corev1.Secret{}); err != nil {
		t.Error(err)
	}
	const want = "the cluster has no kind EncryptionPolicy of encryption.seedbed.dev/v1alpha1: install its CustomResourceDefinition with kubectl apply -k realmode/deploy/crds"
	if err := c.CheckDefinitions(&corev1.Secret{}, &v1alpha1.EncryptionPolicy{}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if kind, err := c.Kinds().PreferredKind(t.Context(), corev1.Resource("secrets")); err != nil || kind.Kind != "Secret" || kind.Version != "v1" {
		t.Errorf("kind %v, error %v", kind, err)
	}
}

// TestPermissionsThatAreMissing are told in words, the first few of them.
func TestPermissionsThatAreMissing(t *testing.T) {
	store := apiserver.NewStore(apiserver.Options{RBAC: true, DefaultRoles: true})
	handler := fakerest.New(apiserver.NewServer(store, "s"), fakerest.WithTokens(map[string]*apiserver.User{"t": {Name: "u", Groups: []string{"system:authenticated"}}}))
	cfg := handler.Config()
	cfg.BearerToken = "t"
	c := connect(t, cfg)
	for _, x := range []struct {
		grant kube.Grant
		want  string
	}{
		{kube.Grant{}, ""},
		{kube.Grant{Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}, "this account may not get /metrics: bind the roles of realmode/deploy to it"},
		{kube.Grant{Namespace: "app", Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, ResourceNames: []string{"d"}, Verbs: []string{"patch"}}}}, `this account may not patch deployments.apps/scale "d" in app: bind`},
		{kube.Grant{Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list", "watch"}}}}, "this account may not get pods, nor get nodes, nor list pods and 3 more: bind"},
		{kube.Grant{Rules: []rbacv1.PolicyRule{{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews"}, Verbs: []string{"create"}}}}, ""},
	} {
		switch err := c.CheckPermissions(t.Context(), x.grant); {
		case x.want == "" && err != nil:
			t.Error(err)
		case x.want != "" && (err == nil || !strings.HasPrefix(err.Error(), x.want)):
			t.Errorf("error %v, want %s", err, x.want)
		}
	}
}
