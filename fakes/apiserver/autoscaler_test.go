package apiserver_test

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	autoscalersV1 = autoscalingv1.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	autoscalersV2 = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
)

func TestRule13AutoscalersInBothVersions(t *testing.T) {
	a := newAPI(t)
	old := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "h"}}
	old.Spec.ScaleTargetRef = autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "d", APIVersion: "apps/v1"}
	old.Spec.MaxReplicas = 3
	got := a.create(autoscalersV1, old).(*autoscalingv1.HorizontalPodAutoscaler)
	equal(t, "defaults", [2]int32{*got.Spec.MinReplicas, *got.Spec.TargetCPUUtilizationPercentage}, [2]int32{1, 80})
	newer := a.get(autoscalersV2, "h").(*autoscalingv2.HorizontalPodAutoscaler)
	equal(t, "metric", *newer.Spec.Metrics[0].Resource.Target.AverageUtilization, 80)
	equal(t, "generation", newer.Generation, 1)

	a.patch(autoscalersV2, "h", `{"spec":{"behavior":{"scaleDown":{"stabilizationWindowSeconds":10}},"metrics":[
		{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}},
		{"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"100Mi"}}}]}}`)
	got = a.get(autoscalersV1, "h").(*autoscalingv1.HorizontalPodAutoscaler)
	equal(t, "annotations", got.Annotations, map[string]string{
		"autoscaling.alpha.kubernetes.io/metrics": `[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"100Mi"}}]`,
		"autoscaling.alpha.kubernetes.io/behavior": `{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},` +
			`{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":10,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}`,
	})
	a.update(autoscalersV1, got)
	equal(t, "a round trip loses nothing", a.get(autoscalersV2, "h").(*autoscalingv2.HorizontalPodAutoscaler).Spec.Metrics[1].Resource.Target.AverageValue.String(), "100Mi")
	equal(t, "and writes nothing", a.get(autoscalersV2, "h").GetGeneration(), 2)
}

func TestRule13AutoscalersAreValidated(t *testing.T) {
	a := newAPI(t)
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "h"}}
	none := int32(0)
	h.Spec.MinReplicas, h.Spec.MaxReplicas = &none, 3
	h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: "Resource"}}
	a.refused(a.request(apiserver.Create, autoscalersV2, "", body(h)), 422, "Invalid",
		`HorizontalPodAutoscaler.autoscaling "h" is invalid: [spec.scaleTargetRef.kind: Required value, spec.scaleTargetRef.name: Required value, `+
			`spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group, `+
			`spec.metrics[0].resource: Required value: must populate information for the given metric source, `+
			`spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas]`)
}
