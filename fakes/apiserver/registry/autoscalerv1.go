package registry

import (
	"encoding/json"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// behaviorV1 is how an annotation of autoscaling/v1 holds a behavior: with the names
// of Go fields.
type behaviorV1 struct{ ScaleUp, ScaleDown *scalingV1 }

type scalingV1 struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []scalingPolicyV1
	Tolerance                  *resource.Quantity
}

type scalingPolicyV1 struct {
	Type                 autoscalingv2.HPAScalingPolicyType
	Value, PeriodSeconds int32
}

func autoscalerToV1(h *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv1.HorizontalPodAutoscaler {
	out := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: *h.ObjectMeta.DeepCopy()}
	s := h.Spec.DeepCopy()
	out.Spec.ScaleTargetRef = autoscalingv1.CrossVersionObjectReference(s.ScaleTargetRef)
	out.Spec.MinReplicas, out.Spec.MaxReplicas = s.MinReplicas, s.MaxReplicas
	notes := map[string]string{}
	note := func(name string, value any) {
		if data, err := json.Marshal(value); err == nil {
			notes[name] = string(data)
		}
	}
	var others []autoscalingv1.MetricSpec
	for i := range s.Metrics {
		m := &s.Metrics[i]
		if r := m.Resource; r != nil && r.Name == corev1.ResourceCPU && r.Target.AverageUtilization != nil && out.Spec.TargetCPUUtilizationPercentage == nil {
			out.Spec.TargetCPUUtilizationPercentage = r.Target.AverageUtilization
			continue
		}
		others = append(others, metricToV1(m))
	}
	if len(others) > 0 {
		note(metricsAnnotation, others)
	}
	if b := s.Behavior; b != nil {
		note(behaviorAnnotation, behaviorV1{rulesToV1(b.ScaleUp), rulesToV1(b.ScaleDown)})
	}
	st := h.Status.DeepCopy()
	out.Status.ObservedGeneration, out.Status.LastScaleTime = st.ObservedGeneration, st.LastScaleTime
	out.Status.CurrentReplicas, out.Status.DesiredReplicas = st.CurrentReplicas, st.DesiredReplicas
	if len(st.CurrentMetrics) > 0 {
		var current []autoscalingv1.MetricStatus
		for i := range st.CurrentMetrics {
			m := &st.CurrentMetrics[i]
			if r := m.Resource; r != nil && r.Name == corev1.ResourceCPU {
				out.Status.CurrentCPUUtilizationPercentage = r.Current.AverageUtilization
			}
			current = append(current, statusToV1(m))
		}
		note(currentMetricsAnnotation, current)
	}
	if len(st.Conditions) > 0 {
		note(conditionsAnnotation, st.Conditions) // both versions write conditions alike
	}
	if len(notes) > 0 {
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		maps.Copy(out.Annotations, notes)
	}
	return out
}

func rulesToV1(r *autoscalingv2.HPAScalingRules) *scalingV1 {
	if r == nil {
		return nil
	}
	out := &scalingV1{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, scalingPolicyV1(p))
	}
	return out
}

func rulesFromV1(r *scalingV1) *autoscalingv2.HPAScalingRules {
	if r == nil {
		return nil
	}
	out := &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, autoscalingv2.HPAScalingPolicy(p))
	}
	return out
}

func quantity(q *resource.Quantity) resource.Quantity {
	if q == nil {
		return resource.Quantity{}
	}
	return *q
}

