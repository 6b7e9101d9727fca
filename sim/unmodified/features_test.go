package unmodified_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/unmodified"
)

// Fleet is a kind of the operator's own, as kubebuilder makes one.
type Fleet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FleetSpec   `json:"spec"`
	Status            FleetStatus `json:"status,omitempty"`
}

// FleetSpec says how many Pods there should be.
type FleetSpec struct {
	Size  int32  `json:"size"`
	Image string `json:"image,omitempty"`
}

// FleetStatus is what the operator has done.
type FleetStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	Ready              int32 `json:"ready,omitempty"`
}

// FleetList is a list of them.
type FleetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Fleet `json:"items"`
}

func (f *Fleet) DeepCopyObject() runtime.Object {
	out := *f
	f.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (l *FleetList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Fleet, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Fleet)
	}
	return &out
}

var fleetVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

var ownScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := clientscheme.AddToScheme(s); err != nil {
		panic(err)
	}
	s.AddKnownTypes(fleetVersion, &Fleet{}, &FleetList{})
	metav1.AddToGroupVersion(s, fleetVersion)
	return s
}()

const (
	fleetFinalizer = "example.com/pods"
	byFleet        = ".metadata.labels.fleet"
	audits         = 26 * time.Hour
)

// operator uses what operators use: a kind of its own with status, a finalizer, an index,
// events, CreateOrUpdate, server-side apply, metadata-only and unstructured caches, and
// requests for days later.
type operator struct {
	client.Client
	events events.EventRecorder
	audits *int
}

func (o *operator) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var f Fleet
	if err := o.Get(ctx, req.NamespacedName, &f); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := o.List(ctx, &pods, client.InNamespace(req.Namespace), client.MatchingFields{byFleet: req.Name}); err != nil {
		return ctrl.Result{}, err
	}
	if !f.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, o.end(ctx, &f, &pods)
	}
	if controllerutil.AddFinalizer(&f, fleetFinalizer) {
		return ctrl.Result{}, o.Update(ctx, &f)
	}
	if err := o.fill(ctx, &f, &pods); err != nil {
		return ctrl.Result{}, err
	}
	if err := o.beside(ctx, &f); err != nil {
		return ctrl.Result{}, err
	}
	if f.Status.ObservedGeneration != f.Generation || f.Status.Ready != f.Spec.Size {
		f.Status = FleetStatus{ObservedGeneration: f.Generation, Ready: f.Spec.Size}
		return ctrl.Result{}, o.Status().Update(ctx, &f)
	}
	*o.audits++
	return ctrl.Result{RequeueAfter: audits}, nil
}

// end deletes the Pods of a fleet that goes, and then lets it go.
func (o *operator) end(ctx context.Context, f *Fleet, pods *corev1.PodList) error {
	for i := range pods.Items {
		if err := o.Delete(ctx, &pods.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if len(pods.Items) == 0 && controllerutil.RemoveFinalizer(f, fleetFinalizer) {
		return o.Update(ctx, f)
	}
	return nil
}

// fill applies the Pods that a fleet should have, by their names.
func (o *operator) fill(ctx context.Context, f *Fleet, pods *corev1.PodList) error {
	there := map[string]bool{}
	for i := range pods.Items {
		there[pods.Items[i].Name] = true
	}
	for i := range f.Spec.Size {
		name := fmt.Sprintf("%s-%d", f.Name, i)
		if there[name] {
			continue
		}
		pod := corev1apply.Pod(name, f.Namespace).WithLabels(map[string]string{"fleet": f.Name}).
			WithSpec(corev1apply.PodSpec().WithContainers(corev1apply.Container().WithName("c").WithImage(f.Spec.Image)))
		if err := o.Apply(ctx, pod, client.FieldOwner("fleet-operator"), client.ForceOwnership); err != nil {
			return err
		}
		o.events.Eventf(f, nil, corev1.EventTypeNormal, "Filled", "Fill", "Pod %s is there", name)
	}
	return nil
}

// beside keeps what goes with a fleet, and reads it through caches of other forms.
func (o *operator) beside(ctx context.Context, f *Fleet) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: f.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, o.Client, cm, func() error {
		cm.Data = map[string]string{"size": fmt.Sprint(f.Spec.Size)}
		return controllerutil.SetControllerReference(f, cm, o.Scheme())
	})
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(fleetVersion.WithKind("Fleet"))
	if err := o.Get(ctx, client.ObjectKeyFromObject(f), u); err != nil {
		return err
	}
	if image, _, _ := unstructured.NestedString(u.Object, "spec", "image"); image != f.Spec.Image {
		return fmt.Errorf("cached as %q and %q", image, f.Spec.Image)
	}
	return nil
}

