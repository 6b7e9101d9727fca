package registry

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var deployments = &Kind{
	GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"),
	Names:            Names{Plural: "deployments", ShortNames: []string{"deploy"}, Categories: []string{"all"}},
	Prototype:        &appsv1.Deployment{},
	Generation:       SpecOrAnnotations,
	Default:          func(obj Object) { defaultDeployment(&obj.(*appsv1.Deployment).Spec) },
	Warn: warnTemplate(func(obj Object) (*corev1.PodTemplateSpec, *field.Path) {
		return &obj.(*appsv1.Deployment).Spec.Template, templatePath
	}),
	Status: &Status{KeepLabels: true, Validate: func(_ *Context, obj, old Object) field.ErrorList {
		s, was := &obj.(*appsv1.Deployment).Status, &old.(*appsv1.Deployment).Status
		p := field.NewPath("status")
		errs := replicaStatus(s.Replicas, map[string]int32{
			"replicas": s.Replicas, "updatedReplicas": s.UpdatedReplicas, "readyReplicas": s.ReadyReplicas,
			"availableReplicas": s.AvailableReplicas,
		}, s.ReadyReplicas, s.AvailableReplicas)
		errs = append(errs, nonNegative(s.UnavailableReplicas, p.Child("unavailableReplicas"))...)
		return append(errs, countedUp(s.CollisionCount, was.CollisionCount, p.Child("collisionCount"))...)
	}},
	Scale: &Scale{
		Replicas:    func(o Object) int32 { return value(o.(*appsv1.Deployment).Spec.Replicas) },
		SetReplicas: func(o Object, n int32) { o.(*appsv1.Deployment).Spec.Replicas = &n },
		Current:     func(o Object) int32 { return o.(*appsv1.Deployment).Status.Replicas },
		Selector:    func(o Object) string { return metav1.FormatLabelSelector(o.(*appsv1.Deployment).Spec.Selector) },
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateDeployment(&obj.(*appsv1.Deployment).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		d, was := obj.(*appsv1.Deployment), old.(*appsv1.Deployment)
		return append(validateDeployment(&d.Spec), fixedSelector(d.Spec.Selector, was.Spec.Selector)...)
	},
}

func defaultDeployment(s *appsv1.DeploymentSpec) {
	fill(&s.Replicas, 1)
	if s.Strategy.Type == "" {
		s.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if s.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		if r := s.Strategy.RollingUpdate; r == nil || r.MaxUnavailable == nil || r.MaxSurge == nil {
			r = mine(&s.Strategy.RollingUpdate)
			percent(&r.MaxUnavailable, "25%")
			percent(&r.MaxSurge, "25%")
		}
	}
	fill(&s.RevisionHistoryLimit, 10)
	fill(&s.ProgressDeadlineSeconds, 600)
	defaultPodTemplate(&s.Template)
}

func validateDeployment(s *appsv1.DeploymentSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := optionalNonNegative(s.Replicas, p.Child("replicas"))
	errs = append(errs, templateSelector(s.Selector, s.Template.Labels, p, "deployment")...)
	errs = append(errs, runningTemplate(&s.Template, p.Child("template"), "ReplicaSet")...)
	switch s.Strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.Strategy.RollingUpdate != nil {
			errs = append(errs, field.Forbidden(p.Child("strategy", "rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'"))
		}
	case appsv1.RollingUpdateDeploymentStrategyType:
		if r := s.Strategy.RollingUpdate; r != nil {
			at := p.Child("strategy", "rollingUpdate")
			errs = append(errs, numberOrPercent(r.MaxSurge, at.Child("maxSurge"))...)
			errs = append(errs, shareOfPods(r.MaxUnavailable, at.Child("maxUnavailable"))...)
			if none(r.MaxUnavailable) && none(r.MaxSurge) {
				errs = append(errs, field.Invalid(at.Child("maxUnavailable"), *r.MaxUnavailable, "may not be 0 when `maxSurge` is 0"))
			}
		}
	default:
		errs = append(errs, field.NotSupported(p.Child("strategy"), s.Strategy,
			[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType}))
	}
	errs = append(errs, nonNegative(s.MinReadySeconds, p.Child("minReadySeconds"))...)
	errs = append(errs, optionalNonNegative(s.RevisionHistoryLimit, p.Child("revisionHistoryLimit"))...)
	if d := s.ProgressDeadlineSeconds; d != nil && *d <= s.MinReadySeconds {
		errs = append(errs, field.Invalid(p.Child("progressDeadlineSeconds"), *d, "must be greater than minReadySeconds"))
	}
	return errs
}

// runningTemplate checks the template of pods that run for ever.
func runningTemplate(t *corev1.PodTemplateSpec, p *field.Path, owner string) field.ErrorList {
	errs := validatePodTemplate(t, p)
	if t.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(p.Child("spec", "restartPolicy"), t.Spec.RestartPolicy, []string{string(corev1.RestartPolicyAlways)}))
	}
	if t.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(p.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in "+owner+" is not Supported"))
	}
	return errs
}

