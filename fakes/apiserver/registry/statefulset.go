package registry

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var statefulSets = &Kind{
	GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	Names:            Names{Plural: "statefulsets", ShortNames: []string{"sts"}, Categories: []string{"all"}},
	Prototype:        &appsv1.StatefulSet{},
	Generation:       SpecOnly,
	Naming:           apivalidation.NameIsDNSLabel,
	Default:          func(obj Object) { defaultStatefulSet(&obj.(*appsv1.StatefulSet).Spec) },
	Warn: warnTemplate(func(obj Object) (*corev1.PodTemplateSpec, *field.Path) {
		return &obj.(*appsv1.StatefulSet).Spec.Template, templatePath
	}),
	Status: &Status{Validate: validateSetStatus},
	Scale: &Scale{
		Replicas:    func(o Object) int32 { return value(o.(*appsv1.StatefulSet).Spec.Replicas) },
		SetReplicas: func(o Object, n int32) { o.(*appsv1.StatefulSet).Spec.Replicas = &n },
		Current:     func(o Object) int32 { return o.(*appsv1.StatefulSet).Status.Replicas },
		Selector:    func(o Object) string { return metav1.FormatLabelSelector(o.(*appsv1.StatefulSet).Spec.Selector) },
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateStatefulSet(&obj.(*appsv1.StatefulSet).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		s, was := &obj.(*appsv1.StatefulSet).Spec, &old.(*appsv1.StatefulSet).Spec
		p := field.NewPath("spec")
		errs := validateStatefulSet(s)
		errs = append(errs, fixedSelector(s.Selector, was.Selector)...)
		errs = append(errs, fixed(s.VolumeClaimTemplates, was.VolumeClaimTemplates, p.Child("volumeClaimTemplates"))...)
		errs = append(errs, fixed(s.ServiceName, was.ServiceName, p.Child("serviceName"))...)
		return append(errs, fixed(s.PodManagementPolicy, was.PodManagementPolicy, p.Child("podManagementPolicy"))...)
	},
}

// fixed checks that a field has not changed.
func fixed(now, was any, p *field.Path) field.ErrorList {
	return apivalidation.ValidateImmutableField(now, was, p)
}

func defaultStatefulSet(s *appsv1.StatefulSetSpec) {
	if s.PodManagementPolicy == "" {
		s.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	u := &s.UpdateStrategy
	if u.Type == "" {
		u.Type = appsv1.RollingUpdateStatefulSetStrategyType
		fill(&u.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if u.Type == appsv1.RollingUpdateStatefulSetStrategyType && u.RollingUpdate != nil {
		if r := u.RollingUpdate; r.Partition == nil || r.MaxUnavailable == nil {
			r = mine(&u.RollingUpdate)
			fill(&r.Partition, 0)
			number(&r.MaxUnavailable, 1)
		}
	}
	if p := s.PersistentVolumeClaimRetentionPolicy; p == nil || p.WhenDeleted == "" || p.WhenScaled == "" {
		p = mine(&s.PersistentVolumeClaimRetentionPolicy)
		for _, policy := range []*appsv1.PersistentVolumeClaimRetentionPolicyType{&p.WhenDeleted, &p.WhenScaled} {
			if *policy == "" {
				*policy = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
			}
		}
	}
	fill(&s.Replicas, 1)
	fill(&s.RevisionHistoryLimit, 10)
	for i := range s.VolumeClaimTemplates {
		claim := &s.VolumeClaimTemplates[i]
		defaultClaim(claim)
		if claim.APIVersion == "" {
			claim.APIVersion = "v1"
		}
		if claim.Kind == "" {
			claim.Kind = "PersistentVolumeClaim"
		}
	}
	defaultPodTemplate(&s.Template)
}

func validateStatefulSet(s *appsv1.StatefulSetSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := optionalNonNegative(s.Replicas, p.Child("replicas"))
	if m := s.PodManagementPolicy; m != appsv1.OrderedReadyPodManagement && m != appsv1.ParallelPodManagement {
		errs = append(errs, field.Invalid(p.Child("podManagementPolicy"), m, "must be 'OrderedReady' or 'Parallel'"))
	}
	errs = append(errs, nonNegative(s.MinReadySeconds, p.Child("minReadySeconds"))...)
	if s.ServiceName != "" {
		errs = append(errs, dnsLabel(s.ServiceName, p.Child("serviceName"))...)
	}
	errs = append(errs, templateSelector(s.Selector, s.Template.Labels, p, "statefulset")...)
	errs = append(errs, validateSetStrategy(&s.UpdateStrategy, p.Child("updateStrategy"))...)
	template := &s.Template
	if len(s.VolumeClaimTemplates) > 0 || template.Spec.Hostname != "" {
		template = template.DeepCopy()
		template.Spec.Hostname = "" // every pod has its own
		for _, c := range s.VolumeClaimTemplates {
			template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{ // they may be mounted
				Name: c.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name}},
			})
		}
	}
	return append(errs, runningTemplate(template, p.Child("template"), "StatefulSet")...)
}

func validateSetStrategy(u *appsv1.StatefulSetUpdateStrategy, p *field.Path) field.ErrorList {
	switch u.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		if u.RollingUpdate != nil {
			return field.ErrorList{field.Invalid(p.Child("rollingUpdate"), u.RollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")}
		}
	case appsv1.RollingUpdateStatefulSetStrategyType:
	default:
		// This is how a real server prints it.
		printed := struct {
			Type          appsv1.StatefulSetUpdateStrategyType
			RollingUpdate *appsv1.RollingUpdateStatefulSetStrategy
		}{u.Type, u.RollingUpdate}
		return field.ErrorList{field.Invalid(p, printed, "must be 'RollingUpdate' or 'OnDelete'")}
	}
	return nil
}

func validateSetStatus(_ *Context, obj, old Object) field.ErrorList {
	s, was := &obj.(*appsv1.StatefulSet).Status, &old.(*appsv1.StatefulSet).Status
	p := field.NewPath("status")
	errs := replicaStatus(s.Replicas, map[string]int32{
		"replicas": s.Replicas, "readyReplicas": s.ReadyReplicas, "currentReplicas": s.CurrentReplicas,
		"updatedReplicas": s.UpdatedReplicas, "availableReplicas": s.AvailableReplicas,
	}, 0, 0)
	if s.AvailableReplicas > s.ReadyReplicas {
		errs = append(errs, field.Invalid(p.Child("availableReplicas"), s.AvailableReplicas, "cannot be greater than status.readyReplicas"))
	}
	return append(errs, countedUp(s.CollisionCount, was.CollisionCount, p.Child("collisionCount"))...)
}

var daemonSets = &Kind{
	GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	Names:            Names{Plural: "daemonsets", ShortNames: []string{"ds"}, Categories: []string{"all"}},
	Prototype:        &appsv1.DaemonSet{},
	Generation:       SpecOnly,
	Default: func(obj Object) {
		countFromZero(obj)
		defaultDaemonSet(&obj.(*appsv1.DaemonSet).Spec)
	},
	Blank: countFromZero,
	Warn: warnTemplate(func(obj Object) (*corev1.PodTemplateSpec, *field.Path) {
		return &obj.(*appsv1.DaemonSet).Spec.Template, templatePath
	}),
	Status: &Status{
		Prepare:  func(_ *Context, obj, old Object) { setTemplateGeneration(obj, templateGeneration(old)) },
		Validate: validateDaemonSetStatus,
	},
	PrepareCreate: func(_ *Context, obj Object) { setTemplateGeneration(obj, "1") },
	PrepareUpdate: countTemplates,
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateDaemonSet(&obj.(*appsv1.DaemonSet).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		d, was := obj.(*appsv1.DaemonSet), old.(*appsv1.DaemonSet)
		return append(fixedSelector(d.Spec.Selector, was.Spec.Selector), validateDaemonSet(&d.Spec)...)
	},
}

func defaultDaemonSet(s *appsv1.DaemonSetSpec) {
	if s.UpdateStrategy.Type == "" {
		s.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	}
	if s.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		if r := s.UpdateStrategy.RollingUpdate; r == nil || r.MaxUnavailable == nil || r.MaxSurge == nil {
			r = mine(&s.UpdateStrategy.RollingUpdate)
			number(&r.MaxUnavailable, 1)
			number(&r.MaxSurge, 0)
		}
	}
	fill(&s.RevisionHistoryLimit, 10)
	defaultPodTemplate(&s.Template)
}

func validateDaemonSet(s *appsv1.DaemonSetSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := templateSelector(s.Selector, s.Template.Labels, p, "daemonset")
	if s.Selector == nil {
		errs = errs[1:] // a real server only says that it does not select the pods
	}
	errs = append(errs, runningTemplate(&s.Template, p.Child("template"), "DaemonSet")...)
	if r := s.UpdateStrategy.RollingUpdate; r != nil && r.MaxSurge != nil && r.MaxUnavailable != nil && *r.MaxSurge != intstr.FromInt32(0) && *r.MaxUnavailable != intstr.FromInt32(0) {
		errs = append(errs, field.Invalid(p.Child("updateStrategy", "rollingUpdate", "maxSurge"), *r.MaxSurge, "may not be set when maxUnavailable is non-zero"))
	}
	errs = append(errs, nonNegative(s.MinReadySeconds, p.Child("minReadySeconds"))...)
	return append(errs, optionalNonNegative(s.RevisionHistoryLimit, p.Child("revisionHistoryLimit"))...)
}

func validateDaemonSetStatus(_ *Context, obj, old Object) field.ErrorList {
	s, was := &obj.(*appsv1.DaemonSet).Status, &old.(*appsv1.DaemonSet).Status
	p := field.NewPath("status")
	counts := map[string]int32{
		"currentNumberScheduled": s.CurrentNumberScheduled, "numberMisscheduled": s.NumberMisscheduled,
		"desiredNumberScheduled": s.DesiredNumberScheduled, "numberReady": s.NumberReady, "updatedNumberScheduled": s.UpdatedNumberScheduled,
		"numberAvailable": s.NumberAvailable, "numberUnavailable": s.NumberUnavailable,
	}
	var errs field.ErrorList
	for _, name := range sortedKeys(counts) {
		errs = append(errs, nonNegative(counts[name], p.Child(name))...)
	}
	return append(errs, countedUp(s.CollisionCount, was.CollisionCount, p.Child("collisionCount"))...)
}

var controllerRevisions = &Kind{
	GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("ControllerRevision"),
	Names:            Names{Plural: "controllerrevisions"},
	Prototype:        &appsv1.ControllerRevision{},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		return fixed(obj.(*appsv1.ControllerRevision).Data, old.(*appsv1.ControllerRevision).Data, field.NewPath("data"))
	},
}
