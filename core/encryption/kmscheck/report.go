package kmscheck

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Manager is the field manager of what the pod says of itself.
const Manager = "kms-preflight-check"

// Reporter writes into the status of the pod that it runs in. Other conditions there
// are the kubelet's, and stay.
type Reporter struct {
	Live  kube.Kube
	Clock clock.Clock

	// Pod is the pod itself.
	Pod client.ObjectKey

	// ConfigHash is what the pod was deployed for.
	ConfigHash string
}

// Started says what the pod tries. It is said before anything is tried, so that a
// plugin that hangs is known for what it is.
func (r *Reporter) Started(ctx context.Context) error { return r.apply(ctx, r.hash()) }

// Ended says how it went.
func (r *Reporter) Ended(ctx context.Context, kekID string, result error) error {
	conditions := []corev1.PodCondition{r.hash(), {Type: encryption.KMSPreflightResultPodCondition, Status: corev1.ConditionTrue, Reason: encryption.ReasonSucceeded}}
	if result != nil {
		conditions[1].Status, conditions[1].Reason, conditions[1].Message = corev1.ConditionFalse, encryption.ReasonFailed, result.Error()
	}
	if kekID != "" {
		conditions = append(conditions, corev1.PodCondition{Type: encryption.KMSPreflightKEKIDPodCondition, Status: corev1.ConditionTrue, Message: kekID})
	}
	return r.apply(ctx, conditions...)
}

func (r *Reporter) hash() corev1.PodCondition {
	return corev1.PodCondition{Type: encryption.KMSPreflightConfigHashPodCondition, Status: corev1.ConditionTrue, Message: r.ConfigHash}
}

func (r *Reporter) apply(ctx context.Context, conditions ...corev1.PodCondition) error {
	forms := make([]any, len(conditions))
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.NewTime(r.Clock.Now())
		form, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err != nil {
			return fmt.Errorf("encode the condition %s: %w", conditions[i].Type, err)
		}
		delete(form, "lastProbeTime")
		forms[i] = form
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": forms}}}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	u.SetNamespace(r.Pod.Namespace)
	u.SetName(r.Pod.Name)
	err := r.Live.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(Manager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("report in the status of Pod %s: %w", r.Pod, err)
	}
	return nil
}
