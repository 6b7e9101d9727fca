package controllermanager

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// replicaSetStatus is what the controller knows of a ReplicaSet after it has looked
// after its pods, or has failed to.
func replicaSetStatus(rs *appsv1.ReplicaSet, pods, leaving []*corev1.Pod, failure error, now time.Time) appsv1.ReplicaSetStatus {
	status := *rs.Status.DeepCopy()
	status.Replicas, status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = int32(len(pods)), 0, 0, 0
	count := int32(len(leaving))
	status.TerminatingReplicas = &count
	whole := labels.SelectorFromSet(rs.Spec.Template.Labels)
	for _, p := range pods {
		if whole.Matches(labels.Set(p.Labels)) {
			status.FullyLabeledReplicas++
		}
		if ready(p) {
			status.ReadyReplicas++
		}
		if available(p, rs.Spec.MinReadySeconds, now) {
			status.AvailableReplicas++
		}
	}
	isFailure := func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure }
	failed := slices.ContainsFunc(status.Conditions, isFailure)
	switch {
	case failure == nil && failed:
		status.Conditions = slices.DeleteFunc(status.Conditions, isFailure)
	case failure != nil && !failed: // the first failure stays until all is well
		reason := "FailedCreate"
		if len(pods) > int(*rs.Spec.Replicas) {
			reason = "FailedDelete"
		}
		status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
			Reason: reason, Message: failure.Error(),
		})
	}
	return status
}

// writeStatus writes a status that is new. It takes a second attempt on what the API
// has now if the cache was late.
func (c *replicaSets) writeStatus(ctx context.Context, rs *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) (*appsv1.ReplicaSet, error) {
	status.ObservedGeneration = rs.Status.ObservedGeneration
	if equality.Semantic.DeepEqual(status, rs.Status) && rs.Generation == rs.Status.ObservedGeneration {
		return rs, nil
	}
	status.ObservedGeneration = rs.Generation // of what was acted on, also in a second attempt
	next := rs.DeepCopy()
	next.Status = status
	written, err := c.m.update(ctx, replicaSetsGVR, "status", next)
	if err != nil {
		again, getErr := c.m.get(ctx, replicaSetsGVR, rs.Namespace, rs.Name)
		if getErr != nil {
			return nil, getErr
		}
		next = again.(*appsv1.ReplicaSet).DeepCopy()
		next.Status = status
		if written, err = c.m.update(ctx, replicaSetsGVR, "status", next); err != nil {
			return nil, err
		}
	}
	return written.(*appsv1.ReplicaSet), nil
}
