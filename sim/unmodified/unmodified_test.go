package unmodified_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/oracle"
	"github.com/seedbed-sim/seedbed/sim/unmodified"
)

// fleet keeps as many Pods as a ConfigMap asks for. It has the classic fault: it counts
// the Pods in its cache, and creates what is missing under generated names.
type fleet struct{ client.Client }

func (f *fleet) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var cm corev1.ConfigMap
	if err := f.Get(ctx, req.NamespacedName, &cm); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	want, err := strconv.Atoi(cm.Data["size"])
	if err != nil {
		return ctrl.Result{}, reconcile.TerminalError(err)
	}
	var pods corev1.PodList
	if err := f.List(ctx, &pods, client.InNamespace(req.Namespace), client.MatchingLabels{"fleet": req.Name}); err != nil {
		return ctrl.Result{}, err
	}
	for range want - len(pods.Items) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: req.Name + "-", Namespace: req.Namespace, Labels: map[string]string{"fleet": req.Name}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		if err := ctrl.SetControllerReference(&cm, pod, f.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := f.Create(ctx, pod); err != nil {
			return ctrl.Result{}, err
		}
	}
	if cm.Data["seen"] != cm.Data["size"] {
		cm.Data["seen"] = cm.Data["size"]
		return ctrl.Result{}, f.Update(ctx, &cm)
	}
	return ctrl.Result{RequeueAfter: 30 * time.Second}, nil
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}()

// startFleet is the main function of an operator as anybody writes it.
func startFleet(ctx context.Context, cfg *rest.Config) error {
	mgr, err := ctrl.NewManager(cfg, unmodified.Options(ctx, ctrl.Options{Scheme: scheme, Logger: logr.Discard()}))
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&corev1.Pod{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 3}).Complete(&fleet{mgr.GetClient()})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func fleets(w *unmodified.World) *cluster.Process {
	operator := w.Program(unmodified.Program{Name: "operator", Start: startFleet})
	for i := range 3 {
		w.At(time.Duration(5+i)*time.Second, func() {
			w.Create(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("f", i)}, Data: map[string]string{"size": "2"},
			})
		})
	}
	return operator
}

// tooFew reports that not all Pods are there.
func tooFew(w *unmodified.World) error {
	var pods corev1.PodList
	if err := w.Admin().List(context.Background(), &pods); err != nil {
		return err
	}
	if len(pods.Items) < 6 {
		return fmt.Errorf("%d pods", len(pods.Items))
	}
	return nil
}

// tooMany reports fleets with more Pods than they should have.
func tooMany(w *unmodified.World) error {
	var pods corev1.PodList
	if err := w.Admin().List(context.Background(), &pods); err != nil {
		return err
	}
	n := map[string]int{}
	for _, p := range pods.Items {
		if n[p.Labels["fleet"]]++; n[p.Labels["fleet"]] > 2 {
			return fmt.Errorf("fleet %s has more than 2 pods", p.Labels["fleet"])
		}
	}
	return nil
}

// TestUnmodifiedManagerReplays: each seed twice has the same history, and what it
// should do is done.
func TestUnmodifiedManagerReplays(t *testing.T) {
	o := sim.Options{Seeds: 20, Twice: 20, Horizon: 2 * time.Minute, Artifacts: sim.NoArtifacts}
	unmodified.Check(t, o, func(w *unmodified.World) {
		fleets(w)
		w.Finally("filled", "users wait for their pods", func() error { return tooFew(w) })
	})
}

// TestUnmodifiedManagerIsCaught: the fault is found, and the history that shows it is
// small.
func TestUnmodifiedManagerIsCaught(t *testing.T) {
	o := sim.Options{Seeds: 200, Horizon: 2 * time.Minute, Artifacts: sim.NoArtifacts, Cluster: cluster.Config{Profile: sim.Stormy()}}
	rep, err := unmodified.Run(t, o, func(w *unmodified.World) {
		fleets(w)
		w.Always("no more than asked for", "each costs money", func() error { return tooMany(w) })
	})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Failure == nil {
		t.Fatal("nothing was found")
	}
	t.Logf("%s", rep.Failure)
	if v := rep.Failure.Small.Violation(); v == nil || v.Property != "no more than asked for" {
		t.Errorf("the small history breaks %v", v)
	}
	if n := len(sim.Story(rep.Failure.Small.Records)); n > 30 {
		t.Errorf("the story has %d lines", n)
	}
}

// TestUnmodifiedStormsReplay: with everything going wrong at once, the same seed is still
// the same history. SEEDBED_SEEDS says how many are tried.
func TestUnmodifiedStormsReplay(t *testing.T) {
	seeds := uint64(20)
	if n, err := strconv.ParseUint(os.Getenv(sim.EnvSeeds), 10, 64); err == nil {
		seeds = n
	}
	o := sim.Options{
		Seeds: seeds, Twice: int(seeds), Horizon: 3 * time.Minute, Artifacts: sim.NoArtifacts,
		Cluster: cluster.Config{Nodes: 1, APIServers: 2, Profile: sim.Stormy()},
	}
	unmodified.Check(t, o, func(w *unmodified.World) { fleets(w) })
}

