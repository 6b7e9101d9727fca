package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

// TestAClientThatNeverReads opens a watch over a socket and does not read. The
// server goes on, holds no more than its history for it, and lets go of it when
// the client hangs up.
func TestAClientThatNeverReads(t *testing.T) {
	server := apiserver.New(apiserver.Options{History: 64})
	h := rest.New(server)
	socket := httptest.NewServer(h)
	defer socket.Close()
	conn, err := net.Dial("tcp", socket.Listener.Addr().String())
	must(t, err)
	_, err = fmt.Fprintf(conn, "GET %s?watch=true HTTP/1.1\r\nHost: x\r\n\r\n", maps)
	must(t, err)

	client := kubernetes.NewForConfigOrDie(h.Config()).CoreV1().ConfigMaps("default")
	cm, err := client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	must(t, err)
	large := strings.Repeat("x", 100_000)
	write := func(n int) uint64 {
		for i := range n {
			cm.Data = map[string]string{"k": large, "i": fmt.Sprint(i)}
			cm, err = client.Update(t.Context(), cm, metav1.UpdateOptions{})
			must(t, err)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := write(400) // 40 MB: more than sockets and the history take
	after := write(1200)
	if grown := int64(after) - int64(before); grown > 30<<20 {
		t.Errorf("120 MB of events nobody reads take %d MB", grown>>20)
	}
	must(t, conn.Close())
}

// countedWidget is a custom resource that counts how often it is encoded.
type countedWidget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

var encoded atomic.Int64

func (w *countedWidget) MarshalJSON() ([]byte, error) {
	encoded.Add(1)
	type plain countedWidget
	return json.Marshal((*plain)(w))
}

func (w *countedWidget) DeepCopyObject() apiruntime.Object {
	out := &countedWidget{TypeMeta: w.TypeMeta}
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

// TestEventsAreEncodedOnce opens many watches of one format and counts how often
// their events are encoded.
func TestEventsAreEncodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
		scheme := apiruntime.NewScheme()
		must(t, clientscheme.AddToScheme(scheme))
		scheme.AddKnownTypeWithName(kind, &countedWidget{})
		store := apiserver.NewStore(apiserver.Options{Scheme: scheme})
		must(t, store.Register(apiserver.KindInfo{GVK: kind}))
		server := apiserver.NewServer(store, "test")
		h := rest.New(server)
		const widgets = "/apis/example.com/v1/namespaces/default/widgets"
		create := func(name string) {
			_, err := server.Do(&apiserver.Request{
				Verb: apiserver.Create, Resource: kind.GroupVersion().WithResource("widgets"), Namespace: "default",
				Object: &countedWidget{ObjectMeta: metav1.ObjectMeta{Name: name}},
			})
			must(t, err)
		}
		for i := range 30 {
			create(fmt.Sprint("before-", i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		var watches sync.WaitGroup
		lines := make([]int, 50)
		for i := range lines {
			resp, err := h.RoundTrip(get(widgets+"?watch=true", "application/json").WithContext(ctx))
			must(t, err)
			watches.Go(func() {
				defer resp.Body.Close()
				for events := bufio.NewScanner(resp.Body); events.Scan(); {
					lines[i]++
				}
			})
		}
		synctest.Wait()
		for i := range 20 {
			create(fmt.Sprint("after-", i))
			synctest.Wait()
		}
		cancel()
		watches.Wait()
		for i, n := range lines {
			if n != 50 {
				t.Errorf("watch %d saw %d events, want 50", i, n)
			}
		}
		// Once for all watches, and twice to work out who owns the fields.
		if n := encoded.Load(); n != 3*50 {
			t.Errorf("50 objects were encoded %d times for 50 watches, want %d", n, 3*50)
		}
	})
}

// TestWatchesThatEndAreLetGo counts the watches of a server.
func TestWatchesThatEndAreLetGo(t *testing.T) {
	server := apiserver.New(apiserver.Options{})
	h := rest.New(server)
	socket := httptest.NewServer(h)
	defer socket.Close()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, socket.URL+maps+"?watch=true", nil)
		must(t, err)
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		cancel()
		resp.Body.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); server.Watching() > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d watches are left", server.Watching())
		}
		runtime.Gosched()
	}
}

// TestTheGateIsTheOnlyWayIn counts what is inside the gate at once, while many
// goroutines make requests of every kind.
func TestTheGateIsTheOnlyWayIn(t *testing.T) {
	server := apiserver.New(apiserver.Options{RBAC: true})
	work := make(chan func())
	done := make(chan struct{})
	inside := false // touched by one goroutine only: the race detector would tell
	go func() {
		defer close(done)
		for fn := range work {
			inside = true
			fn()
			inside = false
		}
	}()
	gate := func(ctx context.Context, fn func()) error {
		finished := make(chan struct{})
		select {
		case work <- func() { fn(); close(finished) }:
			<-finished
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h := rest.New(server, rest.WithGate(gate))
	var requests sync.WaitGroup
	for i := range 8 {
		requests.Go(func() {
			name := fmt.Sprint("a", i)
			for _, r := range []*http.Request{
				httptest.NewRequest(http.MethodPost, maps, strings.NewReader(`{"metadata":{"name":"`+name+`"}}`)),
				httptest.NewRequest(http.MethodGet, maps+"/"+name, nil),
				httptest.NewRequest(http.MethodGet, maps+"?watch=true&timeoutSeconds=1", nil),
				httptest.NewRequest(http.MethodGet, "/apis", nil),
				httptest.NewRequest(http.MethodGet, "/openapi/v3", nil),
				httptest.NewRequest(http.MethodDelete, maps+"/"+name, nil),
			} {
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, r)
				if rec.Code >= 400 {
					t.Errorf("%s %s: %d %s", r.Method, r.URL, rec.Code, rec.Body)
				}
			}
		})
	}
	requests.Wait()
	close(work)
	<-done
	if inside {
		t.Error("somebody is still inside")
	}
}

// TestAClosedGate: when there is no server any more, clients are told so.
func TestAClosedGate(t *testing.T) {
	h := rest.New(apiserver.New(apiserver.Options{}), rest.WithGate(func(context.Context, func()) error { return errors.New("the simulation has ended") }))
	for _, path := range []string{maps, maps + "?watch=true", "/apis", "/openapi/v3"} {
		resp, data := fetch(t, h, get(path, ""))
		if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(data), "the simulation has ended") {
			t.Errorf("%s: %s: %s", path, resp.Status, data)
		}
	}
	_, err := kubernetes.NewForConfigOrDie(h.Config()).CoreV1().Pods("x").Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{})
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("got %v", err)
	}
}
