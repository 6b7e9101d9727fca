package controllermanager

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Reasons of the condition Progressing.
const (
	reasonAvailable = "NewReplicaSetAvailable"
	reasonUpdated   = "ReplicaSetUpdated"
	reasonTimedOut  = "ProgressDeadlineExceeded"
	reasonPaused    = "DeploymentPaused"
	reasonResumed   = "DeploymentResumed"
)

func conditionOf(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

func dropCondition(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) {
	s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c appsv1.DeploymentCondition) bool { return c.Type == t })
}

// setCondition sets a condition, unless it has that status for that reason already.
func (c *deployments) setCondition(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) {
	now := c.m.now()
	putCondition(s, appsv1.DeploymentCondition{
		Type: t, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	})
}

// putCondition puts the condition last, as the real controller does.
func putCondition(s *appsv1.DeploymentStatus, next appsv1.DeploymentCondition) {
	if was := conditionOf(s, next.Type); was != nil {
		if was.Status == next.Status && was.Reason == next.Reason {
			return
		}
		if was.Status == next.Status {
			next.LastTransitionTime = was.LastTransitionTime
		}
	}
	dropCondition(s, next.Type)
	s.Conditions = append(s.Conditions, next)
}

// notePause says in a condition that the Deployment is paused, or not any more: the
// time in between is none without progress.
func (r *rollout) notePause(ctx context.Context) error {
	c := conditionOf(&r.d.Status, appsv1.DeploymentProgressing)
	if !r.hasDeadline() || c != nil && c.Reason == reasonTimedOut {
		return nil
	}
	noted := c != nil && c.Reason == reasonPaused
	switch {
	case r.d.Spec.Paused && !noted:
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
	case !r.d.Spec.Paused && noted:
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonResumed, "Deployment is resumed")
	default:
		return nil
	}
	return r.write(ctx)
}

