package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// web is a Deployment of four pods.
func web() *appsv1.Deployment {
	four, labels := int32(4), map[string]string{"app": "web"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	d.Spec.Replicas, d.Spec.Selector = &four, &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:0"}}
	return d
}

// rollouts is a world in which the controllers of the cluster and its kubelets roll
// out one image after another.
func rollouts(w *sim.World) {
	w.Create(web(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	const last = 5
	for i := 1; i <= last; i++ {
		w.At(time.Duration(i)*20*time.Second, func() {
			body := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:%d"}]}}}}`, i)
			w.Must(w.Admin().Patch(context.Background(), web(), client.RawPatch(types.StrategicMergePatchType, []byte(body))))
		})
	}
	w.Eventually("the last image runs", "a rollout that stops halfway leaves both", 3*time.Minute, func() error {
		return rolledOut(w, fmt.Sprintf("web:%d", last))
	})
}

// rolledOut says what is missing until four pods with the image are behind the
// Service, and no other pod is.
func rolledOut(w *sim.World, image string) error {
	var d appsv1.Deployment
	w.Must(w.Admin().Get(context.Background(), client.ObjectKeyFromObject(web()), &d))
	if s := d.Status; s.ObservedGeneration != d.Generation || s.Replicas != 4 || s.UpdatedReplicas != 4 || s.AvailableReplicas != 4 {
		return fmt.Errorf("the deployment is at generation %d and has %+v", d.Generation, s)
	}
	var pods corev1.PodList
	w.Must(w.Admin().List(context.Background(), &pods, client.InNamespace("default")))
	addresses := map[string]bool{}
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil && p.Spec.Containers[0].Image == image {
			addresses[p.Status.PodIP] = true
		} else if p.DeletionTimestamp == nil {
			return fmt.Errorf("pod %s has image %s", p.Name, p.Spec.Containers[0].Image)
		}
	}
	var slices discoveryv1.EndpointSliceList
	w.Must(w.Admin().List(context.Background(), &slices, client.InNamespace("default")))
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if *e.Conditions.Ready && !addresses[e.Addresses[0]] {
				return fmt.Errorf("endpoint %s is of no new pod", e.Addresses[0])
			}
			delete(addresses, e.Addresses[0])
		}
	}
	if len(addresses) > 0 {
		return fmt.Errorf("%d pods are no endpoints", len(addresses))
	}
	return nil
}

func TestRolloutsComeToTheirEndAfterStorms(t *testing.T) {
	o := stormyOptions()
	o.Horizon, o.Seeds, o.Twice = 8*time.Minute, 20, 5
	o.Cluster.Agents, o.Cluster.Controllers = &cluster.Agents{}, []string{"*"}
	sim.Check(t, o, rollouts)
}
