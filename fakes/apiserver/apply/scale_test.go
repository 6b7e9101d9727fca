package apply_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
)

// TestScaleTakesReplicas follows the owners of a Deployment's replicas through
// writes to the Deployment and to its scale.
func TestScaleTakesReplicas(t *testing.T) {
	at := func(s int) metav1.Time { return metav1.NewTime(time.Unix(int64(s), 0).UTC()) }
	deployment := func(n int32) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.SetGroupVersionKind(deploymentKind)
		d.Name, d.UID, d.Spec.Replicas = "a", "1", &n
		return d
	}
	scaler := apply.NewScaler(deploymentKind.GroupVersion(), fieldpath.MakePathOrDie("spec", "replicas"), false, func(obj runtime.Object) *autoscalingv1.Scale {
		s := &autoscalingv1.Scale{}
		s.Name, s.UID = "a", "1"
		s.Spec.Replicas = *obj.(*appsv1.Deployment).Spec.Replicas
		return s
	})
	entry := func(manager, op, subresource, fields string, at *metav1.Time) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(op), APIVersion: "apps/v1",
			Subresource: subresource, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Time: at}
	}
	const replicas = `{"f:spec":{"f:replicas":{}}}`

	owners := ours("", ignored("status")).Update(nil, nil, deployment(1), "user", at(1))
	owners = scaler.Update(owners, deployment(1), deployment(3), "hpa", at(2))
	if diff := cmp.Diff([]metav1.ManagedFieldsEntry{entry("hpa", "Update", "scale", replicas, nil)}, owners.Entries()); diff != "" {
		t.Errorf("after a scale (-want +got):\n%s", diff)
	}

	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"replicas": int64(5)},
	}}
	if _, _, err := scaler.Apply(owners, deployment(3), config, "gitops", false, at(3)); err == nil ||
		err.Error() != `Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" using autoscaling/v1: .spec.replicas` {
		t.Errorf("an apply of what another owns: %v", err)
	}
	n, owners, err := scaler.Apply(owners, deployment(3), config, "gitops", true, at(3))
	if err != nil || n != 5 {
		t.Fatalf("a forced apply: %d replicas, %v", n, err)
	}
	if diff := cmp.Diff([]metav1.ManagedFieldsEntry{entry("gitops", "Apply", "scale", replicas, nil)}, owners.Entries()); diff != "" {
		t.Errorf("after an apply (-want +got):\n%s", diff)
	}
}
