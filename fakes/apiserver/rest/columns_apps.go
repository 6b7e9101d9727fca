package rest

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

func init() {
	declare("apps", "Deployment", "Name|Ready|Up-to-date|Available|Age|+Containers|+Images|+Selector",
		func(o *appsv1.Deployment, now time.Time) []any {
			names, images := containers(o.Spec.Template.Spec.Containers)
			return []any{
				o.Name, of(o.Status.ReadyReplicas, o.Spec.Replicas), o.Status.UpdatedReplicas, o.Status.AvailableReplicas, age(o, now),
				names, images, metav1.FormatLabelSelector(o.Spec.Selector),
			}
		})
	declare("apps", "StatefulSet", "Name|Ready|Age|+Containers|+Images", func(o *appsv1.StatefulSet, now time.Time) []any {
		names, images := containers(o.Spec.Template.Spec.Containers)
		return []any{o.Name, of(o.Status.ReadyReplicas, o.Spec.Replicas), age(o, now), names, images}
	})
	declare("batch", "Job", "Name|Status|Completions|Duration|Age|+Containers|+Images|+Selector", jobRow)
}

func jobRow(o *batchv1.Job, now time.Time) []any {
	status := "Running"
	for _, condition := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailed, batchv1.JobComplete} {
		for _, c := range o.Status.Conditions {
			if c.Type == condition && c.Status == corev1.ConditionTrue {
				status = string(condition)
			}
		}
	}
	took := ""
	switch {
	case o.Status.StartTime == nil:
	case o.Status.CompletionTime == nil:
		took = since(o.Status.StartTime.Time, now)
	default:
		took = duration.HumanDuration(o.Status.CompletionTime.Sub(o.Status.StartTime.Time))
	}
	names, images := containers(o.Spec.Template.Spec.Containers)
	return []any{
		o.Name, status, of(o.Status.Succeeded, o.Spec.Completions), took, age(o, now),
		names, images, metav1.FormatLabelSelector(o.Spec.Selector),
	}
}

// of is "2/3"; what was not said counts as one.
func of(n int32, wanted *int32) string {
	if wanted == nil {
		return fmt.Sprintf("%d/1", n)
	}
	return fmt.Sprintf("%d/%d", n, *wanted)
}

func containers(list []corev1.Container) (names, images string) {
	var n, i []string
	for c := range list {
		n, i = append(n, list[c].Name), append(i, list[c].Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}
