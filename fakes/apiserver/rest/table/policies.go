package table

import (
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func (t tables) addPolicies() {
	add(t, policyv1.GroupName, "PodDisruptionBudget", head(
		col("Min Available", "The minimum number of pods that must be available."),
		col("Max Unavailable", "The maximum number of pods that may be unavailable."),
		col("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time.").of("integer"),
		ageCol(),
	), func(o *policyv1.PodDisruptionBudget, now time.Time) []any {
		least, most := "N/A", "N/A"
		if v := o.Spec.MinAvailable; v != nil {
			least = v.String()
		}
		if v := o.Spec.MaxUnavailable; v != nil {
			most = v.String()
		}
		return []any{o.Name, least, most, o.Status.DisruptionsAllowed, age(o, now)}
	})
	scaler := add(t, autoscalingv2.GroupName, "HorizontalPodAutoscaler", head(
		col("Reference", doc[autoscalingv2.HorizontalPodAutoscalerSpec]("scaleTargetRef")),
		col("Targets", doc[autoscalingv2.HorizontalPodAutoscalerSpec]("metrics")),
		col("MinPods", doc[autoscalingv2.HorizontalPodAutoscalerSpec]("minReplicas")),
		col("MaxPods", doc[autoscalingv2.HorizontalPodAutoscalerSpec]("maxReplicas")),
		col("Replicas", doc[autoscalingv2.HorizontalPodAutoscalerStatus]("currentReplicas")),
		ageCol(),
	), scalerRow)
	current := scaler.cells
	scaler.cells = func(obj Object, now time.Time) []any {
		if old, ok := obj.(*autoscalingv1.HorizontalPodAutoscaler); ok {
			obj = newerScaler(old)
		}
		return current(obj, now)
	}
	t.addAdmission()
}

func (t tables) addAdmission() {
	webhooks := head(col("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration").of("integer"), ageCol())
	add(t, admissionv1.GroupName, "MutatingWebhookConfiguration", webhooks,
		func(o *admissionv1.MutatingWebhookConfiguration, now time.Time) []any {
			return []any{o.Name, len(o.Webhooks), age(o, now)}
		})
	add(t, admissionv1.GroupName, "ValidatingWebhookConfiguration", webhooks,
		func(o *admissionv1.ValidatingWebhookConfiguration, now time.Time) []any {
			return []any{o.Name, len(o.Webhooks), age(o, now)}
		})
	add(t, admissionv1.GroupName, "ValidatingAdmissionPolicy", head(
		col("Validations", "Validations indicates the number of validation rules defined in this configuration").of("integer"),
		col("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy"),
		ageCol(),
	), func(o *admissionv1.ValidatingAdmissionPolicy, now time.Time) []any {
		kind := "<unset>"
		if p := o.Spec.ParamKind; p != nil {
			kind = p.APIVersion + "/" + p.Kind
		}
		return []any{o.Name, len(o.Spec.Validations), kind, age(o, now)}
	})
	add(t, admissionv1.GroupName, "ValidatingAdmissionPolicyBinding", head(
		col("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to"),
		col("ParamRef", "ParamRef indicates the param resource which sets the configuration param"),
		ageCol(),
	), func(o *admissionv1.ValidatingAdmissionPolicyBinding, now time.Time) []any {
		return []any{o.Name, o.Spec.PolicyName, param(o.Spec.ParamRef), age(o, now)}
	})
}

func param(ref *admissionv1.ParamRef) string {
	switch {
	case ref == nil, ref.Name == "" && ref.Selector == nil:
		return "<unset>"
	case ref.Name == "":
		return ref.Selector.String()
	}
	return or(ref.Namespace, "*") + "/" + ref.Name
}

func scalerRow(o *autoscalingv2.HorizontalPodAutoscaler, now time.Time) []any {
	least := "<unset>"
	if o.Spec.MinReplicas != nil {
		least = fmt.Sprint(*o.Spec.MinReplicas)
	}
	return []any{
		o.Name, o.Spec.ScaleTargetRef.Kind + "/" + o.Spec.ScaleTargetRef.Name, metrics(o), least,
		o.Spec.MaxReplicas, o.Status.CurrentReplicas, age(o, now),
	}
}

// metrics are the first two that the autoscaler looks at: what they are, and what
// they should be.
func metrics(o *autoscalingv2.HorizontalPodAutoscaler) string {
	const most = 2
	if len(o.Spec.Metrics) == 0 {
		return "<none>"
	}
	var out []string
	for i := range o.Spec.Metrics {
		var status autoscalingv2.MetricStatus
		if i < len(o.Status.CurrentMetrics) {
			status = o.Status.CurrentMetrics[i]
		}
		out = append(out, metric(&o.Spec.Metrics[i], &status))
	}
	if len(out) > most {
		return strings.Join(out[:most], ", ") + more(len(out)-most)
	}
	return strings.Join(out, ", ")
}

func metric(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) string {
	var now *autoscalingv2.MetricValueStatus
	switch {
	case spec.External != nil:
		if status.External != nil {
			now = &status.External.Current
		}
		return value(&spec.External.Target, now)
	case spec.Object != nil:
		if status.Object != nil {
			now = &status.Object.Current
		}
		return value(&spec.Object.Target, now)
	case spec.Pods != nil:
		current := "<unknown>"
		if status.Pods != nil {
			current = quantity(status.Pods.Current.AverageValue)
		}
		return current + "/" + quantity(spec.Pods.Target.AverageValue)
	case spec.Resource != nil:
		if status.Resource != nil {
			now = &status.Resource.Current
		}
		return utilization(spec.Resource.Name, &spec.Resource.Target, now)
	case spec.ContainerResource != nil:
		if status.ContainerResource != nil {
			now = &status.ContainerResource.Current
		}
		return utilization(spec.ContainerResource.Name, &spec.ContainerResource.Target, now)
	}
	return "<unknown type>"
}

// value is that of an object or of something outside of the cluster.
func value(target *autoscalingv2.MetricTarget, now *autoscalingv2.MetricValueStatus) string {
	current := "<unknown>"
	if target.AverageValue == nil {
		if now != nil {
			current = quantity(now.Value)
		}
		return current + "/" + quantity(target.Value)
	}
	if now != nil && now.AverageValue != nil {
		current = quantity(now.AverageValue)
	}
	return current + "/" + quantity(target.AverageValue) + " (avg)"
}

// utilization is how much of a resource is used.
func utilization(name corev1.ResourceName, target *autoscalingv2.MetricTarget, now *autoscalingv2.MetricValueStatus) string {
	current, wanted := "<unknown>", "<auto>"
	if target.AverageValue != nil {
		wanted = quantity(target.AverageValue)
		if now != nil {
			current = quantity(now.AverageValue)
		}
	} else {
		if u := target.AverageUtilization; u != nil {
			wanted = fmt.Sprintf("%d%%", *u)
		}
		if now != nil && now.AverageUtilization != nil {
			current = fmt.Sprintf("%d%%", *now.AverageUtilization)
		}
	}
	return fmt.Sprintf("%s: %s/%s", name, current, wanted)
}

func quantity(q *resource.Quantity) string {
	if q == nil {
		return "<nil>" // as a nil Quantity prints itself
	}
	return q.String()
}

// newerScaler is an autoscaler of the first version, as its row shows it.
func newerScaler(o *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	out := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: o.ObjectMeta}
	out.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference(o.Spec.ScaleTargetRef)
	out.Spec.MinReplicas, out.Spec.MaxReplicas = o.Spec.MinReplicas, o.Spec.MaxReplicas
	out.Status.CurrentReplicas = o.Status.CurrentReplicas
	if percent := o.Spec.TargetCPUUtilizationPercentage; percent != nil {
		out.Spec.Metrics = []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{AverageUtilization: percent},
			},
		}}
	}
	if percent := o.Status.CurrentCPUUtilizationPercentage; percent != nil {
		out.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: percent},
			},
		}}
	}
	return out
}