// TestUnmodifiedProgramsAreJudged by oracles that know nothing of them.
func TestUnmodifiedProgramsAreJudged(t *testing.T) {
	profile := sim.Stormy()
	profile.CeaseAt = time.Minute
	o := sim.Options{
		Seeds: 10, Twice: -1, Horizon: 6 * time.Minute, Artifacts: sim.NoArtifacts,
		Cluster: cluster.Config{Nodes: 1, APIServers: 2, Profile: profile},
	}
	unmodified.Check(t, o, func(w *unmodified.World) {
		fleets(w)
		oracle.All(w.World, 2*time.Minute)
	})
}

// startLeader is a manager of which two run and one works: it notes in a ConfigMap who
// leads, every five seconds.
func startLeader(name string, leads *[]string) func(ctx context.Context, cfg *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		mgr, err := ctrl.NewManager(cfg, unmodified.Options(ctx, ctrl.Options{
			Scheme: scheme, Logger: logr.Discard(),
			LeaderElection: true, LeaderElectionID: "leader", LeaderElectionNamespace: "default",
		}))
		if err != nil {
			return err
		}
		err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			*leads = append(*leads, name)
			for ctx.Err() == nil {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "who"}}
				_, _ = controllerutil.CreateOrUpdate(ctx, mgr.GetClient(), cm, func() error { // the next one comes soon
					cm.Data = map[string]string{"leader": name}
					return nil
				})
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Second):
				}
			}
			return nil
		}))
		if err != nil {
			return err
		}
		return mgr.Start(ctx)
	}
}

// TestUnmodifiedLeadersTakeTurns: two replicas elect a leader; when it crashes the other
// leads, and the one that crashed comes back.
func TestUnmodifiedLeadersTakeTurns(t *testing.T) {
	o := sim.Options{Seeds: 10, Twice: 10, Horizon: 4 * time.Minute, Artifacts: sim.NoArtifacts}
	var leads []string
	unmodified.Check(t, o, func(w *unmodified.World) {
		leads = nil
		slow := cluster.Restart{Delay: 45 * time.Second} // longer than the Lease
		a := w.Program(unmodified.Program{Name: "a", Start: startLeader("a", &leads), Restart: slow})
		b := w.Program(unmodified.Program{Name: "b", Start: startLeader("b", &leads), Restart: slow})
		w.At(time.Minute, func() {
			if len(leads) != 1 {
				w.Fail(fmt.Errorf("after a minute these have led: %v", leads))
				return
			}
			map[string]*cluster.Process{"a": a, "b": b}[leads[0]].Crash()
		})
		w.Finally("the other leads", "a crash of the leader must not end the work", func() error {
			if len(leads) < 2 || leads[0] == leads[1] {
				return fmt.Errorf("these have led: %v", leads)
			}
			if a.Incarnation()+b.Incarnation() != 3 || !a.Alive() || !b.Alive() {
				return fmt.Errorf("a has started %d times, b %d times", a.Incarnation(), b.Incarnation())
			}
			return nil
		})
	})
}

// TestUnmodifiedProgramsAreLookedAfter: a program that decides by what is not told to it
// is found out, with the first step at which two runs of a seed part.
func TestUnmodifiedProgramsAreLookedAfter(t *testing.T) {
	start := func(ctx context.Context, cfg *rest.Config) error {
		c, err := client.New(cfg, client.Options{Scheme: scheme})
		if err != nil {
			return err
		}
		name := fmt.Sprint("draw-", rand.Uint64()) // of math/rand/v2, which nobody seeds
		if err := c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	o := sim.Options{Seeds: 1, Twice: 1, Horizon: time.Minute, Artifacts: sim.NoArtifacts}
	_, err := unmodified.Run(t, o, func(w *unmodified.World) { w.Program(unmodified.Program{Name: "gambler", Start: start}) })
	var differs *sim.NondeterminismError
	if !errors.As(err, &differs) || !strings.Contains(err.Error(), "create of configmaps/default by gambler") {
		t.Errorf("got %v", err)
	}
}

// TestUnmodifiedProgramsCrash: whatever a program is about when it crashes, nothing of it
// is seen any more, and it starts again.
func TestUnmodifiedProgramsCrash(t *testing.T) {
	o := sim.Options{Seeds: 20, Twice: 5, Horizon: 3 * time.Minute, Artifacts: sim.NoArtifacts}
	unmodified.Check(t, o, func(w *unmodified.World) {
		p := fleets(w)
		for i := range 5 {
			w.At(w.ChooseWithin(fmt.Sprint("crash ", i), 0, 60*time.Second), p.Crash)
		}
		w.Finally("filled", "users wait for their pods", func() error { return tooFew(w) })
	})
}

// TestUnmodifiedProgramsBeginInOrder: a manager looks every 100 ms whether its informers
// have listed, and listens then. What comes in between is told in an order, too.
func TestUnmodifiedProgramsBeginInOrder(t *testing.T) {
	o := sim.Options{Seeds: 10, Twice: 10, Horizon: time.Minute, Artifacts: sim.NoArtifacts}
	unmodified.Check(t, o, func(w *unmodified.World) {
		w.Program(unmodified.Program{Name: "operator", Start: startFleet})
		for i := range 5 {
			w.At(time.Duration(10+i)*time.Millisecond, func() {
				w.Create(&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("f", i)}, Data: map[string]string{"size": "1"},
				})
			})
		}
	})
}
