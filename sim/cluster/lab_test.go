package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// lab is a cluster in which every way takes a millisecond and every choice has
// its simplest outcome, but for those that a test asks for. What its tasks say
// is the test's story.
type lab struct {
	t     *testing.T
	c     *cluster.Cluster
	lines []string
}

// pick is one choice that is not the simplest.
func pick(label string, nth, value uint64) engine.Pick {
	return engine.Pick{Label: label, Nth: nth, Value: value}
}

// strikes is a pick that makes a fault strike.
func strikes(label string, nth uint64) engine.Pick { return pick("fault/"+label, nth, 1) }

func newLab(t *testing.T, cfg cluster.Config, picks ...engine.Pick) *lab {
	t.Helper()
	cfg.Engine.Source = engine.NewReplay(engine.Schedule{Picks: picks})
	cfg.Engine.Idle = engine.IdleAllowed
	cfg.Latency = engine.Constant(time.Millisecond)
	if cfg.Nodes == 0 {
		cfg.Nodes = 2
	}
	l := &lab{t: t, c: cluster.New(cfg)}
	t.Cleanup(func() {
		if err := l.c.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// say writes a line with the time in milliseconds.
func (l *lab) say(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf("%d: ", l.c.Engine().Elapsed().Milliseconds())+fmt.Sprintf(format, args...))
}

// agent runs main as process node-1/agent.
func (l *lab) agent(main func(ctx context.Context, env *cluster.Env)) *cluster.Process {
	return l.c.Node("node-1").Process(cluster.ProcessSpec{Name: "agent", Main: main})
}

// at runs f at a time.
func (l *lab) at(d time.Duration, f func()) { l.c.Engine().After(d, func(any) { f() }, nil) }

// run runs for d and compares the story.
func (l *lab) run(d time.Duration, want ...string) {
	l.t.Helper()
	if res := l.c.Engine().RunUntil(d); res.Err != nil {
		l.t.Fatalf("%+v", res.Err)
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(l.lines, "\n")); diff != "" {
		l.t.Errorf("story (-want +got):\n%s", diff)
	}
}

// create puts a ConfigMap into the store.
func (l *lab) create(name, value string) {
	l.t.Helper()
	l.must(l.c.Admin().Create(context.Background(), object(name, value)))
}

// set changes it.
func (l *lab) set(name, value string) {
	l.t.Helper()
	o := l.get(name)
	o.Data["v"] = value
	l.must(l.c.Admin().Update(context.Background(), o))
}

func (l *lab) delete(name string) {
	l.t.Helper()
	l.must(l.c.Admin().Delete(context.Background(), object(name, "")))
}

func (l *lab) get(name string) *corev1.ConfigMap {
	l.t.Helper()
	var o corev1.ConfigMap
	l.must(l.c.Admin().Get(context.Background(), keyOf(name), &o))
	return &o
}

func (l *lab) exists(name string) bool {
	return l.c.Admin().Get(context.Background(), keyOf(name), &corev1.ConfigMap{}) == nil
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Namespace: "default", Name: name} }

func object(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"v": value}},
		Data:       map[string]string{"v": value},
	}
}

// result is the short form of an error.
func result(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}
