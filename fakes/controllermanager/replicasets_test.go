package controllermanager_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
)

var (
	replicaSets = appsv1.SchemeGroupVersion.WithResource("replicasets")
	events      = corev1.SchemeGroupVersion.WithResource("events")
)

// replicaSet makes a ReplicaSet that selects the label app with its name. It has an
// owner: pods of one owner on one node count as too many.
func (l *lab) replicaSet(name string, n int32) {
	l.t.Helper()
	labels := map[string]string{"app": name}
	l.create(replicaSets, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "a.io/v1", Kind: "Owner", Name: "owner", UID: "owner", Controller: new(true)},
		}},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "i"}}},
			},
		},
	})
}

func (l *lab) resize(name string, n int) {
	l.t.Helper()
	l.must(&apiserver.Request{
		Verb: apiserver.Patch, Resource: replicaSets, Namespace: "default", Name: name,
		PatchType: types.MergePatchType, Body: fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n),
	})
	l.settle()
}

// podNamed makes a pod of the ReplicaSet r, which takes it over.
func (l *lab) podNamed(name string, edit func(*corev1.Pod)) {
	l.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "r"}}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "i"}}
	edit(p)
	status := p.Status
	l.create(pods, p)
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		l.t.Fatal(err)
	}
	l.must(&apiserver.Request{
		Verb: apiserver.Patch, Resource: pods, Subresource: "status", Namespace: "default", Name: name,
		PatchType: types.MergePatchType, Body: body,
	})
}

// pods returns the pods that are not on their way out.
func (l *lab) pods() []*corev1.Pod {
	l.t.Helper()
	var out []*corev1.Pod
	for _, o := range l.must(&apiserver.Request{Verb: apiserver.List, Resource: pods, Namespace: "default"}).Items {
		if p := o.(*corev1.Pod); p.DeletionTimestamp == nil {
			out = append(out, p)
		}
	}
	return out
}

// told returns the Events about objects of a kind, in order.
func (l *lab) told(kind string) []string {
	l.t.Helper()
	var out []string
	for _, o := range l.must(&apiserver.Request{Verb: apiserver.List, Resource: events, Namespace: "default"}).Items {
		if ev := o.(*corev1.Event); ev.InvolvedObject.Kind == kind {
			out = append(out, fmt.Sprintf("%s x%d: %s", ev.Reason, ev.Count, ev.Message))
		}
	}
	return out
}

func TestAReplicaSetDeletesFirstWhatIsMissedLeast(t *testing.T) {
	l := newLab(t, controllermanager.ReplicaSets)
	running := func(age time.Duration, edit ...func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.NodeName = "node-" + p.Name
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(l.clock.now.Add(-age)),
			}}
			for _, f := range edit {
				f(p)
			}
		}
	}
	on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
	cost := func(n string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: n} }
	}
	l.podNamed("a-old", running(time.Hour))
	l.podNamed("b-dear", running(time.Hour, cost("5")))
	l.podNamed("c-cheap", running(time.Hour, cost("-5")))
	l.podNamed("d-doubled", running(time.Hour, on("node-a-old")))
	l.podNamed("e-young", running(time.Minute))
	l.podNamed("f-unready", running(time.Hour, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }))
	l.podNamed("g-pending", func(p *corev1.Pod) { p.Spec.NodeName = "n" })
	l.podNamed("h-waiting", func(*corev1.Pod) {})
	l.replicaSet("r", 8)
	l.settle()
	var order []string
	before := l.pods()
	for n := 7; n >= 0; n-- {
		l.resize("r", n)
		after := l.pods()
		for _, p := range before {
			if !slices.ContainsFunc(after, func(q *corev1.Pod) bool { return q.Name == p.Name }) {
				order = append(order, p.Name)
			}
		}
		before = after
	}
	want := []string{"h-waiting", "g-pending", "f-unready", "c-cheap", "d-doubled", "e-young", "a-old", "b-dear"}
	if order[4] == "a-old" { // as good: they are on one node, of one age, and only the uid tells them apart
		want[4], want[6] = want[6], want[4]
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order of deletion (-want +got):\n%s", diff)
	}
}

func TestAReplicaSetIsAvailableAfterMinReadySeconds(t *testing.T) {
	l := newLab(t, controllermanager.ReplicaSets)
	l.replicaSet("r", 1)
	l.must(&apiserver.Request{
		Verb: apiserver.Patch, Resource: replicaSets, Namespace: "default", Name: "r",
		PatchType: types.MergePatchType, Body: []byte(`{"spec":{"minReadySeconds":10}}`),
	})
	l.podNamed("p", func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(l.clock.now)}}
	})
	l.settle()
	status := func() appsv1.ReplicaSetStatus {
		return l.must(&apiserver.Request{Verb: apiserver.Get, Resource: replicaSets, Namespace: "default", Name: "r"}).Object.(*appsv1.ReplicaSet).Status
	}
	l.pass(9 * time.Second)
	if s := status(); s.ReadyReplicas != 1 || s.AvailableReplicas != 0 {
		t.Errorf("after 9 s: %+v", s)
	}
	l.pass(time.Second)
	if s := status(); s.AvailableReplicas != 1 {
		t.Errorf("after 10 s: %+v", s)
	}
}

func TestSimilarEventsAreCombinedAndEqualOnesCounted(t *testing.T) {
	l := newLab(t, controllermanager.ReplicaSets)
	l.replicaSet("r", 12)
	l.settle()
	told := l.told("ReplicaSet")
	if len(told) != 10 || !strings.HasPrefix(told[8], "SuccessfulCreate x1: Created pod: r-") ||
		!strings.HasPrefix(told[9], "SuccessfulCreate x3: (combined from similar events): Created pod: r-") {
		t.Errorf("events about 12 pods:\n%s", strings.Join(told, "\n"))
	}
}

func TestPodsThatAQuotaRefusesAreToldOf(t *testing.T) {
	l := newLab(t, controllermanager.ReplicaSets, controllermanager.ResourceQuotas)
	l.create(corev1.SchemeGroupVersion.WithResource("resourcequotas"), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("1")}},
	})
	l.settle()
	l.replicaSet("r", 3)
	if err := l.runner.Settle(); err == nil || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("what a quota refuses fails with %v", err)
	}
	rs := l.must(&apiserver.Request{Verb: apiserver.Get, Resource: replicaSets, Namespace: "default", Name: "r"}).Object.(*appsv1.ReplicaSet)
	if c := rs.Status.Conditions; len(c) != 1 || c[0].Reason != "FailedCreate" || !strings.Contains(c[0].Message, "exceeded quota: q") {
		t.Errorf("conditions: %+v", c)
	}
	if told := l.told("ReplicaSet"); len(told) < 2 || !strings.HasPrefix(told[1], "FailedCreate x") || !strings.Contains(told[1], "Error creating: pods \"r-") {
		t.Errorf("events:\n%s", strings.Join(told, "\n"))
	}
}