func startOperator(audited *int, priorities bool) func(ctx context.Context, cfg *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		mgr, err := ctrl.NewManager(cfg, unmodified.Options(ctx, ctrl.Options{
			Scheme: ownScheme, Logger: logr.Discard(),
			Controller: config.Controller{UsePriorityQueue: &priorities},
			Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		}))
		if err != nil {
			return err
		}
		err = mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, byFleet, func(obj client.Object) []string { return []string{obj.GetLabels()["fleet"]} })
		if err != nil {
			return err
		}
		o := &operator{mgr.GetClient(), mgr.GetEventRecorder("fleet-operator"), audited}
		if err := ctrl.NewControllerManagedBy(mgr).For(&Fleet{}).Owns(&corev1.ConfigMap{}, builder.OnlyMetadata).Complete(o); err != nil {
			return err
		}
		return mgr.Start(ctx)
	}
}

// TestWhatOperatorsUse: through crashes and a storm that ends, an operator does its work
// with all that operators use, with a queue of each kind.
func TestWhatOperatorsUse(t *testing.T) {
	profile := sim.Stormy()
	profile.CeaseAt = 2 * time.Minute
	for _, priorities := range []bool{true, false} {
		o := sim.Options{
			Seeds: 2, Twice: 2, Horizon: audits + 2*time.Hour, Artifacts: sim.NoArtifacts,
			Cluster: cluster.Config{APIServers: 2, Profile: profile},
		}
		audited := 0
		unmodified.Check(t, o, func(w *unmodified.World) {
			audited = 0
			w.LoadCRDs(os.DirFS("testdata"), "crds")
			p := w.Program(unmodified.Program{Name: "operator", Start: startOperator(&audited, priorities)})
			admin, ctx := w.Admin(), context.Background()
			for _, name := range []string{"a", "b"} {
				u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(2)}}}
				u.SetGroupVersionKind(fleetVersion.WithKind("Fleet"))
				u.SetNamespace("default")
				u.SetName(name)
				w.At(5*time.Second, func() { w.Create(u) })
				if name == "b" {
					w.At(time.Hour, func() { w.Must(admin.Delete(ctx, u)) })
				}
			}
			w.At(w.ChooseWithin("crash", 0, time.Minute), p.Crash)
			w.Finally("done", "it is what the operator is for", func() error { return fleetsAreDone(ctx, admin, audited) })
		})
	}
}

// fleetsAreDone compares what there is with fleet a, which stays, and b, which is gone.
func fleetsAreDone(ctx context.Context, c client.Client, audited int) error {
	var pods corev1.PodList
	var events corev1.EventList
	if err := errors.Join(c.List(ctx, &pods), c.List(ctx, &events)); err != nil {
		return err
	}
	a := &unstructured.Unstructured{}
	a.SetGroupVersionKind(fleetVersion.WithKind("Fleet"))
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, a); err != nil {
		return err
	}
	ready, _, _ := unstructured.NestedInt64(a.Object, "status", "ready")
	gone := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "b"}, a.DeepCopy())
	if len(pods.Items) != 2 || ready != 2 || !apierrors.IsNotFound(gone) {
		return errors.Join(fmt.Errorf("%d Pods, %d ready; the other is there", len(pods.Items), ready), gone)
	}
	for i := range pods.Items {
		if got := pods.Items[i].Spec.Containers[0].Image; got != "registry.invalid/app:1" {
			return fmt.Errorf("a Pod has image %q, and the default of its fleet is another", got)
		}
	}
	if audited < 2 || audited > 40 { // once a day and more after the last change, and after changes
		return fmt.Errorf("audited %d times", audited)
	}
	return nil
}
