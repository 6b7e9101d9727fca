package migration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/migration"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

var (
	_ encryption.Migrator = (*migration.Migrator)(nil)

	configMaps = schema.GroupResource{Resource: "configmaps"}
)

// kinds knows config maps.
type kinds struct{}

func (kinds) PreferredKind(_ context.Context, gr schema.GroupResource) (schema.GroupVersionKind, error) {
	if gr != configMaps {
		return schema.GroupVersionKind{}, fmt.Errorf("there is no resource %s", gr)
	}
	return corev1.SchemeGroupVersion.WithKind("ConfigMap"), nil
}

// server is the API server, as the migrator sees it.
type server struct {
	kube.Kube
	written map[string]int
	lists   int

	// before is called before each request; if it returns an error, that is the
	// answer.
	before func(verb, name string) error
}

func (s *server) ask(verb, name string) error {
	if s.before == nil {
		return nil
	}
	return s.before(verb, name)
}

func (s *server) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if err := s.ask("update", obj.GetName()); err != nil {
		return err
	}
	s.written[obj.GetName()]++
	return s.Kube.Update(ctx, obj, opts...)
}

func (s *server) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := s.ask("get", key.Name); err != nil {
		return err
	}
	return s.Kube.Get(ctx, key, obj, opts...)
}

func (s *server) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.lists++
	if err := s.ask("list", ""); err != nil {
		return err
	}
	return s.Kube.List(ctx, list, opts...)
}

// run makes n objects, and runs body in a process beside a Migrator.
func run(t *testing.T, n int, body func(ctx context.Context, env *cluster.Env, s *server, m *migration.Migrator)) {
	t.Helper()
	c := cluster.New(cluster.Config{
		Nodes: 1, Latency: engine.Constant(time.Millisecond),
		Engine: engine.Config{Source: engine.NewSeed(1), Horizon: time.Hour, Idle: engine.IdleAllowed},
	})
	for i := range n {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("c-%04d", i)}}
		if err := c.Admin().Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	ended := false
	c.Node("node-1").Process(cluster.ProcessSpec{Name: "controller", Main: func(ctx context.Context, env *cluster.Env) {
		s := &server{Kube: env.Kube, written: map[string]int{}}
		m := migration.New(migration.Config{Live: s, Kinds: kinds{}, Clock: env.Clock, Log: env.Log})
		running, cancel := env.Clock.WithCancel(ctx)
		group := env.Clock.NewGroup(running)
		group.Go("migrator", m.Run)
		body(running, env, s, m)
		cancel()
		group.Wait()
		ended = true
		_ = env.Clock.Sleep(ctx, 2*time.Hour) // a process that ends is started again
	}})
	if res := c.Run(); res.Err != nil {
		t.Error(res.Err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Error("the migrator did not end")
	}
}

// await asks until the run for key 1 has finished, and returns its result.
func await(ctx context.Context, t *testing.T, env *cluster.Env, m *migration.Migrator) error {
	t.Helper()
	for range 1000 {
		finished, result, at, err := m.EnsureMigration(ctx, configMaps, "1")
		if err != nil {
			t.Error(err)
		}
		if finished {
			if at.IsZero() {
				t.Error("it has finished at no time")
			}
			return result
		}
		if err := env.Clock.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	t.Error("it does not finish")
	return nil
}

// TestEveryObjectIsWritten once, over several pages, and changes nothing.
func TestEveryObjectIsWritten(t *testing.T) {
	const n = 2*migration.PageSize + 7
	run(t, n, func(ctx context.Context, env *cluster.Env, s *server, m *migration.Migrator) {
		if err := await(ctx, t, env, m); err != nil {
			t.Error(err)
		}
		// The bootstrap's own config maps are written as well.
		ours := 0
		for name, times := range s.written {
			if strings.HasPrefix(name, "c-") {
				ours++
			}
			if times != 1 {
				t.Errorf("%s was written %d times", name, times)
			}
		}
		if ours != n || s.lists != 3 {
			t.Errorf("%d objects written, %d pages read; want %d and 3", ours, s.lists, n)
		}
	})
}

// TestWhatPasses is tried again, and never at once.
func TestWhatPasses(t *testing.T) {
	failures := []error{
		apierrors.NewTooManyRequests("slow down", 0), apierrors.NewTooManyRequests("slow down", 7),
		apierrors.NewServerTimeout(configMaps, "update", 0), io.EOF,
	}
	run(t, 3, func(ctx context.Context, env *cluster.Env, s *server, m *migration.Migrator) {
		left, last := failures, time.Time{}
		var gaps []time.Duration
		s.before = func(_, name string) error {
			if name != "c-0001" || len(left) == 0 {
				return nil
			}
			if !last.IsZero() {
				gaps = append(gaps, env.Clock.Since(last))
			}
			err := left[0]
			left, last = left[1:], env.Clock.Now()
			return err
		}
		if err := await(ctx, t, env, m); err != nil {
			t.Error(err)
		}
		if len(left) > 0 || s.written["c-0001"] != 1 {
			t.Errorf("%d failures left, written %d times", len(left), s.written["c-0001"])
		}
		if fmt.Sprint(gaps) != "[1s 7s 4s]" {
			t.Errorf("it waited %v", gaps)
		}
	})
}

// TestWhatDoesNotPass fails the run, and names the object.
func TestWhatDoesNotPass(t *testing.T) {
	cannot := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "gone")
	for _, c := range []struct {
		name   string
		before func(verb, name string) error
		want   string
	}{
		{"forbidden", func(verb, _ string) error {
			if verb == "update" {
				return apierrors.NewForbidden(configMaps, "c-0000", errors.New("no"))
			}
			return nil
		}, "write configmaps default/c-0000: configmaps \"c-0000\" is forbidden: no"},
		{"undecryptable", func(verb, _ string) error {
			if verb == "list" {
				return apierrors.NewInternalError(errors.New("no matching key"))
			}
			return nil
		}, "list configmaps: Internal error occurred: no matching key"},
		{"in a namespace that is gone", func(verb, name string) error {
			if verb == "update" && name == "c-0000" {
				return cannot
			}
			return nil
		}, "write configmaps default/c-0000: it exists, but cannot be written: delete it, or remove what refuses it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, 1, func(ctx context.Context, env *cluster.Env, s *server, m *migration.Migrator) {
				s.before = c.before
				if err := await(ctx, t, env, m); err == nil || !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("error %v, want %s", err, c.want)
				}
			})
		})
	}
}

