package leaderelection_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/leaderelection"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

var (
	lease = client.ObjectKey{Namespace: "default", Name: "leader"}
	work  = client.ObjectKey{Namespace: "default", Name: "work"}
)

// candidate leads when it may, and writes its epoch and the time every five seconds
// then. Careless leaders write over whatever there is.
func candidate(floor, careless bool) func(ctx context.Context, env *cluster.Env) {
	return func(ctx context.Context, env *cluster.Env) {
		cfg := leaderelection.Config{
			Live: env.Kube, Clock: env.Clock, Lease: lease, Log: env.Log,
			Identity: fmt.Sprintf("%s-%d", env.Process, env.Incarnation),
		}
		if floor {
			cfg.Floor = func(ctx context.Context) (int64, error) {
				o := &corev1.ConfigMap{}
				err := env.Kube.Get(ctx, work, o)
				return epochOf(o), client.IgnoreNotFound(err)
			}
		}
		e, err := leaderelection.New(cfg)
		if err != nil {
			panic(err)
		}
		_ = e.Run(ctx, func(ctx context.Context) {
			for ctx.Err() == nil {
				write(ctx, env, e.Epoch(), careless)
				_ = env.Clock.Sleep(ctx, 5*time.Second)
			}
		})
	}
}

func epochOf(o *corev1.ConfigMap) int64 {
	n, _ := strconv.ParseInt(o.Data["epoch"], 10, 64)
	return n
}

func write(ctx context.Context, env *cluster.Env, epoch int64, careless bool) {
	o := &corev1.ConfigMap{}
	if env.Kube.Get(ctx, work, o) != nil {
		return
	}
	if careless {
		o.ResourceVersion = ""
	} else if epochOf(o) > epoch {
		return
	}
	o.Data = map[string]string{"epoch": strconv.FormatInt(epoch, 10), "at": env.Clock.Now().Format(time.RFC3339)}
	_ = env.Kube.Update(ctx, o)
}

// world has three candidates, of whom the leader is paused now and then, for longer
// than its Lease holds, and a Lease that is deleted once.
func world(floor, careless bool) sim.Build {
	return func(w *sim.World) {
		w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: work.Namespace, Name: work.Name}})
		for i := range 3 {
			w.ControlPlane().Process(cluster.ProcessSpec{Name: fmt.Sprintf("candidate-%d", i), Main: candidate(floor, careless)})
		}
		holder := func() string {
			o := &coordinationv1.Lease{}
			if w.Admin().Get(context.Background(), lease, o) != nil {
				return ""
			}
			return ptr.Deref(o.Spec.HolderIdentity, "")
		}
		for n := range 4 {
			w.At(time.Duration(n*8+3)*time.Minute, func() {
				for _, p := range w.Processes() {
					if holder() == fmt.Sprintf("%s-%d", p.Name(), p.Incarnation()) {
						resume := p.Hold()
						w.At(w.Engine().Elapsed()+w.ChooseWithin("pause", time.Minute, 5*time.Minute), resume)
					}
				}
			})
		}
		w.At(20*time.Minute, func() {
			_ = w.Admin().Delete(context.Background(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name}})
		})
		highest := int64(0)
		w.Always("epochs only grow", "a leader of before would undo what a later one did", func() error {
			o := &corev1.ConfigMap{}
			w.Must(w.Admin().Get(context.Background(), work, o))
			if got := epochOf(o); got < highest {
				return fmt.Errorf("epoch %d wrote after epoch %d", got, highest)
			} else if got > highest {
				highest = got
			}
			return nil
		})
		w.Finally("somebody leads", "nobody would do the work", func() error {
			o := &corev1.ConfigMap{}
			w.Must(w.Admin().Get(context.Background(), work, o))
			at, err := time.Parse(time.RFC3339, o.Data["at"])
			if err != nil {
				return err
			}
			if idle := w.Engine().Now().Sub(at); idle > 10*time.Minute {
				return fmt.Errorf("nothing was done for %s", idle)
			}
			return nil
		})
	}
}

func options(seeds uint64) sim.Options {
	return sim.Options{
		Horizon: 45 * time.Minute, Seeds: seeds, Artifacts: sim.NoArtifacts,
		Cluster: cluster.Config{Nodes: 1, Profile: sim.Stormy().Only("api-error-500", "api-loss-response", "api-loss-request", "process-crash").Until(30 * time.Minute)},
	}
}

// TestLeaders: leaders of before do not undo what later ones did, and in the end
// somebody leads.
func TestLeaders(t *testing.T) {
	sim.Check(t, options(60), world(true, false))
}

// TestLeadersSees that the test above would see leaders who write over what there
// is, and a Lease that was deleted and forgot all epochs.
func TestLeadersSees(t *testing.T) {
	for name, build := range map[string]sim.Build{"careless": world(true, true), "forgetful": world(false, false)} {
		o := options(60)
		o.Name, o.Shrink = name, sim.Budget{Runs: -1}
		report, err := sim.Run(o, build)
		if err != nil {
			t.Fatal(err)
		}
		if report.Failure == nil {
			t.Errorf("%s leaders pass", name)
		}
	}
}

func TestBadDurations(t *testing.T) {
	_, err := leaderelection.New(leaderelection.Config{Lease: lease, RenewDeadline: 3 * time.Minute})
	const want = "leader election default/leader: expected RetryPeriod < RenewDeadline < LeaseDuration, and they are 26s, 3m0s and 2m17s"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestALeaderThatCannotRenew says that it is lost, after its lead has ended.
func TestALeaderThatCannotRenew(t *testing.T) {
	ended := 0
	sim.Check(t, sim.Options{Horizon: 10 * time.Minute, Seeds: 3, Artifacts: sim.NoArtifacts, Workers: 1, Cluster: cluster.Config{Nodes: 1}}, func(w *sim.World) {
		w.Node("node-1").Process(cluster.ProcessSpec{Name: "candidate", Main: func(ctx context.Context, env *cluster.Env) {
			e, err := leaderelection.New(leaderelection.Config{Live: env.Kube, Clock: env.Clock, Lease: lease, Identity: fmt.Sprint("me-", env.Incarnation)})
			if err != nil {
				panic(err)
			}
			if env.Incarnation > 1 {
				_ = env.Clock.Sleep(ctx, time.Hour)
				return
			}
			over := false
			err = e.Run(ctx, func(ctx context.Context) {
				_ = env.Clock.Sleep(ctx, time.Hour)
				over = true
			})
			if !errors.Is(err, leaderelection.ErrLost) || !strings.Contains(err.Error(), "held by another: thief") || !over {
				t.Errorf("error %v, lead over: %t", err, over)
			}
			ended++
		}})
		w.At(time.Minute, func() {
			o := &coordinationv1.Lease{}
			w.Must(w.Admin().Get(context.Background(), lease, o))
			o.Spec.HolderIdentity = ptr.To("thief")
			w.Must(w.Admin().Update(context.Background(), o))
		})
	})
	if ended == 0 {
		t.Error("the lead never ended")
	}
}
