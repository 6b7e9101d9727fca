package registry

import (
	"slices"

	"fmt"
	"math"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// OrphanWarning goes with the deletion of a Job that says nothing about its pods.
const OrphanWarning = "child pods are preserved by default when jobs are deleted; " +
	"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"

var jobs = &Kind{
	GroupVersionKind: batchv1.SchemeGroupVersion.WithKind("Job"),
	Names:            Names{Plural: "jobs", Categories: []string{"all"}},
	Prototype:        &batchv1.Job{},
	Generation:       SpecOnly,
	Delete:           DeleteRules{Orphan: true},
	PlainFieldError:  true,
	Fields: []*store.Field{
		{Name: "status.successful", Get: func(o Object) string { return fmt.Sprint(o.(*batchv1.Job).Status.Succeeded) }},
	},
	Default:       func(obj Object) { defaultJob(obj.(*batchv1.Job)) },
	Settle:        func(obj Object) bool { return defaultJobLabels(obj.(*batchv1.Job)) },
	Status:        &Status{Validate: validateJobStatus},
	PrepareCreate: func(_ *Context, obj Object) { selectOwnPods(obj.(*batchv1.Job)) },
	Warn: warnTemplate(func(obj Object) (*corev1.PodTemplateSpec, *field.Path) {
		return &obj.(*batchv1.Job).Spec.Template, templatePath
	}),
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return append(validateJob(&obj.(*batchv1.Job).Spec), validateHostnames(obj.(*batchv1.Job))...)
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		s, was := &obj.(*batchv1.Job).Spec, &old.(*batchv1.Job).Spec
		p := field.NewPath("spec")
		errs := validateJob(s)
		errs = append(errs, fixedCompletions(s, was, p.Child("completions"))...)
		errs = append(errs, fixed(s.Selector, was.Selector, p.Child("selector"))...)
		errs = append(errs, fixedTemplate(obj.(*batchv1.Job), old.(*batchv1.Job), p.Child("template"))...)
		errs = append(errs, fixed(s.CompletionMode, was.CompletionMode, p.Child("completionMode"))...)
		errs = append(errs, fixed(s.PodFailurePolicy, was.PodFailurePolicy, p.Child("podFailurePolicy"))...)
		errs = append(errs, fixed(s.BackoffLimitPerIndex, was.BackoffLimitPerIndex, p.Child("backoffLimitPerIndex"))...)
		errs = append(errs, fixed(s.ManagedBy, was.ManagedBy, p.Child("managedBy"))...)
		return append(errs, fixed(s.SuccessPolicy, was.SuccessPolicy, p.Child("successPolicy"))...)
	},
}

func defaultJob(j *batchv1.Job) {
	s := &j.Spec
	if s.Completions == nil && s.Parallelism == nil {
		fill(&s.Completions, 1)
	}
	fill(&s.Parallelism, 1)
	if s.BackoffLimitPerIndex != nil {
		fill(&s.BackoffLimit, math.MaxInt32)
	}
	fill(&s.BackoffLimit, 6)
	fill(&s.CompletionMode, batchv1.NonIndexedCompletion)
	fill(&s.Suspend, false)
	if s.PodFailurePolicy != nil {
		fill(&s.PodReplacementPolicy, batchv1.Failed)
	}
	fill(&s.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	fill(&s.ManualSelector, false)
	defaultPodTemplate(&s.Template)
	defaultJobLabels(j)
}

func defaultJobLabels(j *batchv1.Job) bool {
	if len(j.Labels) > 0 || len(j.Spec.Template.Labels) == 0 {
		return false
	}
	j.Labels = copied(j.Spec.Template.Labels)
	return true
}

func copied(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// selectOwnPods gives the job's pods labels that no other job's have.
func selectOwnPods(j *batchv1.Job) {
	s := &j.Spec
	if *s.ManualSelector {
		return
	}
	labels := copied(s.Template.Labels)
	for key, value := range map[string]string{
		"job-name": j.Name, batchv1.JobNameLabel: j.Name,
		"controller-uid": string(j.UID), batchv1.ControllerUidLabel: string(j.UID),
	} {
		if _, ok := labels[key]; !ok {
			labels[key] = value
		}
	}
	s.Template.Labels = labels
	fill(&s.Selector, metav1.LabelSelector{})
	if _, ok := s.Selector.MatchLabels[batchv1.ControllerUidLabel]; !ok {
		s.Selector.MatchLabels = copied(s.Selector.MatchLabels)
		s.Selector.MatchLabels[batchv1.ControllerUidLabel] = string(j.UID)
	}
}

// validateHostnames checks that the last pod of an indexed job can be called after it.
func validateHostnames(j *batchv1.Job) field.ErrorList {
	s := &j.Spec
	if s.CompletionMode == nil || *s.CompletionMode != batchv1.IndexedCompletion || s.Completions == nil || *s.Completions <= 0 {
		return nil
	}
	last := fmt.Sprintf("%s-%d", j.Name, *s.Completions-1)
	if len(dnsLabel(last, nil)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), j.Name, "will not able to create pod with invalid DNS label: "+last)}
}

