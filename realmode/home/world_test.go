package home_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corehome "github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/realmode/home"
)

// world is a cluster behind HTTP, seen by an administrator.
type world struct {
	t      *testing.T
	admin  client.Client
	kube   corehome.Kube
	claims bool
}

// newWorld connects to a cluster.
func newWorld(t *testing.T, cfg *rest.Config, claims bool) *world {
	t.Helper()
	admin, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kube, err := home.NewKube(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, admin: admin, kube: kube, claims: claims}
}

func (w *world) Kube() corehome.Kube { return w.kube }
func (w *world) ServesClaims() bool  { return w.claims }

func (w *world) must(what string, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

func (w *world) CreateNamespace(name string) {
	w.t.Helper()
	w.must("create a namespace", w.admin.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

func (w *world) CreatePod(namespace, name string) types.UID {
	w.t.Helper()
	off := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &off,
			ReadinessGates:               []corev1.PodReadinessGate{{ConditionType: corehome.PodConditionZygoteReady}},
			Containers:                   []corev1.Container{{Name: "fiberd", Image: "fiberd"}},
		},
	}
	w.must("create a pod", w.admin.Create(w.t.Context(), pod))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}}
	w.must("set the status of a pod", w.admin.Status().Update(w.t.Context(), pod))
	return pod.UID
}

func (w *world) Ended() context.Context {
	ctx, cancel := context.WithCancel(w.t.Context())
	cancel()
	return ctx
}

func (w *world) RemovePod(namespace, name string) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.must("delete a pod", w.admin.Delete(w.t.Context(), pod, client.GracePeriodSeconds(0)))
}

func claim(namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("resource.k8s.io/v1")
	u.SetKind("ResourceClaim")
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func (w *world) CreateClaim(namespace, name string) types.UID {
	w.t.Helper()
	c := claim(namespace, name)
	c.SetFinalizers([]string{"resource.kubernetes.io/delete-protection"})
	c.Object["spec"] = map[string]any{"devices": map[string]any{}}
	w.must("create a claim", w.admin.Create(w.t.Context(), c))
	return c.GetUID()
}

func (w *world) DeleteClaim(namespace, name string) {
	w.t.Helper()
	w.must("delete a claim", w.admin.Delete(w.t.Context(), claim(namespace, name)))
}

func (w *world) ReleaseClaim(namespace, name string) {
	w.t.Helper()
	c := claim(namespace, name)
	w.must("read a claim", w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(c), c))
	c.SetFinalizers(nil)
	w.must("release a claim", w.admin.Update(w.t.Context(), c))
}
