package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// withContainers ends the columns of a workload.
func withContainers(selector string, cols ...column) []column {
	return head(slices.Concat(cols, wideContainerCols(), []column{col("Selector", selector).wide()})...)
}

func (t tables) addWorkloads() {
	add(t, appsv1.GroupName, "Deployment", withContainers(doc[appsv1.DeploymentSpec]("selector"),
		col("Ready", "Number of the pod with ready state"),
		col("Up-to-date", doc[appsv1.DeploymentStatus]("updatedReplicas")),
		col("Available", doc[appsv1.DeploymentStatus]("availableReplicas")),
		ageCol(),
	), deploymentRow)
	add(t, appsv1.GroupName, "StatefulSet", head(append([]column{
		col("Ready", "Number of the pod with ready state"), ageCol(),
	}, wideContainerCols()...)...), func(o *appsv1.StatefulSet, now time.Time) []any {
		names, images := containers(o.Spec.Template.Spec.Containers)
		return []any{o.Name, fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, deref(o.Spec.Replicas, 0)), age(o, now), names, images}
	})
	add(t, appsv1.GroupName, "ReplicaSet", withContainers(doc[appsv1.ReplicaSetSpec]("selector"),
		col("Desired", doc[appsv1.ReplicaSetSpec]("replicas")).of("integer"),
		col("Current", doc[appsv1.ReplicaSetStatus]("replicas")).of("integer"),
		col("Ready", doc[appsv1.ReplicaSetStatus]("readyReplicas")).of("integer"),
		ageCol(),
	), func(o *appsv1.ReplicaSet, now time.Time) []any {
		names, images := containers(o.Spec.Template.Spec.Containers)
		return []any{
			o.Name, deref(o.Spec.Replicas, 0), o.Status.Replicas, o.Status.ReadyReplicas, age(o, now),
			names, images, metav1.FormatLabelSelector(o.Spec.Selector),
		}
	})
	add(t, "", "ReplicationController", withContainers(doc[corev1.ReplicationControllerSpec]("selector"),
		col("Desired", doc[corev1.ReplicationControllerSpec]("replicas")).of("integer"),
		col("Current", doc[corev1.ReplicationControllerStatus]("replicas")).of("integer"),
		col("Ready", doc[corev1.ReplicationControllerStatus]("readyReplicas")).of("integer"),
		ageCol(),
	), controllerRow)
	add(t, appsv1.GroupName, "DaemonSet", withContainers(doc[appsv1.DaemonSetSpec]("selector"),
		col("Desired", doc[appsv1.DaemonSetStatus]("desiredNumberScheduled")).of("integer"),
		col("Current", doc[appsv1.DaemonSetStatus]("currentNumberScheduled")).of("integer"),
		col("Ready", doc[appsv1.DaemonSetStatus]("numberReady")).of("integer"),
		col("Up-to-date", doc[appsv1.DaemonSetStatus]("updatedNumberScheduled")).of("integer"),
		col("Available", doc[appsv1.DaemonSetStatus]("numberAvailable")).of("integer"),
		col("Node Selector", doc[corev1.PodSpec]("nodeSelector")),
		ageCol(),
	), daemonSetRow)
	add(t, appsv1.GroupName, "ControllerRevision", head(
		col("Controller", "Controller of the object"), col("Revision", doc[appsv1.ControllerRevision]("revision")), ageCol(),
	), revisionRow)
	t.addJobs()
	add(t, autoscalingv1.GroupName, "Scale", []column{
		col("Name", metaDoc("name")),
		col("Desired", doc[autoscalingv1.ScaleSpec]("replicas")).of("integer"),
		col("Available", doc[autoscalingv1.ScaleStatus]("replicas")).of("integer"),
		ageCol(),
	}, func(o *autoscalingv1.Scale, now time.Time) []any {
		return []any{o.Name, o.Spec.Replicas, o.Status.Replicas, age(o, now)}
	})
}

