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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
)

var deployments = appsv1.SchemeGroupVersion.WithResource("deployments")

// shop is a lab with a Deployment called web.
type shop struct{ *lab }

func newShop(t *testing.T, spec string) shop {
	t.Helper()
	s := shop{newLab(t, controllermanager.Deployments, controllermanager.ReplicaSets, controllermanager.GarbageCollector)}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	if err := json.Unmarshal([]byte(spec), &d.Spec); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1"}}
	s.create(deployments, d)
	s.settle()
	return s
}

// change merges JSON into the Deployment.
func (s shop) change(format string, args ...any) {
	s.t.Helper()
	s.must(&apiserver.Request{
		Verb: apiserver.Patch, Resource: deployments, Namespace: "default", Name: "web",
		PatchType: types.MergePatchType, Body: fmt.Appendf(nil, format, args...),
	})
	s.settle()
}

func (s shop) image(image string) {
	s.t.Helper()
	s.change(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)
}

func (s shop) deployment() *appsv1.Deployment {
	s.t.Helper()
	return s.must(&apiserver.Request{Verb: apiserver.Get, Resource: deployments, Namespace: "default", Name: "web"}).Object.(*appsv1.Deployment)
}

// sets shows the ReplicaSets, the oldest first: image, revision, pods wanted, there, ready.
func (s shop) sets(want ...string) {
	s.t.Helper()
	var got []string
	for _, rs := range s.replicaSets() {
		text := fmt.Sprintf("%s r%s %d/%d/%d", rs.Spec.Template.Spec.Containers[0].Image, rs.Annotations["deployment.kubernetes.io/revision"],
			*rs.Spec.Replicas, rs.Status.Replicas, rs.Status.AvailableReplicas)
		if history := rs.Annotations["deployment.kubernetes.io/revision-history"]; history != "" {
			text += " was r" + history
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("replica sets (-want +got):\n%s", diff)
	}
}

func (s shop) replicaSets() []*appsv1.ReplicaSet {
	s.t.Helper()
	var out []*appsv1.ReplicaSet
	for _, o := range s.must(&apiserver.Request{Verb: apiserver.List, Resource: replicaSets, Namespace: "default"}).Items {
		out = append(out, o.(*appsv1.ReplicaSet))
	}
	slices.SortStableFunc(out, func(a, b *appsv1.ReplicaSet) int {
		return strings.Compare(a.Spec.Template.Spec.Containers[0].Image, b.Spec.Template.Spec.Containers[0].Image)
	})
	return out
}

// run makes at most n pods ready that are not, as kubelets would.
func (s shop) run(n int) {
	s.t.Helper()
	for _, p := range s.pods() {
		if p.Status.Phase == corev1.PodRunning || n == 0 {
			continue
		}
		n--
		p = p.DeepCopy()
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.clock.Now()),
		})
		s.must(&apiserver.Request{Verb: apiserver.Update, Resource: pods, Subresource: "status", Namespace: "default", Name: p.Name, Object: p})
	}
	s.settle()
}

// says compares the conditions of the Deployment.
func (s shop) says(want ...string) {
	s.t.Helper()
	var got []string
	for _, c := range s.deployment().Status.Conditions {
		got = append(got, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestADeploymentRollsOut(t *testing.T) {
	s := newShop(t, `{"replicas":4}`)
	s.sets("web:1 r1 4/4/0")
	s.says("Available=False MinimumReplicasUnavailable", "Progressing=True ReplicaSetUpdated")
	s.run(4)
	s.says("Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable")

	s.clock.now = s.clock.now.Add(time.Minute)
	s.image("web:2")
	s.sets("web:1 r1 3/3/3", "web:2 r2 2/2/0")
	s.run(1)
	s.sets("web:1 r1 2/2/2", "web:2 r2 3/3/1")
	s.run(9)
	s.run(9)
	s.run(9)
	s.sets("web:1 r1 0/0/0", "web:2 r2 4/4/4")
	d := s.deployment()
	if d.Annotations["deployment.kubernetes.io/revision"] != "2" || d.Status.ObservedGeneration != d.Generation || d.Status.UpdatedReplicas != 4 {
		t.Errorf("deployment after the rollout: %v, %+v", d.Annotations, d.Status)
	}
	first := strings.TrimPrefix(s.replicaSets()[0].Name, "web-")
	want := "ScalingReplicaSet x1: Scaled up replica set web-" + first + " from 0 to 4"
	if got := s.told("Deployment"); len(got) == 0 || got[0] != want {
		t.Errorf("events %q, want %q first", got, want)
	}
	s.image("web:1") // undone
	s.run(9)
	s.run(9)
	s.run(9)
	s.sets("web:1 r3 4/4/4 was r1", "web:2 r2 0/0/0")
}

func TestARolloutThatStandsStillTimesOut(t *testing.T) {
	s := newShop(t, `{"replicas":2,"progressDeadlineSeconds":60}`)
	s.pass(59 * time.Second)
	s.says("Available=False MinimumReplicasUnavailable", "Progressing=True ReplicaSetUpdated")
	if _, later := s.runner.Next(); !later {
		t.Error("nobody looks again")
	}
	s.pass(2 * time.Second)
	s.says("Available=False MinimumReplicasUnavailable", "Progressing=False ProgressDeadlineExceeded")
	s.run(2)
	s.says("Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable")
}

func TestBrokenOldPodsGoFirst(t *testing.T) {
	s := newShop(t, `{"replicas":4,"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}`)
	s.run(3) // the fourth never gets ready
	s.image("web:2")
	s.sets("web:1 r1 3/3/3", "web:2 r2 1/1/0")
	s.run(1)
	s.sets("web:1 r1 2/2/2", "web:2 r2 2/2/1")
}

func TestAReplicaSetOfAnotherHashIsTakenForWhatItIs(t *testing.T) {
	s := newShop(t, `{"replicas":1}`)
	rs := s.replicaSets()[0].DeepCopy()
	for _, labels := range []map[string]string{rs.Labels, rs.Spec.Selector.MatchLabels, rs.Spec.Template.Labels} {
		labels["pod-template-hash"] = "0"
	}
	rs.Name, rs.ResourceVersion, rs.OwnerReferences = "web-0", "", nil
	s.clock.now = s.clock.now.Add(time.Second)
	s.create(replicaSets, rs)
	s.settle()
	s.run(9)
	s.sets("web:1 r1 0/0/0", "web:1 r2 1/1/1 was r1") // the older one is kept
}

func TestAHashThatIsTakenIsCountedAndChanged(t *testing.T) {
	s := newShop(t, `{"replicas":1}`)
	first := s.replicaSets()[0]
	rs := first.DeepCopy() // of somebody else, in the place of what is needed next
	s.image("web:2")
	name := s.replicaSets()[1].Name
	s.image("web:1")
	s.must(&apiserver.Request{Verb: apiserver.Delete, Resource: replicaSets, Namespace: "default", Name: name})
	rs.Name, rs.ResourceVersion, rs.OwnerReferences = name, "", nil
	rs.Labels, rs.Spec.Template.Labels = map[string]string{"app": "other"}, map[string]string{"app": "other"}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Labels}
	s.create(replicaSets, rs)
	s.settle()
	s.image("web:2")
	d := s.deployment()
	if d.Status.CollisionCount == nil || *d.Status.CollisionCount != 1 {
		t.Errorf("collisions: %v", d.Status.CollisionCount)
	}
	s.sets("web:1 r3 1/1/0 was r1", "web:1 r1 1/1/0", "web:2 r4 1/1/0")
}
