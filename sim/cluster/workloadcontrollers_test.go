package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// deployment is one of three pods that are called web.
func deployment() *appsv1.Deployment {
	three, labels := int32(3), map[string]string{"app": "web"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	d.Spec.Replicas, d.Spec.Selector = &three, &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1"}}
	return d
}

// images returns the images of the pods that are ready, sorted.
func (l *lab) images() (images []string) {
	l.t.Helper()
	var list corev1.PodList
	l.must(l.c.Admin().List(context.Background(), &list, client.InNamespace("default")))
	for _, p := range list.Items {
		if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}) {
			images = append(images, p.Spec.Containers[0].Image)
		}
	}
	slices.Sort(images)
	return images
}

// follow says whenever other pods are ready than before.
func (l *lab) follow() {
	last := ""
	var look func()
	look = func() {
		if now := fmt.Sprint(l.images()); now != last {
			last = now
			l.say("ready: %s", now)
		}
		l.at(10*time.Millisecond, look)
	}
	look()
}

func (l *lab) sayDeployment() {
	l.t.Helper()
	var d appsv1.Deployment
	l.must(l.c.Admin().Get(context.Background(), inNamespace("default", "web"), &d))
	text := fmt.Sprintf("revision %s, %d of %d updated", d.Annotations["deployment.kubernetes.io/revision"], d.Status.UpdatedReplicas, d.Status.Replicas)
	for _, c := range d.Status.Conditions {
		text += fmt.Sprintf(", %s %s", c.Type, c.Reason)
	}
	l.say("%s", text)
}

func (l *lab) update(image string) {
	l.t.Helper()
	body := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)
	l.must(l.c.Admin().Patch(context.Background(), deployment(), client.RawPatch(types.StrategicMergePatchType, []byte(body))))
}

// A rollout waits for the kubelets, and goes on after a crash of the controllers.
func TestADeploymentRollsOutThroughACrash(t *testing.T) {
	l := newLab(t, cluster.Config{Agents: &cluster.Agents{}, Controllers: []string{"*"}})
	l.follow()
	l.at(time.Second, func() { l.must(l.c.Admin().Create(context.Background(), deployment())) })
	l.at(5*time.Second, func() { l.sayDeployment(); l.update("web:2") })
	l.at(6500*time.Millisecond, func() { l.c.Process(cluster.ControllerManager).Crash() })
	l.at(20*time.Second, l.sayDeployment)
	l.run(21*time.Second,
		"0: ready: []",
		"2020: ready: [web:1]",
		"2030: ready: [web:1 web:1]",
		"2040: ready: [web:1 web:1 web:1]",
		"5000: revision 1, 3 of 3 updated, Available MinimumReplicasAvailable, Progressing NewReplicaSetAvailable",
		"6020: ready: [web:1 web:1 web:1 web:2]",
		"6030: ready: [web:1 web:1 web:2]",
		"7040: ready: [web:1 web:1 web:2 web:2]",
		"7510: ready: [web:1 web:2 web:2]", // a second after the crash
		"8530: ready: [web:2 web:2 web:2]",
		"20000: revision 2, 3 of 3 updated, Available MinimumReplicasAvailable, Progressing NewReplicaSetAvailable",
	)
}
