package client_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fake "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

func TestStatus(t *testing.T) {
	c := newClient(t)
	d := deployment("a")
	d.Status.Replicas = 7
	must(t, c.Create(ctx, d))
	if d.Status.Replicas != 0 || *d.Spec.Replicas != 1 {
		t.Errorf("after Create: status %d, spec %d replicas", d.Status.Replicas, *d.Spec.Replicas)
	}
	*d.Spec.Replicas, d.Status.Replicas = 5, 2
	must(t, c.Status().Update(ctx, d))
	if d.Status.Replicas != 2 || *d.Spec.Replicas != 1 {
		t.Errorf("after a status update: status %d, spec %d replicas", d.Status.Replicas, *d.Spec.Replicas)
	}
	base := d.DeepCopy()
	d.Status.Replicas = 3
	must(t, c.Status().Patch(ctx, d, client.MergeFrom(base)))
	var got appsv1.Deployment
	must(t, c.Get(ctx, client.ObjectKeyFromObject(d), &got))
	if diff := cmp.Diff(d, &got); diff != "" {
		t.Errorf("the patch's answer is not what is stored (-answer +stored):\n%s", diff)
	}
	if err := c.Status().Update(ctx, base); !apierrors.IsConflict(err) {
		t.Errorf("update of a stale status: got %v, want a conflict", err)
	}
}

func TestScale(t *testing.T) {
	c := newClient(t)
	d := deployment("a")
	must(t, c.Create(ctx, d))
	scale := &autoscalingv1.Scale{}
	must(t, c.SubResource("scale").Get(ctx, d, scale))
	if scale.Spec.Replicas != 1 || scale.ResourceVersion != d.ResourceVersion {
		t.Errorf("scale is %+v", scale)
	}
	scale.Spec.Replicas = 4
	must(t, c.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(scale)))
	var got appsv1.Deployment
	must(t, c.Get(ctx, client.ObjectKeyFromObject(d), &got))
	if *got.Spec.Replicas != 4 || got.ResourceVersion != scale.ResourceVersion {
		t.Errorf("replicas %d at %s; the scale is at %s", *got.Spec.Replicas, got.ResourceVersion, scale.ResourceVersion)
	}
}

func TestBinding(t *testing.T) {
	c := newClient(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	must(t, c.Create(ctx, pod))
	must(t, c.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}))
	must(t, c.Get(ctx, client.ObjectKeyFromObject(pod), pod))
	if pod.Spec.NodeName != "n1" {
		t.Errorf("the pod is on %q", pod.Spec.NodeName)
	}
}

func TestApply(t *testing.T) {
	c := newClient(t)
	config := corev1ac.ConfigMap("a", "default").WithData(map[string]string{"k": "v"})
	must(t, c.Apply(ctx, config, client.FieldOwner("me")))
	if config.UID == nil || *config.UID == "" {
		t.Errorf("the answer is not in the configuration: %+v", config)
	}
	err := c.Apply(ctx, corev1ac.ConfigMap("a", "default").WithData(map[string]string{"k": "w"}), client.FieldOwner("you"))
	if want := `Apply failed with 1 conflict: conflict with "me": .data.k`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	must(t, c.Apply(ctx, corev1ac.ConfigMap("a", "default").WithData(map[string]string{"k": "w"}), client.FieldOwner("you"), client.ForceOwnership))
}

// TestApplyUnstructured applies what has no Go type to a kind that has one.
func TestApplyUnstructured(t *testing.T) {
	c := newClient(t)
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "default", "name": "a"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
	}}
	must(t, c.Apply(ctx, client.ApplyConfigurationFromUnstructured(config), client.FieldOwner("me")))
	if config.GetUID() == "" || config.GetKind() != "Pod" {
		t.Errorf("the answer is %v", config.Object)
	}
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "default", "name": "a"},
		"status": map[string]any{"message": "well"},
	}}
	must(t, c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), client.FieldOwner("me")))
	if text, _, _ := unstructured.NestedString(status.Object, "status", "message"); text != "well" {
		t.Errorf("the answer is %v", status.Object)
	}
}

func TestMapper(t *testing.T) {
	c := newClient(t)
	m := c.RESTMapper()
	mapping, err := m.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	must(t, err)
	if mapping.Resource.Resource != "deployments" || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		t.Errorf("mapping is %+v", mapping)
	}
	gvk, err := m.KindFor(schema.GroupVersionResource{Resource: "leases"})
	must(t, err)
	if gvk != (schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}) {
		t.Errorf("kind is %v", gvk)
	}
	if _, err := m.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Widget"}); !meta.IsNoMatchError(err) {
		t.Errorf("unknown kind: got %v", err)
	}
	for obj, want := range map[client.Object]bool{&corev1.Pod{}: true, &corev1.Node{}: false} {
		if got, err := c.IsObjectNamespaced(obj); err != nil || got != want {
			t.Errorf("%T namespaced: got %v, %v; want %v", obj, got, err, want)
		}
	}
	one, err := m.ResourceSingularizer("pods")
	if err != nil || one != "pod" {
		t.Errorf("singular of pods: %q, %v", one, err)
	}
}

func newUnstructured(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

func TestCustomResource(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	st := apiserver.NewStore(apiserver.Options{Guard: true})
	must(t, st.Register(apiserver.KindInfo{GVK: gvk, Plural: "widgets", Status: true}))
	c := fake.New(apiserver.NewServer(st, "test"), st.Scheme())

	w := newUnstructured(gvk, "a")
	w.Object["spec"] = map[string]any{"size": int64(1), "keep": map[string]any{}}
	must(t, c.Create(ctx, w))
	if w.GetGeneration() != 1 || w.GroupVersionKind() != gvk {
		t.Errorf("created %v", w.Object)
	}
	w.Object["status"] = map[string]any{"ready": true}
	must(t, c.Status().Update(ctx, w))
	got := newUnstructured(gvk, "a")
	must(t, c.Get(ctx, client.ObjectKeyFromObject(w), got))
	if diff := cmp.Diff(w.Object, got.Object); diff != "" {
		t.Errorf("the update's answer is not what is stored (-answer +stored):\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	var warnings []string
	c := newClient(t, fake.WithWarnings(func(text string) { warnings = append(warnings, text) }))
	cm := configMap("a", nil)
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "u"}
	cm.OwnerReferences = []metav1.OwnerReference{owner, owner}
	must(t, c.Create(ctx, cm))
	if len(warnings) != 1 || len(cm.OwnerReferences) != 1 {
		t.Errorf("warnings %q, owners %v", warnings, cm.OwnerReferences)
	}
}
