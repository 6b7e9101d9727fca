package cluster_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// ask lets a visitor create a ConfigMap and says what comes of it.
func (l *lab) ask(v *cluster.Visitor, name string) {
	_, err := v.Call(&apiserver.Request{
		Verb: apiserver.Create, Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), Namespace: "default",
		Object: object(name, "1"),
	})
	switch {
	case err == nil:
		l.say("%s is created", name)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		l.say("%s: the connection breaks: %v", name, errors.Unwrap(errors.Unwrap(errors.Unwrap(err))))
	default:
		l.say("%s: %v", name, err)
	}
}

// A visitor is answered in the instant in which it asks, and faults strike it.
func TestVisitorsSufferTheFaultsOfTheAPI(t *testing.T) {
	l := newLab(t, cluster.Config{}, strikes("api-error-429/outside/kubectl", 0), strikes("api-loss-response/outside/kubectl", 1))
	v := l.c.Visitor("kubectl")
	l.at(time.Second, func() {
		l.ask(v, "calm")
		l.c.StartFault(cluster.Fault{Kind: "process-crash", Rate: 1_000_000})
		l.c.StartFault(cluster.Fault{Kind: "api-latency", Rate: 1_000_000})
		l.ask(v, "unharmed")
	})
	l.at(2*time.Second, func() {
		l.c.StartFault(cluster.Fault{Kind: "api-error-429", Target: "outside/*"})
		l.c.StartFault(cluster.Fault{Kind: "api-loss-response", Target: "outside/kubectl"})
		l.ask(v, "busy")
		l.ask(v, "lost")
	})
	l.at(3*time.Second, func() {
		l.c.Instances()[0].Stop()
		l.ask(v, "down")
		l.c.Instances()[0].Start()
		l.ask(v, "up")
	})
	l.run(4*time.Second,
		"1000: calm is created",
		"1000: unharmed is created",
		"2000: busy: the server has received too many requests and has asked us to try again later",
		"2000: lost: the connection breaks: connection reset by peer",
		"3000: down: the connection breaks: connection refused",
		"3000: up is created",
	)
	if l.get("lost") == nil {
		t.Error("what was carried out is not there")
	}
}

// The watch of a visitor sees what happens, and ends with the API server.
func TestTheWatchOfAVisitor(t *testing.T) {
	l := newLab(t, cluster.Config{})
	limit := int64(1)
	w, err := l.c.Visitor("kubectl").OpenWatch(&apiserver.Request{
		Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), Namespace: "default",
		ResourceVersion: "1", TimeoutSeconds: &limit,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.at(2*time.Second, func() {
		l.create("new", "1")
		ev, ok := w.Next()
		if !ok || ev.Type != watch.Added {
			t.Errorf("the watch shows %v, %v", ev, ok)
		}
		l.c.Instances()[0].Stop()
		if !w.Ended() {
			t.Error("the watch goes on although the API server is down")
		}
	})
	l.run(3 * time.Second)
}

// What comes from outside is part of the run: another request is another run, and
// the trace does not show what the body holds.
func TestInputsAreTraced(t *testing.T) {
	run := func(value string) (uint64, string) {
		var told strings.Builder
		l := newLab(t, cluster.Config{Engine: engine.Config{Trace: engine.TraceFull, Sink: func(r engine.Record) {
			told.WriteString(r.Kind + " " + r.Actor + " " + r.Verb + " " + r.Object + " " + r.Detail + "\n")
		}}})
		l.at(time.Second, func() {
			_, err := l.c.Visitor("kubectl").Call(&apiserver.Request{
				Verb: apiserver.Create, Resource: corev1.SchemeGroupVersion.WithResource("secrets"), Namespace: "default",
				Body: []byte(`{"metadata":{"name":"s"},"stringData":{"password":"` + value + `"}}`),
			})
			l.must(err)
		})
		return l.c.Engine().RunTo(2 * time.Second).Hash, told.String()
	}
	first, told := run("hunter2")
	if again, _ := run("hunter2"); again != first {
		t.Error("the same input gives another hash")
	}
	if other, _ := run("hunter3"); other == first {
		t.Error("another input gives the same hash")
	}
	if !strings.Contains(told, "input outside/kubectl create secrets/default") || strings.Contains(told, "hunter2") {
		t.Errorf("trace:\n%s", told)
	}
}

func TestInjectAndClear(t *testing.T) {
	l := newLab(t, cluster.Config{Profile: cluster.Profile{CeaseAt: time.Second}}, strikes("api-error-500/outside/kubectl", 0))
	l.at(2*time.Second, func() {
		if _, err := l.c.Inject(cluster.Fault{Kind: "earthquake"}); err == nil {
			t.Error("an unknown fault is injected")
		}
		f, err := l.c.Inject(cluster.Fault{Kind: "api-error-500", Rate: 1_000_000})
		l.must(err)
		l.ask(l.c.Visitor("kubectl"), "struck")
		if active := l.c.ActiveFaults(); len(active) != 1 || active[0] != f {
			t.Errorf("active: %+v", active)
		}
		if !l.c.Clear(f.ID) || l.c.Clear(f.ID) || len(l.c.ActiveFaults()) != 0 {
			t.Error("a fault is cleared once")
		}
		l.ask(l.c.Visitor("kubectl"), "spared")
	})
	l.run(3*time.Second, "2000: struck: etcdserver: request timed out", "2000: spared is created")
}