// TestGoneIsGone: an object that was deleted meanwhile needs no rewriting.
func TestGoneIsGone(t *testing.T) {
	run(t, 2, func(ctx context.Context, env *cluster.Env, s *server, m *migration.Migrator) {
		s.before = func(verb, name string) error {
			if verb == "update" && name == "c-0001" {
				s.before = nil
				gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
				return errors.Join(s.Delete(ctx, gone), apierrors.NewNotFound(configMaps, name))
			}
			return nil
		}
		if err := await(ctx, t, env, m); err != nil {
			t.Error(err)
		}
	})
}

// TestSomebodyElseWrites an object meanwhile: what they wrote is written once more, and
// if they write again, that is theirs to answer for.
func TestSomebodyElseWrites(t *testing.T) {
	for _, times := range []int{1, 5} {
		run(t, 3, func(ctx context.Context, env *cluster.Env, s *server, m *migration.Migrator) {
			left := times
			s.before = func(verb, name string) error {
				if verb != "update" || name != "c-0001" || left == 0 {
					return nil
				}
				left--
				o := &corev1.ConfigMap{}
				if err := s.Kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, o); err != nil {
					return err
				}
				o.Data = map[string]string{"left": fmt.Sprint(left)}
				return s.Kube.Update(ctx, o)
			}
			if err := await(ctx, t, env, m); err != nil {
				t.Error(err)
			}
			if got := s.written["c-0001"]; got != 2 {
				t.Errorf("written %d times where somebody else writes %d times, want 2", got, times)
			}
			o := &corev1.ConfigMap{}
			if err := s.Kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "c-0001"}, o); err != nil || o.Data["left"] != fmt.Sprint(left) {
				t.Errorf("what they wrote is %v, error %v", o.Data, err)
			}
		})
	}
}

// TestNotAllAtOnce: attempts are spread in time.
func TestNotAllAtOnce(t *testing.T) {
	run(t, 1, func(ctx context.Context, env *cluster.Env, s *server, _ *migration.Migrator) {
		var gaps []time.Duration
		last := time.Time{}
		s.before = func(verb, _ string) error {
			if verb != "list" || len(gaps) == 4 {
				return nil
			}
			if !last.IsZero() {
				gaps = append(gaps, env.Clock.Since(last))
			}
			last = env.Clock.Now()
			return apierrors.NewTooManyRequests("slow down", 0)
		}
		m := migration.New(migration.Config{Live: s, Kinds: kinds{}, Clock: env.Clock, Entropy: env.Entropy, Log: env.Log})
		running, cancel := env.Clock.WithCancel(ctx)
		group := env.Clock.NewGroup(running)
		group.Go("another migrator", m.Run)
		if err := await(ctx, t, env, m); err != nil {
			t.Error(err)
		}
		cancel()
		group.Wait()
		for i, gap := range gaps {
			if least := time.Second << i; gap < least || gap > least*3/2+time.Second || gap == least {
				t.Errorf("attempt %d came after %s, want %s to %s", i+2, gap, least, least*3/2)
			}
		}
	})
}

// TestAListExpires, and is gone on with, so that nothing is passed over.
func TestAListExpires(t *testing.T) {
	const n = migration.PageSize + 3
	run(t, n, func(ctx context.Context, env *cluster.Env, s *server, m *migration.Migrator) {
		s.before = func(verb, _ string) error {
			if verb == "list" && s.lists == 2 {
				env.Cluster().Store().Compact(0)
			}
			return nil
		}
		if err := await(ctx, t, env, m); err != nil {
			t.Error(err)
		}
		if got := s.written[fmt.Sprintf("c-%04d", n-1)]; got != 1 {
			t.Errorf("the last object was written %d times", got)
		}
	})
}

// TestAnotherKey ends the run before, and begins anew; a run that is not wanted any
// more ends too.
func TestAnotherKey(t *testing.T) {
	run(t, 50, func(ctx context.Context, env *cluster.Env, s *server, m *migration.Migrator) {
		stop := errors.New("stopped")
		s.before = func(verb, name string) error {
			if verb == "update" && name == "c-0030" {
				return env.Clock.Sleep(ctx, time.Minute)
			}
			return nil
		}
		if finished, _, _, _ := m.EnsureMigration(ctx, configMaps, "0"); finished {
			t.Error("finished at once")
		}
		_ = env.Clock.Sleep(ctx, time.Second)
		s.before = nil
		if err := await(ctx, t, env, m); err != nil {
			t.Error(err)
		}
		if got := s.written["c-0049"]; got < 1 {
			t.Errorf("the last object was written %d times", got)
		}
		if err := m.PruneMigration(ctx, configMaps); err != nil {
			t.Error(err)
		}
		if err := m.PruneMigration(ctx, configMaps); err != nil {
			t.Error(err)
		}
		s.before = func(string, string) error { return stop }
		if err := await(ctx, t, env, m); !errors.Is(err, stop) {
			t.Errorf("a run that was pruned is not made anew: %v", err)
		}
	})
}
