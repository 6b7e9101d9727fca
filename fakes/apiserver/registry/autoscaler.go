package registry

import (
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// autoscalers are stored as autoscaling/v2. The older version shows what it has no
// fields for in annotations.
var autoscalers = &Kind{
	GroupVersionKind: autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
	Names:            Names{Plural: "horizontalpodautoscalers", ShortNames: []string{"hpa"}, Categories: []string{"all"}},
	Prototype:        &autoscalingv2.HorizontalPodAutoscaler{},
	Generation:       SpecOnly,
	Status:           &Status{Validate: validateAutoscalerStatus},
	Default:          func(obj Object) { defaultAutoscaler(&obj.(*autoscalingv2.HorizontalPodAutoscaler).Spec) },
	Validate:         func(_ *Context, obj Object) field.ErrorList { return validateAutoscaler(obj) },
	ValidateUpdate:   func(_ *Context, obj, _ Object) field.ErrorList { return validateAutoscaler(obj) },
	Versions: []Version{{
		GroupVersionKind: autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
		Prototype:        &autoscalingv1.HorizontalPodAutoscaler{},
		From:             func(o Object) Object { return autoscalerToV1(o.(*autoscalingv2.HorizontalPodAutoscaler)) },
		To:               func(o Object) Object { return autoscalerFromV1(o.(*autoscalingv1.HorizontalPodAutoscaler)) },
	}},
}

const defaultUtilization = 80 // percent of the CPU that a pod requests

func defaultAutoscaler(s *autoscalingv2.HorizontalPodAutoscalerSpec) {
	fill(&s.MinReplicas, 1)
	if len(s.Metrics) == 0 {
		s.Metrics = []autoscalingv2.MetricSpec{cpuMetric(defaultUtilization)}
	}
	if b := s.Behavior; b != nil {
		s.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleUp:   completed(b.ScaleUp, scalingUp()),
			ScaleDown: completed(b.ScaleDown, scalingDown()),
		}
	}
}

func cpuMetric(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
		},
	}
}

func scalingUp() *autoscalingv2.HPAScalingRules {
	window, most := int32(0), autoscalingv2.MaxChangePolicySelect
	return &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: &window, SelectPolicy: &most,
		Policies: []autoscalingv2.HPAScalingPolicy{
			{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
			{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
		},
	}
}

func scalingDown() *autoscalingv2.HPAScalingRules {
	most := autoscalingv2.MaxChangePolicySelect
	return &autoscalingv2.HPAScalingRules{
		SelectPolicy: &most,
		Policies:     []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}},
	}
}

// completed is the default with what was set in its place.
func completed(set, rules *autoscalingv2.HPAScalingRules) *autoscalingv2.HPAScalingRules {
	if set == nil {
		return rules
	}
	if set.SelectPolicy != nil {
		rules.SelectPolicy = set.SelectPolicy
	}
	if set.StabilizationWindowSeconds != nil {
		rules.StabilizationWindowSeconds = set.StabilizationWindowSeconds
	}
	if set.Policies != nil {
		rules.Policies = set.Policies
	}
	if set.Tolerance != nil {
		rules.Tolerance = set.Tolerance
	}
	return rules
}

func validateAutoscaler(obj Object) field.ErrorList {
	s := &obj.(*autoscalingv2.HorizontalPodAutoscaler).Spec
	p := field.NewPath("spec")
	var errs field.ErrorList
	if s.MinReplicas != nil && *s.MinReplicas < 0 {
		errs = append(errs, field.Invalid(p.Child("minReplicas"), *s.MinReplicas, "must be greater than or equal to 0"))
	}
	if s.MinReplicas != nil && s.MaxReplicas < *s.MinReplicas {
		errs = append(errs, field.Invalid(p.Child("maxReplicas"), s.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	ref := p.Child("scaleTargetRef")
	if s.ScaleTargetRef.Kind == "" {
		errs = append(errs, field.Required(ref.Child("kind"), ""))
	}
	if s.ScaleTargetRef.Name == "" {
		errs = append(errs, field.Required(ref.Child("name"), ""))
	}
	if !strings.Contains(s.ScaleTargetRef.APIVersion, "/") && s.ScaleTargetRef.APIVersion != "v1" {
		errs = append(errs, field.Invalid(ref.Child("apiVersion"), s.ScaleTargetRef.APIVersion, "apiVersion must specify API group"))
	}
	errs = append(errs, validateMetrics(s, p.Child("metrics"))...)
	switch {
	case s.MaxReplicas == 0:
		errs = append(errs, field.Required(p.Child("maxReplicas"), ""))
	case s.MaxReplicas < 1:
		errs = append(errs, field.Invalid(p.Child("maxReplicas"), s.MaxReplicas, "must be greater than or equal to 1"))
	}
	return errs
}

func validateAutoscalerStatus(_ *Context, obj, _ Object) field.ErrorList {
	s := &obj.(*autoscalingv2.HorizontalPodAutoscaler).Status
	p := field.NewPath("status")
	return append(nonNegative(s.CurrentReplicas, p.Child("currentReplicas")), nonNegative(s.DesiredReplicas, p.Child("desiredReplicas"))...)
}

// validateMetrics checks that each metric has the source that its type says, and
// that something but the pods is looked at if there may be none.
func validateMetrics(s *autoscalingv2.HorizontalPodAutoscalerSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	outside := false
	for i := range s.Metrics {
		m := &s.Metrics[i]
		sources := map[autoscalingv2.MetricSourceType]struct {
			name string
			set  bool
		}{
			autoscalingv2.ObjectMetricSourceType:            {"object", m.Object != nil},
			autoscalingv2.PodsMetricSourceType:              {"pods", m.Pods != nil},
			autoscalingv2.ResourceMetricSourceType:          {"resource", m.Resource != nil},
			autoscalingv2.ContainerResourceMetricSourceType: {"containerResource", m.ContainerResource != nil},
			autoscalingv2.ExternalMetricSourceType:          {"external", m.External != nil},
		}
		source, known := sources[m.Type]
		switch {
		case !known:
			errs = append(errs, oneOf(p.Index(i).Child("type"), m.Type, sortedKeys(sources)...)...)
		case !source.set:
			errs = append(errs, field.Required(p.Index(i).Child(source.name), "must populate information for the given metric source"))
		}
		outside = outside || m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	}
	if s.MinReplicas != nil && *s.MinReplicas == 0 && !outside {
		errs = append(errs, field.Forbidden(p, "must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	return errs
}

// Annotations in which autoscaling/v1 shows what it has no fields for.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
)