// status is what follows from the ReplicaSets.
func (r *rollout) status() *appsv1.DeploymentStatus {
	all := r.allSets()
	s := &appsv1.DeploymentStatus{
		ObservedGeneration:  r.d.Generation,
		Replicas:            total(all, existing),
		ReadyReplicas:       total(all, func(rs *appsv1.ReplicaSet) int32 { return rs.Status.ReadyReplicas }),
		AvailableReplicas:   total(all, isAvailable),
		TerminatingReplicas: terminatingReplicas(all),
		CollisionCount:      r.d.Status.CollisionCount,
		Conditions:          slices.Clone(r.d.Status.Conditions),
	}
	s.UnavailableReplicas = max(0, total(all, wanted)-s.AvailableReplicas)
	if r.newest != nil {
		s.UpdatedReplicas = r.newest.Status.Replicas
	}
	if s.AvailableReplicas >= *r.d.Spec.Replicas-maxUnavailable(r.d) {
		r.setCondition(s, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	} else {
		r.setCondition(s, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	return s
}

// terminatingReplicas is nil if a ReplicaSet does not tell.
func terminatingReplicas(sets []*appsv1.ReplicaSet) *int32 {
	n := new(int32)
	for _, rs := range sets {
		switch {
		case rs.Status.TerminatingReplicas != nil:
			*n += *rs.Status.TerminatingReplicas
		case rs.Status.ObservedGeneration != 0:
			return nil
		}
	}
	return n
}

// complete reports whether all pods are new and available, and no old one is left.
func complete(d *appsv1.Deployment, s *appsv1.DeploymentStatus) bool {
	size := *d.Spec.Replicas
	return s.UpdatedReplicas == size && s.Replicas == size && s.AvailableReplicas == size && s.ObservedGeneration >= d.Generation
}

func (r *rollout) writeIfNew(ctx context.Context, s *appsv1.DeploymentStatus) error {
	if equality.Semantic.DeepEqual(&r.d.Status, s) {
		return nil
	}
	r.d.Status = *s
	return r.write(ctx)
}

// progress writes the status with what it says of the progress of a rollout. If nothing
// moves, it wants to look again when the deadline has passed.
func (r *rollout) progress(ctx context.Context) (time.Duration, error) {
	s := r.status()
	if !r.hasDeadline() {
		dropCondition(s, appsv1.DeploymentProgressing)
	} else {
		r.judge(s)
	}
	if failure := r.failure(); failure != nil {
		putCondition(s, *failure)
	} else {
		dropCondition(s, appsv1.DeploymentReplicaFailure)
	}
	if equality.Semantic.DeepEqual(&r.d.Status, s) {
		return r.deadline(s), nil
	}
	return 0, r.writeIfNew(ctx, s)
}

// judge sets the condition Progressing, unless the rollout is over.
func (r *rollout) judge(s *appsv1.DeploymentStatus) {
	const progressing = appsv1.DeploymentProgressing
	who := fmt.Sprintf("Deployment %q", r.d.Name)
	if r.newest != nil {
		who = fmt.Sprintf("ReplicaSet %q", r.newest.Name)
	}
	was := conditionOf(&r.d.Status, progressing)
	switch {
	case s.Replicas == s.UpdatedReplicas && was != nil && was.Reason == reasonAvailable:
	case complete(r.d, s):
		r.setCondition(s, progressing, corev1.ConditionTrue, reasonAvailable, who+" has successfully progressed.")
	case moved(&r.d.Status, s):
		if was != nil { // the same reason again is news here: it counts from now on
			dropCondition(s, progressing)
		}
		r.setCondition(s, progressing, corev1.ConditionTrue, reasonUpdated, who+" is progressing.")
		if was != nil && was.Status == corev1.ConditionTrue {
			conditionOf(s, progressing).LastTransitionTime = was.LastTransitionTime
		}
	case r.timedOut(s):
		r.setCondition(s, progressing, corev1.ConditionFalse, reasonTimedOut, who+" has timed out progressing.")
	}
}

// moved reports whether a rollout has come closer to its end.
func moved(old, s *appsv1.DeploymentStatus) bool {
	return s.UpdatedReplicas > old.UpdatedReplicas || s.Replicas-s.UpdatedReplicas < old.Replicas-old.UpdatedReplicas ||
		s.ReadyReplicas > old.ReadyReplicas || s.AvailableReplicas > old.AvailableReplicas
}

func (r *rollout) timedOut(s *appsv1.DeploymentStatus) bool {
	c := conditionOf(s, appsv1.DeploymentProgressing)
	if c == nil || c.Reason == reasonAvailable {
		return false
	}
	return c.Reason == reasonTimedOut || r.left(c) < 0
}

// left is the time until the deadline for more progress than the condition tells of.
func (r *rollout) left(c *appsv1.DeploymentCondition) time.Duration {
	deadline := c.LastUpdateTime.Add(time.Duration(*r.d.Spec.ProgressDeadlineSeconds) * time.Second)
	return deadline.Sub(r.m.opts.Clock.Now())
}

// deadline is when to look again although nothing happens, zero if never.
func (r *rollout) deadline(s *appsv1.DeploymentStatus) time.Duration {
	c := conditionOf(s, appsv1.DeploymentProgressing)
	if !r.hasDeadline() || c == nil || complete(r.d, s) || c.Reason == reasonTimedOut {
		return 0
	}
	return max(0, r.left(c)) + time.Second // times in conditions have whole seconds
}

// failure is what a ReplicaSet says of pods that it cannot make, the newest before
// others.
func (r *rollout) failure() *appsv1.DeploymentCondition {
	sets := r.allSets()
	if r.newest != nil {
		sets = append([]*appsv1.ReplicaSet{r.newest}, r.old...)
	}
	for _, rs := range sets {
		for _, c := range rs.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				return &appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastTransitionTime: c.LastTransitionTime, LastUpdateTime: c.LastTransitionTime,
				}
			}
		}
	}
	return nil
}