func (t tables) addJobs() {
	add(t, batchv1.GroupName, "Job", withContainers(doc[batchv1.JobSpec]("selector"),
		col("Status", "Status of the job."),
		col("Completions", doc[batchv1.JobStatus]("succeeded")),
		col("Duration", "Time required to complete the job."),
		ageCol(),
	), jobRow)
	add(t, batchv1.GroupName, "CronJob", withContainers(doc[batchv1.JobSpec]("selector"),
		col("Schedule", doc[batchv1.CronJobSpec]("schedule")),
		col("Timezone", doc[batchv1.CronJobSpec]("timeZone")),
		col("Suspend", doc[batchv1.CronJobSpec]("suspend")).of("boolean"),
		col("Active", doc[batchv1.CronJobStatus]("active")).of("integer"),
		col("Last Schedule", doc[batchv1.CronJobStatus]("lastScheduleTime")),
		ageCol(),
	), cronJobRow)
}

func deploymentRow(o *appsv1.Deployment, now time.Time) []any {
	names, images := containers(o.Spec.Template.Spec.Containers)
	selector := "<invalid>"
	if s, err := metav1.LabelSelectorAsSelector(o.Spec.Selector); err == nil {
		selector = s.String()
	}
	return []any{
		o.Name, fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, deref(o.Spec.Replicas, 0)),
		o.Status.UpdatedReplicas, o.Status.AvailableReplicas, age(o, now), names, images, selector,
	}
}

func controllerRow(o *corev1.ReplicationController, now time.Time) []any {
	var names, images string
	if o.Spec.Template != nil {
		names, images = containers(o.Spec.Template.Spec.Containers)
	}
	return []any{
		o.Name, deref(o.Spec.Replicas, 0), o.Status.Replicas, o.Status.ReadyReplicas, age(o, now),
		names, images, labels.FormatLabels(o.Spec.Selector),
	}
}

func daemonSetRow(o *appsv1.DaemonSet, now time.Time) []any {
	names, images := containers(o.Spec.Template.Spec.Containers)
	s := &o.Status
	return []any{
		o.Name, s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberReady, s.UpdatedNumberScheduled, s.NumberAvailable,
		labels.FormatLabels(o.Spec.Template.Spec.NodeSelector), age(o, now), names, images, metav1.FormatLabelSelector(o.Spec.Selector),
	}
}

func revisionRow(o *appsv1.ControllerRevision, now time.Time) []any {
	controller := "<none>"
	if ref := metav1.GetControllerOf(o); ref != nil {
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
		controller = strings.ToLower(kind.String()) + "/" + ref.Name
	}
	return []any{o.Name, controller, o.Revision, age(o, now)}
}

func jobRow(o *batchv1.Job, now time.Time) []any {
	names, images := containers(o.Spec.Template.Spec.Containers)
	completions := fmt.Sprintf("%d/1", o.Status.Succeeded)
	if o.Spec.Completions != nil {
		completions = fmt.Sprintf("%d/%d", o.Status.Succeeded, *o.Spec.Completions)
	} else if n := deref(o.Spec.Parallelism, 0); n > 1 {
		completions += fmt.Sprintf(" of %d", n)
	}
	took := ""
	switch {
	case o.Status.StartTime == nil:
	case o.Status.CompletionTime == nil:
		took = duration.HumanDuration(now.Sub(o.Status.StartTime.Time))
	default:
		took = duration.HumanDuration(o.Status.CompletionTime.Sub(o.Status.StartTime.Time))
	}
	return []any{
		o.Name, jobStatus(o), completions, took, age(o, now), names, images, metav1.FormatLabelSelector(o.Spec.Selector),
	}
}

func jobStatus(o *batchv1.Job) string {
	has := func(kind batchv1.JobConditionType) bool {
		i := slices.IndexFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind })
		return i >= 0 && o.Status.Conditions[i].Status == corev1.ConditionTrue
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if has(kind) {
			return string(kind)
		}
	}
	if o.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if has(kind) {
			return string(kind)
		}
	}
	return "Running"
}

func cronJobRow(o *batchv1.CronJob, now time.Time) []any {
	names, images := containers(o.Spec.JobTemplate.Spec.Template.Spec.Containers)
	last, suspend := "<none>", "<unset>"
	if o.Status.LastScheduleTime != nil {
		last = since(o.Status.LastScheduleTime.Time, now)
	}
	if s := o.Spec.Suspend; s != nil {
		suspend = "False"
		if *s {
			suspend = "True"
		}
	}
	return []any{
		o.Name, o.Spec.Schedule, orPointer(o.Spec.TimeZone, "<none>"), suspend, len(o.Status.Active), last, age(o, now),
		names, images, metav1.FormatLabelSelector(o.Spec.JobTemplate.Spec.Selector),
	}
}