// replicaStatus checks the counters of a workload's status.
func replicaStatus(total int32, counts map[string]int32, ready, available int32) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("status")
	for _, name := range sortedKeys(counts) {
		errs = append(errs, nonNegative(counts[name], p.Child(name))...)
		if counts[name] > total {
			errs = append(errs, field.Invalid(p.Child(name), counts[name], "cannot be greater than status.replicas"))
		}
	}
	if available > ready {
		errs = append(errs, field.Invalid(p.Child("availableReplicas"), available, "cannot be greater than readyReplicas"))
	}
	return errs
}

// countedUp checks a number that may only grow.
func countedUp(n, was *int32, p *field.Path) field.ErrorList {
	errs := optionalNonNegative(n, p)
	if was != nil && value(n) < *was {
		errs = append(errs, field.Invalid(p, value(n), "cannot be decremented"))
	}
	return errs
}

func value(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}

var replicaSets = &Kind{
	GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	Names:            Names{Plural: "replicasets", ShortNames: []string{"rs"}, Categories: []string{"all"}},
	Prototype:        &appsv1.ReplicaSet{},
	Generation:       SpecOnly,
	Default: func(obj Object) {
		s := &obj.(*appsv1.ReplicaSet).Spec
		fill(&s.Replicas, 1)
		defaultPodTemplate(&s.Template)
	},
	Status: &Status{Validate: func(_ *Context, obj, _ Object) field.ErrorList {
		s := &obj.(*appsv1.ReplicaSet).Status
		return replicaStatus(s.Replicas, map[string]int32{
			"replicas": s.Replicas, "fullyLabeledReplicas": s.FullyLabeledReplicas, "readyReplicas": s.ReadyReplicas,
			"availableReplicas": s.AvailableReplicas,
		}, s.ReadyReplicas, s.AvailableReplicas)
	}},
	Scale: &Scale{
		Replicas:    func(o Object) int32 { return value(o.(*appsv1.ReplicaSet).Spec.Replicas) },
		SetReplicas: func(o Object, n int32) { o.(*appsv1.ReplicaSet).Spec.Replicas = &n },
		Current:     func(o Object) int32 { return o.(*appsv1.ReplicaSet).Status.Replicas },
		Selector:    func(o Object) string { return metav1.FormatLabelSelector(o.(*appsv1.ReplicaSet).Spec.Selector) },
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateReplicaSet(&obj.(*appsv1.ReplicaSet).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		rs, was := obj.(*appsv1.ReplicaSet), old.(*appsv1.ReplicaSet)
		return append(validateReplicaSet(&rs.Spec), fixedSelector(rs.Spec.Selector, was.Spec.Selector)...)
	},
}

func validateReplicaSet(s *appsv1.ReplicaSetSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := optionalNonNegative(s.Replicas, p.Child("replicas"))
	errs = append(errs, nonNegative(s.MinReadySeconds, p.Child("minReadySeconds"))...)
	errs = append(errs, templateSelector(s.Selector, s.Template.Labels, p, "deployment")...)
	return append(errs, runningTemplate(&s.Template, p.Child("template"), "ReplicaSet")...)
}
