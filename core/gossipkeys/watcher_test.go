package gossipkeys_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// watch is a SecretWatcher that is driven by hand.
type watch struct {
	*testing.T
	m          *memory
	controller kube.Controller
	deliveries []string // letters
	versions   []gossipkeys.Version
}

func newWatch(t *testing.T, opts ...gossipkeys.Option) *watch {
	w := &watch{T: t, m: newMemory()}
	opts = append(opts, gossipkeys.WithVersions(func(v gossipkeys.Version, _ gossipkeys.Keys) {
		w.versions = append(w.versions, v)
	}))
	w.controller = gossipkeys.NewSecretWatcher(w.m, namespace, opts...).Watch(func(ks gossipkeys.Keys) {
		w.deliveries = append(w.deliveries, letters(ks))
	})
	return w
}

// event reconciles, as the driver does after any event.
func (w *watch) event() error {
	_, err := w.controller.Reconciler.Reconcile(w.Context(), reconcile.Request{NamespacedName: secretKey()})
	return err
}

// set stores a list and lets the event of it come.
func (w *watch) set(data string) {
	w.Helper()
	w.m.putSecret(w, data)
	if err := w.event(); err != nil {
		w.Fatal(err)
	}
}

func (w *watch) delivered(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.deliveries); diff != "" {
		w.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

// Section 5, and invariant 9: what is delivered, and what is not.
func TestDeliveries(t *testing.T) {
	w := newWatch(t)
	if err := w.event(); err != nil {
		t.Errorf("no Secret is no error: %v", err)
	}
	w.set("")
	w.set("garbage")
	w.delivered()

	w.set(text("A"))
	w.set("\n " + text("A")) // the same list in other words
	w.m.change(t, func(s *corev1.Secret) { s.Labels = map[string]string{"a": "b"} })
	if err := w.event(); err != nil {
		t.Error(err)
	}
	w.delivered("A")

	w.set(text("AB"))
	w.set(text("BA")) // the order is meaning
	w.set(text("BA") + "x")
	w.set(text("BA")) // repaired
	w.delivered("A", "AB", "BA")

	w.m.deleteSecret()
	if err := w.event(); err != nil {
		t.Errorf("a deletion is no error: %v", err)
	}
	w.set(text("BA")) // restored
	w.delivered("A", "AB", "BA")

	w.m.putSecret(t, text("C"))
	w.set(text("BBD")) // C was never seen
	w.set(text("BBD"))
	w.delivered("A", "AB", "BA", "BBD")
}

func TestDeliveredListIsTheHandlersOwn(t *testing.T) {
	m := newMemory()
	var got gossipkeys.Keys
	calls := 0
	c := gossipkeys.NewSecretWatcher(m, namespace).Watch(func(ks gossipkeys.Keys) { got, calls = ks, calls+1 })
	m.putSecret(t, text("AB"))
	for range 2 {
		if _, err := c.Reconciler.Reconcile(t.Context(), reconcile.Request{}); err != nil {
			t.Fatal(err)
		}
		got[0], got[1] = got[1], got[0]
	}
	if calls != 1 {
		t.Errorf("%d calls: what a handler does to its list changed the watcher's", calls)
	}
}

func TestReadErrorsAreRetried(t *testing.T) {
	w := newWatch(t)
	w.m.putSecret(t, text("A"))
	w.m.before = failing("get", errForbidden)
	if err := w.event(); !errors.Is(err, errForbidden) || errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("got %v", err)
	}
	w.m.before = nil
	if err := w.event(); err != nil {
		t.Error(err)
	}
	w.delivered("A")
}

func TestNoDeliveryBeginsAfterTheEnd(t *testing.T) {
	m := newMemory()
	m.putSecret(t, text("A"))
	c := gossipkeys.NewSecretWatcher(m, namespace).Watch(func(gossipkeys.Keys) { t.Error("delivered") })
	ctx, cancel := context.WithCancel(t.Context())
	m.after = func(string, any) error { cancel(); return nil } // ends during the read
	if _, err := c.Reconciler.Reconcile(ctx, reconcile.Request{}); err != nil {
		t.Error(err)
	}
}

func TestSecondWatchPanics(t *testing.T) {
	w := gossipkeys.NewSecretWatcher(newMemory(), namespace)
	w.Watch(func(gossipkeys.Keys) {})
	defer func() {
		if message, _ := recover().(string); !strings.Contains(message, "Watch called twice") {
			t.Errorf("panic: %q", message)
		}
	}()
	w.Watch(func(gossipkeys.Keys) {})
}

func TestWatcherController(t *testing.T) {
	w := newWatch(t, gossipkeys.WithSecret("mine", ""))
	if got := w.controller.Watches; len(got) != 1 || got[0].Name != "mine" || got[0].Namespace != namespace {
		t.Errorf("the watch needs the exact name, or RBAC refuses it: %+v", got)
	}
	if len(w.controller.Start) != 0 {
		t.Error("before the Secret exists there is nothing to deliver")
	}
	if got := w.controller.Backoff; got.Base != time.Second || got.Max != time.Minute {
		t.Errorf("backoff: %+v", got)
	}
}

// Versions come also when the keys are old news, so that a node can say that
// it has seen them.
func TestVersions(t *testing.T) {
	w := newWatch(t)
	generation := func(g string) {
		w.m.change(t, func(s *corev1.Secret) {
			s.Annotations = map[string]string{gossipkeys.GenerationAnnotation: g}
		})
		if err := w.event(); err != nil {
			t.Error(err)
		}
	}
	w.set(text("A"))
	generation("7")
	generation("seven")
	generation("-1")
	w.set("garbage")
	w.m.deleteSecret()
	w.set(text("A"))
	want := []gossipkeys.Version{{UID: "uid-1"}, {UID: "uid-1", Generation: 7}, {UID: "uid-1"}, {UID: "uid-1"}, {UID: "uid-2"}}
	if diff := cmp.Diff(want, w.versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	w.delivered("A")
}

// A process that restarts against a lagging API server first sees a list from
// the past. With a live start it begins at the present, and waits for the cache
// to get there.
func TestLiveStart(t *testing.T) {
	live := newMemory()
	w := newWatch(t, gossipkeys.WithLiveStart(live))
	live.putSecret(t, text("A"))
	w.m.putSecret(t, text("A"))
	live.putSecret(t, text("AB"))
	live.putSecret(t, text("BA"))

	live.before = failing("get", errTimeout)
	if err := w.event(); err == nil {
		t.Error("without a live answer there is no start")
	}
	w.delivered()
	live.before = nil
	if err := w.event(); err != nil {
		t.Error(err)
	}
	w.delivered("BA")

	w.set(text("AB")) // the cache comes by the list in between
	w.delivered("BA")
	w.set(text("BA"))
	w.delivered("BA")
	w.set(text("B"))
	w.delivered("BA", "B")

	gets := 0
	for _, call := range live.calls {
		if call == "get secret" {
			gets++
		}
	}
	if gets != 2 {
		t.Errorf("%d live reads, want the failed one and the good one", gets)
	}
}

func TestLiveStartWithoutSecretWaits(t *testing.T) {
	live := newMemory()
	w := newWatch(t, gossipkeys.WithLiveStart(live))
	w.set(text("A")) // deleted already, the cache does not know
	w.delivered()
	live.putSecret(t, text("B"))
	w.m.change(t, func(s *corev1.Secret) { s.UID = types.UID("other") })
	if err := w.event(); err != nil {
		t.Error(err)
	}
	w.delivered("B")
}