// validateJob checks a job, and that it selects its own pods.
func validateJob(s *batchv1.JobSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := validateJobSpec(s, p)
	if s.Selector == nil {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	} else {
		errs = append(errs, unversioned.ValidateLabelSelector(s.Selector, unversioned.LabelSelectorValidationOptions{}, p.Child("selector"))...)
	}
	if !selects(s.Selector, s.Template.Labels) {
		errs = append(errs, field.Invalid(p.Child("template", "metadata", "labels"), s.Template.Labels, "`selector` does not match template `labels`"))
	}
	return errs
}

func validateJobSpec(s *batchv1.JobSpec, p *field.Path) field.ErrorList {
	errs := optionalNonNegative(s.Parallelism, p.Child("parallelism"))
	errs = append(errs, optionalNonNegative(s.Completions, p.Child("completions"))...)
	if d := s.ActiveDeadlineSeconds; d != nil {
		errs = append(errs, apivalidation.ValidateNonnegativeField(*d, p.Child("activeDeadlineSeconds"))...)
	}
	errs = append(errs, optionalNonNegative(s.BackoffLimit, p.Child("backoffLimit"))...)
	errs = append(errs, optionalNonNegative(s.TTLSecondsAfterFinished, p.Child("ttlSecondsAfterFinished"))...)
	errs = append(errs, validateCompletionMode(s, p)...)
	if policy := s.PodReplacementPolicy; policy != nil {
		allowed := []batchv1.PodReplacementPolicy{batchv1.Failed, batchv1.TerminatingOrFailed}
		if s.PodFailurePolicy != nil {
			allowed = allowed[:1]
		}
		errs = append(errs, supported(p.Child("podReplacementPolicy"), *policy, allowed...)...)
	}
	errs = append(errs, validatePodTemplate(&s.Template, p.Child("template"))...)
	at := p.Child("template", "spec", "restartPolicy")
	switch r := s.Template.Spec.RestartPolicy; {
	case r == corev1.RestartPolicyAlways || r == "":
		errs = append(errs, field.Required(at, `valid values: "OnFailure", "Never"`))
	case r != corev1.RestartPolicyOnFailure && r != corev1.RestartPolicyNever:
		errs = append(errs, field.NotSupported(at, r, []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}))
	case s.PodFailurePolicy != nil && r != corev1.RestartPolicyNever:
		errs = append(errs, field.Invalid(at, r, `only "Never" is supported when podFailurePolicy is specified`))
	}
	return errs
}

func validateCompletionMode(s *batchv1.JobSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	mode := s.CompletionMode
	if mode != nil {
		errs = append(errs, supported(p.Child("completionMode"), *mode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)...)
		if *mode == batchv1.IndexedCompletion && s.Completions == nil {
			errs = append(errs, field.Required(p.Child("completions"), "when completion mode is Indexed"))
		}
	}
	if mode == nil || *mode == batchv1.NonIndexedCompletion {
		const only = "requires indexed completion mode"
		if n := s.BackoffLimitPerIndex; n != nil {
			errs = append(errs, field.Invalid(p.Child("backoffLimitPerIndex"), *n, only))
		}
		if n := s.MaxFailedIndexes; n != nil {
			errs = append(errs, field.Invalid(p.Child("maxFailedIndexes"), *n, only))
		}
	}
	return errs
}

// fixedCompletions checks that the number of completions does not change, unless
// an indexed job grows or shrinks with it.
func fixedCompletions(s, was *batchv1.JobSpec, p *field.Path) field.ErrorList {
	if s.CompletionMode == nil || *s.CompletionMode != batchv1.IndexedCompletion {
		return fixed(s.Completions, was.Completions, p)
	}
	if s.Completions == nil || pointsSame(s.Completions, was.Completions) || *s.Completions == *s.Parallelism {
		return nil
	}
	return field.ErrorList{field.Invalid(p, *s.Completions, "can only be modified in tandem with spec.parallelism")}
}