func metricToV1(m *autoscalingv2.MetricSpec) autoscalingv1.MetricSpec {
	out := autoscalingv1.MetricSpec{Type: autoscalingv1.MetricSourceType(m.Type)}
	if o := m.Object; o != nil {
		out.Object = &autoscalingv1.ObjectMetricSource{
			Target: autoscalingv1.CrossVersionObjectReference(o.DescribedObject), MetricName: o.Metric.Name, Selector: o.Metric.Selector,
			TargetValue: quantity(o.Target.Value), AverageValue: o.Target.AverageValue,
		}
	}
	if o := m.Pods; o != nil {
		out.Pods = &autoscalingv1.PodsMetricSource{MetricName: o.Metric.Name, Selector: o.Metric.Selector, TargetAverageValue: quantity(o.Target.AverageValue)}
	}
	if o := m.Resource; o != nil {
		out.Resource = &autoscalingv1.ResourceMetricSource{Name: o.Name, TargetAverageUtilization: o.Target.AverageUtilization, TargetAverageValue: o.Target.AverageValue}
	}
	if o := m.ContainerResource; o != nil {
		out.ContainerResource = &autoscalingv1.ContainerResourceMetricSource{
			Name: o.Name, Container: o.Container, TargetAverageUtilization: o.Target.AverageUtilization, TargetAverageValue: o.Target.AverageValue,
		}
	}
	if o := m.External; o != nil {
		out.External = &autoscalingv1.ExternalMetricSource{MetricName: o.Metric.Name, MetricSelector: o.Metric.Selector, TargetValue: o.Target.Value, TargetAverageValue: o.Target.AverageValue}
	}
	return out
}

func statusToV1(m *autoscalingv2.MetricStatus) autoscalingv1.MetricStatus {
	out := autoscalingv1.MetricStatus{Type: autoscalingv1.MetricSourceType(m.Type)}
	if o := m.Object; o != nil {
		out.Object = &autoscalingv1.ObjectMetricStatus{
			Target: autoscalingv1.CrossVersionObjectReference(o.DescribedObject), MetricName: o.Metric.Name, Selector: o.Metric.Selector,
			CurrentValue: quantity(o.Current.Value), AverageValue: o.Current.AverageValue,
		}
	}
	if o := m.Pods; o != nil {
		out.Pods = &autoscalingv1.PodsMetricStatus{MetricName: o.Metric.Name, Selector: o.Metric.Selector, CurrentAverageValue: quantity(o.Current.AverageValue)}
	}
	if o := m.Resource; o != nil {
		out.Resource = &autoscalingv1.ResourceMetricStatus{Name: o.Name, CurrentAverageUtilization: o.Current.AverageUtilization, CurrentAverageValue: quantity(o.Current.AverageValue)}
	}
	if o := m.ContainerResource; o != nil {
		out.ContainerResource = &autoscalingv1.ContainerResourceMetricStatus{
			Name: o.Name, Container: o.Container, CurrentAverageUtilization: o.Current.AverageUtilization, CurrentAverageValue: quantity(o.Current.AverageValue),
		}
	}
	if o := m.External; o != nil {
		out.External = &autoscalingv1.ExternalMetricStatus{MetricName: o.Metric.Name, MetricSelector: o.Metric.Selector, CurrentValue: quantity(o.Current.Value), CurrentAverageValue: o.Current.AverageValue}
	}
	return out
}

func autoscalerFromV1(h *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	out := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: *h.ObjectMeta.DeepCopy()}
	s := h.Spec.DeepCopy()
	out.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference(s.ScaleTargetRef)
	out.Spec.MinReplicas, out.Spec.MaxReplicas = s.MinReplicas, s.MaxReplicas
	if n := s.TargetCPUUtilizationPercentage; n != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, cpuMetric(*n))
	}
	var others []autoscalingv1.MetricSpec
	readNote(h, metricsAnnotation, &others)
	for i := range others {
		out.Spec.Metrics = append(out.Spec.Metrics, metricFromV1(&others[i]))
	}
	var behavior *behaviorV1
	if readNote(h, behaviorAnnotation, &behavior); behavior != nil {
		out.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rulesFromV1(behavior.ScaleUp), ScaleDown: rulesFromV1(behavior.ScaleDown)}
	}
	st := h.Status.DeepCopy()
	out.Status.ObservedGeneration, out.Status.LastScaleTime = st.ObservedGeneration, st.LastScaleTime
	out.Status.CurrentReplicas, out.Status.DesiredReplicas = st.CurrentReplicas, st.DesiredReplicas
	readNote(h, conditionsAnnotation, &out.Status.Conditions)
	var current []autoscalingv1.MetricStatus
	readNote(h, currentMetricsAnnotation, &current)
	for i := range current {
		out.Status.CurrentMetrics = append(out.Status.CurrentMetrics, statusFromV1(&current[i]))
	}
	for _, name := range []string{metricsAnnotation, behaviorAnnotation, conditionsAnnotation, currentMetricsAnnotation} {
		delete(out.Annotations, name)
	}
	return out
}

