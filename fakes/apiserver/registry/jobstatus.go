package registry

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Whoever writes the status of a Job must tell a story that makes sense. What was
// wrong before and has not changed is let through.

func validateJobStatus(_ *Context, obj, old Object) field.ErrorList {
	j, was := obj.(*batchv1.Job), old.(*batchv1.Job)
	p := field.NewPath("status")
	errs := jobCounters(&j.Status, p)
	errs = append(errs, jobEnd(j, was, p)...)
	errs = append(errs, finishedJob(j, was, p)...)
	if now := &j.Status; (!pointsSame(now.Ready, was.Status.Ready) || now.Active != was.Status.Active) && now.Ready != nil && *now.Ready > now.Active {
		errs = append(errs, field.Invalid(p.Child("ready"), *now.Ready, "cannot set more ready pods than active"))
	}
	return append(errs, jobOnwards(j, was, p)...)
}

func jobCounters(s *batchv1.JobStatus, p *field.Path) field.ErrorList {
	errs := nonNegative(s.Active, p.Child("active"))
	errs = append(errs, nonNegative(s.Succeeded, p.Child("succeeded"))...)
	errs = append(errs, nonNegative(s.Failed, p.Child("failed"))...)
	errs = append(errs, optionalNonNegative(s.Ready, p.Child("ready"))...)
	return append(errs, optionalNonNegative(s.Terminating, p.Child("terminating"))...)
}

func jobHas(j *batchv1.Job, kind batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	for i := range j.Status.Conditions {
		if c := &j.Status.Conditions[i]; c.Type == kind && c.Status == status {
			return true
		}
	}
	return false
}

func jobIs(j *batchv1.Job, kind batchv1.JobConditionType) bool {
	return jobHas(j, kind, corev1.ConditionTrue)
}

func finished(j *batchv1.Job) bool {
	return jobIs(j, batchv1.JobComplete) || jobIs(j, batchv1.JobFailed)
}

// jobEnd checks the conditions of the end, and the time of it.
func jobEnd(j, was *batchv1.Job, p *field.Path) field.ErrorList {
	changed := func(kind batchv1.JobConditionType) bool { return jobIs(j, kind) != jobIs(was, kind) }
	complete, failed := jobIs(j, batchv1.JobComplete), jobIs(j, batchv1.JobFailed)
	s := &j.Status
	ended, started := !sameMoment(s.CompletionTime, was.Status.CompletionTime), !sameMoment(s.StartTime, was.Status.StartTime)
	var errs field.ErrorList
	refuse := func(what string) {
		errs = append(errs, field.Invalid(p.Child("conditions"), field.OmitValueType{}, what))
	}
	if complete && failed && (changed(batchv1.JobComplete) || changed(batchv1.JobFailed)) {
		refuse("cannot set Complete=True and Failed=true conditions")
	}
	if complete && jobIs(j, batchv1.JobFailureTarget) && (changed(batchv1.JobComplete) || changed(batchv1.JobFailureTarget)) {
		refuse("cannot set Complete=True and FailureTarget=true conditions")
	}
	if changed(batchv1.JobComplete) || ended {
		switch at := p.Child("completionTime"); {
		case s.CompletionTime != nil && !complete:
			errs = append(errs, field.Invalid(at, s.CompletionTime, "cannot set completionTime when there is no Complete=True condition"))
		case s.CompletionTime == nil && complete:
			errs = append(errs, field.Required(at, "completionTime is required for Complete jobs"))
		}
	}
	if (started || ended) && s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Before(s.StartTime) {
		errs = append(errs, field.Invalid(p.Child("completionTime"), s.CompletionTime, "must be equal to or after `startTime`"))
	}
	if failed && !jobIs(j, batchv1.JobFailureTarget) && (changed(batchv1.JobFailed) || !pointsSame(s.FailedIndexes, was.Status.FailedIndexes)) {
		refuse("cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if complete && !jobIs(j, batchv1.JobSuccessCriteriaMet) && (changed(batchv1.JobComplete) || changed(batchv1.JobSuccessCriteriaMet)) {
		refuse("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
	return errs
}

// finishedJob checks that a job that is finished has begun, and goes on no more.
func finishedJob(j, was *batchv1.Job, p *field.Path) field.ErrorList {
	if !finished(j) {
		return nil
	}
	s, before, fresh := &j.Status, &was.Status, !finished(was)
	var errs field.ErrorList
	if s.Active > 0 && (fresh || s.Active != before.Active) {
		errs = append(errs, field.Invalid(p.Child("active"), s.Active, "active>0 is invalid for finished job"))
	}
	nothing := isTrue(j.Spec.Suspend) && j.Spec.Completions != nil && *j.Spec.Completions == 0
	if s.StartTime == nil && (fresh || before.StartTime != nil) && !nothing {
		errs = append(errs, field.Required(p.Child("startTime"), "startTime is required for finished job"))
	}
	if u := s.UncountedTerminatedPods; u != nil && len(u.Failed)+len(u.Succeeded) > 0 && (fresh || !equality.Semantic.DeepEqual(u, before.UncountedTerminatedPods)) {
		errs = append(errs, field.Invalid(p.Child("uncountedTerminatedPods"), u, "must be empty for finished job"))
	}
	if s.Terminating != nil && *s.Terminating > 0 && (fresh || !pointsSame(s.Terminating, before.Terminating)) {
		errs = append(errs, field.Invalid(p.Child("terminating"), s.Terminating, "terminating>0 is invalid for finished job"))
	}
	return errs
}

// jobOnwards checks that nothing is taken back.
func jobOnwards(j, was *batchv1.Job, p *field.Path) field.ErrorList {
	s, before := &j.Status, &was.Status
	var errs field.ErrorList
	refuse := func(what string) {
		errs = append(errs, field.Invalid(p.Child("conditions"), field.OmitValueType{}, what))
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if jobIs(was, kind) && !jobIs(j, kind) {
			refuse(fmt.Sprintf("cannot disable the terminal %s=True condition", kind))
		}
	}
	if s.Failed < before.Failed {
		errs = append(errs, field.Invalid(p.Child("failed"), s.Failed, "cannot decrease the failed counter"))
	}
	indexed := j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion
	if s.Succeeded < before.Succeeded && !(indexed && pointsSame(j.Spec.Completions, j.Spec.Parallelism)) {
		errs = append(errs, field.Invalid(p.Child("succeeded"), s.Succeeded, "cannot decrease the succeeded counter"))
	}
	if s.CompletionTime != nil && before.CompletionTime != nil && !sameMoment(s.CompletionTime, before.CompletionTime) {
		errs = append(errs, field.Invalid(p.Child("completionTime"), s.CompletionTime, "field is immutable"))
	}
	resumed := jobIs(was, batchv1.JobSuspended) && jobHas(j, batchv1.JobSuspended, corev1.ConditionFalse)
	if before.StartTime != nil && !sameMoment(s.StartTime, before.StartTime) && !resumed && !isTrue(j.Spec.Suspend) {
		errs = append(errs, field.Invalid(p.Child("startTime"), s.StartTime, "field is immutable for unsuspended job once set"))
	}
	switch met, then := jobIs(j, batchv1.JobSuccessCriteriaMet), jobIs(was, batchv1.JobSuccessCriteriaMet); {
	case then && !met:
		refuse("cannot disable the SuccessCriteriaMet=True condition")
	case met && !then && jobIs(was, batchv1.JobComplete):
		refuse("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
	}
	return errs
}

func sameMoment(a, b *metav1.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(b)
}
