package apiserver_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule06StatusAndSpecAreWrittenApart(t *testing.T) {
	a := newAPI(t)
	d := deployment("d")
	d.Status.Replicas = 9
	equal(t, "on create", a.create(deployments, d).(*appsv1.Deployment).Status, appsv1.DeploymentStatus{})
	equal(t, "by the main endpoint", a.patch(deployments, "d", `{"status":{"replicas":9}}`).GetResourceVersion(), "5")

	got := a.patch(deployments, "d", `{"metadata":{"labels":{"l":"1"},"annotations":{"n":"1"},"finalizers":["example.com/f"]},"spec":{"replicas":5},"status":{"replicas":2}}`, sub("status")).(*appsv1.Deployment)
	equal(t, "status", got.Status.Replicas, 2)
	equal(t, "spec", *got.Spec.Replicas, 1)
	equal(t, "labels of a Deployment", got.Labels, nil)
	equal(t, "annotations", got.Annotations, map[string]string{"n": "1"})
	equal(t, "finalizers", got.Finalizers, []string{"example.com/f"})

	a.create(pods, pod("p", "n1"))
	p := a.patch(pods, "p", `{"metadata":{"labels":{"l":"1"}},"spec":{"nodeName":"n2"},"status":{"phase":"Running"}}`, sub("status")).(*corev1.Pod)
	equal(t, "labels of a Pod", p.Labels, map[string]string{"l": "1"})
	equal(t, "node", p.Spec.NodeName+" "+string(p.Status.Phase)+" "+string(p.Status.QOSClass), "n1 Running BestEffort")
}

func TestRule06KindsWithoutStatus(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a"))
	s := a.refused(a.request(apiserver.Patch, configMaps, "a", merge(`{}`), sub("status")), 404, "NotFound", "the server could not find the requested resource")
	equal(t, "details", *s.Details, metav1.StatusDetails{})
	a.refused(a.request(apiserver.Patch, deployments, "none", merge(`{}`), sub("status")), 404, "NotFound", `deployments.apps "none" not found`)
	a.refused(a.request(apiserver.Delete, deployments, "none", sub("status")), 405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
}

func TestRule06OneVersionForBothParts(t *testing.T) {
	a := newAPI(t)
	old := a.create(configMaps, configMap("unrelated"))
	d := a.create(deployments, deployment("d"))
	a.patch(deployments, "d", `{"status":{"replicas":1}}`, sub("status"))
	if _, err := a.Do(a.request(apiserver.Update, deployments, "d", body(d))); err == nil {
		t.Error("a status write did not make the object stale")
	}
	equal(t, "an unrelated object", a.get(configMaps, "unrelated").GetResourceVersion(), old.GetResourceVersion())
}

func TestRule06NodesKeepTheirStatus(t *testing.T) {
	a := newAPI(t)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Capacity: corev1.ResourceList{"cpu": resource.MustParse("4")}}}
	got := a.create(nodes, n).(*corev1.Node)
	equal(t, "allocatable", got.Status.Allocatable.Cpu().String(), "4")
	equal(t, "taints", got.Spec.Taints, []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}})
}

func TestRule06BindingGivesAPodItsNodeOnce(t *testing.T) {
	a := newAPI(t)
	a.create(pods, pod("p", ""))
	bind := func(node string) *apiserver.Request {
		b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{"n": "1"}}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
		return a.request(apiserver.Create, pods, "p", body(b), sub("binding"))
	}
	equal(t, "answer", a.must(bind("n1")).Code, 201)
	p := a.get(pods, "p").(*corev1.Pod)
	equal(t, "pod", p.Spec.NodeName+" "+p.Annotations["n"]+" "+string(p.Status.Conditions[0].Type), "n1 1 PodScheduled")
	equal(t, "generation", p.Generation, 1)
	a.refused(bind("n1"), 409, "Conflict", `Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"`)
}

func TestRule06EvictionsSpendABudget(t *testing.T) {
	a := newAPI(t)
	budgets := policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	one := intstr.FromInt32(1)
	a.create(budgets, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
	}})
	for _, n := range []string{"p", "q"} {
		p := pod(n, "n1")
		p.Labels = map[string]string{"app": "x"}
		a.create(pods, p)
		a.patch(pods, n, `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, sub("status"))
	}
	evict := func(name string) *apiserver.Request {
		return a.request(apiserver.Create, pods, name, sub("eviction"), raw(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+name+`"}}`))
	}
	busy := "Cannot evict pod as it would violate the pod's disruption budget."
	equal(t, "retry of an unobserved budget", a.refused(evict("p"), 429, "TooManyRequests", busy).Details.RetryAfterSeconds, 10)
	a.patch(budgets, "b", `{"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2}}`, sub("status"))
	a.must(evict("p"))
	equal(t, "the pod", *a.get(pods, "p").GetDeletionGracePeriodSeconds(), 30)
	s := a.refused(evict("q"), 429, "TooManyRequests", busy)
	equal(t, "retry of a spent budget", s.Details.RetryAfterSeconds, 0)
	equal(t, "budget", len(a.get(budgets, "b").(*policyv1.PodDisruptionBudget).Status.DisruptedPods), 1)
}

func TestRule06ScaleWritesReplicasOnly(t *testing.T) {
	a := newAPI(t)
	a.create(deployments, deployment("d"))
	scale := a.get(deployments, "d", sub("scale"))
	equal(t, "version", scale.GetResourceVersion(), "5")
	a.patch(deployments, "d", `{"spec":{"replicas":3}}`, sub("scale"))
	d := a.get(deployments, "d").(*appsv1.Deployment)
	equal(t, "deployment", *d.Spec.Replicas, 3)
	equal(t, "generation", d.Generation, 2)
	a.refused(a.request(apiserver.Update, deployments, "d", sub("scale"), body(scale)), 409, "Conflict",
		`Operation cannot be fulfilled on deployments.apps "d": the object has been modified; please apply your changes to the latest version and try again`)
	a.refused(a.request(apiserver.Patch, deployments, "d", sub("scale"), merge(`{"spec":{"replicas":-1}}`)), 422, "Invalid",
		`Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`)
}