// fixedTemplate checks that the template has not changed, apart from where the
// pods of a suspended job may run, and what they may use.
func fixedTemplate(job, old *batchv1.Job, p *field.Path) field.ErrorList {
	now, was := &job.Spec.Template, &old.Spec.Template
	started := old.Status.StartTime != nil && !slices.ContainsFunc(old.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
	})
	if !isTrue(old.Spec.Suspend) || started || old.Status.Active > 0 {
		return fixed(*now, *was, p)
	}
	before := was.Spec.DeepCopy()
	before.NodeSelector, before.Tolerations, before.SchedulingGates = now.Spec.NodeSelector, now.Spec.Tolerations, now.Spec.SchedulingGates
	before.Affinity = otherNodes(before.Affinity, now.Spec.Affinity)
	otherResources(before.Containers, now.Spec.Containers)
	otherResources(before.InitContainers, now.Spec.InitContainers)
	return fixed(now.Spec, *before, p.Child("spec"))
}

// otherNodes returns an affinity with the nodes of another.
func otherNodes(a, of *corev1.Affinity) *corev1.Affinity {
	switch {
	case a == nil && of == nil:
		return nil
	case a == nil:
		return &corev1.Affinity{NodeAffinity: of.NodeAffinity}
	case of != nil:
		a.NodeAffinity = of.NodeAffinity
		return a
	}
	a.NodeAffinity = nil
	if *a == (corev1.Affinity{}) {
		return nil
	}
	return a
}

// otherResources gives containers the resources of others, if they have the same
// names.
func otherResources(containers, of []corev1.Container) {
	if len(containers) != len(of) {
		return
	}
	for i := range containers {
		if containers[i].Name == of[i].Name {
			containers[i].Resources = of[i].Resources
		}
	}
}

// cronJobName is how long a name may be that gets 11 characters more in those of jobs.
const cronJobName = 52

var cronJobs = &Kind{
	GroupVersionKind: batchv1.SchemeGroupVersion.WithKind("CronJob"),
	Names:            Names{Plural: "cronjobs", ShortNames: []string{"cj"}, Categories: []string{"all"}},
	Prototype:        &batchv1.CronJob{},
	Generation:       SpecOnly,
	Status:           &Status{},
	Default: func(obj Object) {
		s := &obj.(*batchv1.CronJob).Spec
		if s.ConcurrencyPolicy == "" {
			s.ConcurrencyPolicy = batchv1.AllowConcurrent
		}
		fill(&s.Suspend, false)
		fill(&s.SuccessfulJobsHistoryLimit, 3)
		fill(&s.FailedJobsHistoryLimit, 1)
		defaultPodTemplate(&s.JobTemplate.Spec.Template)
	},
	Warn: warnTemplate(func(obj Object) (*corev1.PodTemplateSpec, *field.Path) {
		return &obj.(*batchv1.CronJob).Spec.JobTemplate.Spec.Template, field.NewPath("spec", "jobTemplate", "spec", "template")
	}),
	Validate: func(_ *Context, obj Object) field.ErrorList {
		errs := validateCronJob(&obj.(*batchv1.CronJob).Spec)
		if name := obj.GetName(); len(name) > cronJobName {
			errs = append(errs, field.Invalid(metadataPath.Child("name"), name, fmt.Sprintf("must be no more than %d characters", cronJobName)))
		}
		return errs
	},
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList { return validateCronJob(&obj.(*batchv1.CronJob).Spec) },
}

func validateCronJob(s *batchv1.CronJobSpec) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if d := s.StartingDeadlineSeconds; d != nil && *d < 0 {
		errs = append(errs, field.Invalid(p.Child("startingDeadlineSeconds"), *d, "must be greater than or equal to 0"))
	}
	if s.Schedule == "" {
		errs = append(errs, field.Required(p.Child("schedule"), ""))
	} else if err := checkSchedule(s.Schedule); err != nil {
		errs = append(errs, field.Invalid(p.Child("schedule"), s.Schedule, err.Error()))
	}
	errs = append(errs, oneOf(p.Child("concurrencyPolicy"), s.ConcurrencyPolicy,
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)...)
	errs = append(errs, validateJobSpec(&s.JobTemplate.Spec, p.Child("jobTemplate", "spec"))...)
	errs = append(errs, optionalNonNegative(s.SuccessfulJobsHistoryLimit, p.Child("successfulJobsHistoryLimit"))...)
	return append(errs, optionalNonNegative(s.FailedJobsHistoryLimit, p.Child("failedJobsHistoryLimit"))...)
}

// checkSchedule looks at no more than the number of fields.
func checkSchedule(schedule string) error {
	if strings.HasPrefix(schedule, "@") {
		return nil
	}
	if f := strings.Fields(schedule); len(f) != 5 {
		return fmt.Errorf("expected exactly 5 fields, found %d: %v", len(f), f)
	}
	return nil
}