// readNote reads what an annotation holds; one that cannot be read says nothing, as
// in a real server.
func readNote(h *autoscalingv1.HorizontalPodAutoscaler, name string, into any) {
	if text, ok := h.Annotations[name]; ok {
		_ = json.Unmarshal([]byte(text), into)
	}
}

// target is a target of the kind that its values make it.
func target(value, average *resource.Quantity, utilization *int32) autoscalingv2.MetricTarget {
	t := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: value, AverageValue: average, AverageUtilization: utilization}
	switch {
	case utilization != nil:
		t.Type = autoscalingv2.UtilizationMetricType
	case average != nil:
		t.Type, t.Value = autoscalingv2.AverageValueMetricType, nil
	}
	return t
}

func metricFromV1(m *autoscalingv1.MetricSpec) autoscalingv2.MetricSpec {
	out := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(m.Type)}
	if o := m.Object; o != nil {
		out.Object = &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(o.Target),
			Metric:          autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.Selector}, Target: target(&o.TargetValue, o.AverageValue, nil),
		}
	}
	if o := m.Pods; o != nil {
		out.Pods = &autoscalingv2.PodsMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.Selector}, Target: target(nil, &o.TargetAverageValue, nil)}
	}
	if o := m.Resource; o != nil {
		out.Resource = &autoscalingv2.ResourceMetricSource{Name: o.Name, Target: target(nil, o.TargetAverageValue, o.TargetAverageUtilization)}
	}
	if o := m.ContainerResource; o != nil {
		out.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{Name: o.Name, Container: o.Container, Target: target(nil, o.TargetAverageValue, o.TargetAverageUtilization)}
	}
	if o := m.External; o != nil {
		out.External = &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.MetricSelector}, Target: target(o.TargetValue, o.TargetAverageValue, nil),
		}
	}
	return out
}

func statusFromV1(m *autoscalingv1.MetricStatus) autoscalingv2.MetricStatus {
	out := autoscalingv2.MetricStatus{Type: autoscalingv2.MetricSourceType(m.Type)}
	if o := m.Object; o != nil {
		out.Object = &autoscalingv2.ObjectMetricStatus{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(o.Target),
			Metric:          autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.Selector},
			Current:         autoscalingv2.MetricValueStatus{Value: &o.CurrentValue, AverageValue: o.AverageValue},
		}
	}
	if o := m.Pods; o != nil {
		out.Pods = &autoscalingv2.PodsMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.Selector},
			Current: autoscalingv2.MetricValueStatus{AverageValue: &o.CurrentAverageValue},
		}
	}
	if o := m.Resource; o != nil {
		out.Resource = &autoscalingv2.ResourceMetricStatus{
			Name: o.Name, Current: autoscalingv2.MetricValueStatus{AverageUtilization: o.CurrentAverageUtilization, AverageValue: &o.CurrentAverageValue},
		}
	}
	if o := m.ContainerResource; o != nil {
		out.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{
			Name: o.Name, Container: o.Container,
			Current: autoscalingv2.MetricValueStatus{AverageUtilization: o.CurrentAverageUtilization, AverageValue: &o.CurrentAverageValue},
		}
	}
	if o := m.External; o != nil {
		out.External = &autoscalingv2.ExternalMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.MetricSelector},
			Current: autoscalingv2.MetricValueStatus{Value: &o.CurrentValue, AverageValue: o.CurrentAverageValue},
		}
	}
	return out
}
