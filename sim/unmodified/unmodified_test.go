package unmodified_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
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
		return ctrl.Result{}, nil
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
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
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

func fleets(w *unmodified.World) {
	w.Program(unmodified.Program{Name: "operator", Start: startFleet})
	for i := range 3 {
		w.At(time.Duration(5+i)*time.Second, func() {
			w.Create(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("f", i)}, Data: map[string]string{"size": "2"},
			})
		})
	}
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
		w.Finally("filled", "users wait for their pods", func() error {
			var pods corev1.PodList
			if err := w.Admin().List(context.Background(), &pods); err != nil {
				return err
			}
			if len(pods.Items) < 6 {
				return fmt.Errorf("%d pods", len(pods.Items))
			}
			return nil
		})
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
}
