package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/live"
)

// session is a live cluster with a client.
type session struct {
	t      *testing.T
	w      *sim.World
	d      *live.Driver
	caller apiserver.Caller
	kept   bytes.Buffer
	stop   context.CancelFunc
	result chan error
}

// world is a cluster of two nodes with agents, and a process that is never idle.
func world(t *testing.T) *sim.World {
	t.Helper()
	w, err := sim.Open(sim.Options{Cluster: cluster.Config{Nodes: 2, Agents: &cluster.Agents{}}}, 7, func(w *sim.World) {
		w.ControlPlane().Process(cluster.ProcessSpec{Name: "busy", Main: func(ctx context.Context, env *cluster.Env) {
			for env.Clock.Sleep(ctx, 300*time.Millisecond) == nil {
				var list corev1.NodeList
				_ = env.Kube.List(ctx, &list)
			}
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func start(t *testing.T, o live.Options) *session {
	t.Helper()
	s := &session{t: t, w: world(t), result: make(chan error, 1)}
	journal, err := live.NewJournal(&s.kept, map[string]int{"seed": 7})
	if err != nil {
		t.Fatal(err)
	}
	o.Journal = journal
	s.d = live.New(s.w.Cluster, o)
	s.caller = s.d.Caller(func(r *apiserver.Request) string { return r.UserAgent })
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	t.Cleanup(stop)
	go func() { s.result <- s.d.Run(ctx) }()
	return s
}

// end stops the session and returns its summary.
func (s *session) end() live.State {
	s.t.Helper()
	s.stop()
	if err := <-s.result; err != nil {
		s.t.Fatal(err)
	}
	return s.d.Summary()
}

func (s *session) create(name string) error {
	_, err := s.caller.Call(context.Background(), &apiserver.Request{
		Verb: apiserver.Create, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: "default", UserAgent: "kubectl",
		Body: fmt.Appendf(nil, `{"metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"i"}]}}`, name),
	})
	return err
}

func (s *session) phase(name string) corev1.PodPhase {
	s.t.Helper()
	resp, err := s.caller.Call(context.Background(), &apiserver.Request{
		Verb: apiserver.Get, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: "default", Name: name, Shared: true,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.Object.(*corev1.Pod).Status.Phase
}

func (s *session) step(by time.Duration) {
	s.t.Helper()
	if err := s.d.Step(context.Background(), by); err != nil {
		s.t.Fatal(err)
	}
}

func TestClientsAreAnsweredWhileTimeStandsStill(t *testing.T) {
	s := start(t, live.Options{Paused: true})
	if err := s.create("web"); err != nil {
		t.Fatal(err)
	}
	if got := s.phase("web"); got != corev1.PodPending {
		t.Errorf("the pod is %s at once", got)
	}
	s.step(time.Minute)
	if got := s.phase("web"); got != corev1.PodRunning {
		t.Errorf("the pod is %s after a minute", got)
	}
	got := s.end()
	if got.Elapsed != time.Minute || got.Requests != 3 || !got.Paused {
		t.Errorf("summary: %+v", got)
	}
}

// At the highest speed virtual time does not wait for anybody, and who asks is
// answered all the same.
func TestMaxSpeed(t *testing.T) {
	s := start(t, live.Options{Speed: live.Max})
	if err := s.create("web"); err != nil {
		t.Fatal(err)
	}
	for s.phase("web") != corev1.PodRunning { // soon, or the test times out
	}
	got := s.end()
	if got.Elapsed < time.Second {
		t.Errorf("%v of virtual time in which the pod has started", got.Elapsed)
	}
}

func TestAWatchSeesWhatHappensInside(t *testing.T) {
	s := start(t, live.Options{Paused: true})
	limit := int64(1) // of real time; virtual time has no say
	stream, err := s.caller.OpenWatch(context.Background(), &apiserver.Request{
		Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: "default", TimeoutSeconds: &limit,
	})
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{}, 1)
	stream.OnReady(func() {
		select {
		case ready <- struct{}{}:
		default:
		}
	})
	if err := s.create("web"); err != nil {
		t.Fatal(err)
	}
	s.step(time.Minute)
	var seen []string
	for len(seen) < 3 {
		ev, ok := stream.Next()
		if !ok {
			<-ready
			continue
		}
		p := ev.Object.(*corev1.Pod)
		seen = append(seen, fmt.Sprintf("%s %s %q", ev.Type, p.Status.Phase, p.Spec.NodeName))
	}
	want := `[ADDED Pending "" MODIFIED Pending "node-1" MODIFIED Running "node-1"]`
	if fmt.Sprint(seen) != want {
		t.Errorf("seen:\n%v\nwant:\n%v", seen, want)
	}
	stream.Stop()
	s.end()
}

// Whatever clients do side by side, at whatever speed, the journal makes the same run
// again.
func TestReplay(t *testing.T) {
	s := start(t, live.Options{Speed: 1000})
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for i := range 25 {
				if err := s.create(fmt.Sprintf("pod-%d-%d", c, i)); err != nil && !apierrors.IsTooManyRequests(err) {
					t.Error(err)
				}
				if i == 10 && c == 0 {
					rate := cluster.Fault{Kind: "api-error-429", Rate: 300_000}
					on, err := s.d.Inject(context.Background(), rate)
					if err != nil {
						t.Error(err)
					}
					s.step(time.Second)
					if was, err := s.d.Clear(context.Background(), on.ID); !was || err != nil {
						t.Errorf("clear: %v, %v", was, err)
					}
				}
			}
		})
	}
	clients.Wait()
	want := s.end()
	for range 2 {
		r, err := live.NewReader(bytes.NewReader(s.kept.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var begin struct{ Seed int }
		if err := r.World(&begin); err != nil || begin.Seed != 7 {
			t.Fatalf("world: %+v, %v", begin, err)
		}
		end, err := r.Replay(world(t).Cluster)
		if err != nil {
			t.Fatal(err)
		}
		if end.Hash != fmt.Sprintf("%016x", want.Hash) || end.Steps != want.Steps {
			t.Errorf("replayed to %+v, the run ended with %+v", end, want)
		}
	}
	// Another input is another run.
	changed := bytes.Replace(s.kept.Bytes(), []byte(`"visitor":"kubectl"`), []byte(`"visitor":"kubectx"`), 1)
	r, err := live.NewReader(bytes.NewReader(changed))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Replay(world(t).Cluster); !errors.Is(err, live.ErrNotRepeated) {
		t.Errorf("a changed journal: %v", err)
	}
	// A run that was killed has no end to compare with.
	cut := s.kept.Bytes()[:bytes.LastIndex(bytes.TrimSpace(s.kept.Bytes()), []byte("\n"))-5]
	if r, err = live.NewReader(bytes.NewReader(cut)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Replay(world(t).Cluster); err != nil {
		t.Errorf("a journal that breaks off: %v", err)
	}
}

// A request is kept with everything that it asks for.
func TestRequestsAreKept(t *testing.T) {
	grace := int64(3)
	all := live.Request{Request: apiserver.Request{
		Verb: apiserver.Create, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: "default",
		Object: &corev1.Pod{}, User: &apiserver.User{Name: "jane", Groups: []string{"a"}}, TimeoutSeconds: &grace,
		Body: []byte{0, 1, 255},
	}}
	all.Object.SetName("x")
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	again, err := live.Restore(text)
	if err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, second) || again.Object.(*corev1.Pod).Name != "x" {
		t.Errorf("kept:\n%s\nrestored and kept again:\n%s", text, second)
	}
}

func TestJournalsThatCannotBeRead(t *testing.T) {
	const head = `{"format":"seedbed.dev/live-journal/v1","world":{}}` + "\n"
	for text, want := range map[string]string{
		"":                            "read a journal: EOF",
		"apiVersion: v1\n":            `not a journal of a live run: the first line does not say "seedbed.dev/live-journal/v1"`,
		head + "{\n":                  "line 2 of the journal: unexpected end of JSON input",
		head + `{"at":"soon"}` + "\n": "line 2 of the journal: json: cannot unmarshal string",
	} {
		r, err := live.NewReader(strings.NewReader(text))
		if err == nil {
			_, err = r.Replay(world(t).Cluster)
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A process that panics ends the run, and clients hear that it has ended.
func TestAPanicEndsTheRun(t *testing.T) {
	w, err := sim.Open(sim.Options{}, 1, func(w *sim.World) {
		w.ControlPlane().Process(cluster.ProcessSpec{Name: "rash", Main: func(ctx context.Context, env *cluster.Env) {
			_ = env.Clock.Sleep(ctx, time.Second)
			panic("no more")
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	d := live.New(w.Cluster, live.Options{Speed: live.Max})
	failed := d.Run(context.Background())
	var panicked *engine.PanicError
	if !errors.As(failed, &panicked) || !strings.HasPrefix(failed.Error(), "after 1s of virtual time: ") {
		t.Errorf("the run ends with %v", failed)
	}
	if _, err := d.Caller(func(*apiserver.Request) string { return "x" }).Call(context.Background(), &apiserver.Request{}); !errors.Is(err, live.ErrEnded) {
		t.Errorf("a client gets %v", err)
	}
	_ = w.Close()
}
