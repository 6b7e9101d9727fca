package provingground

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// kubeletProcess is the process that stands in for the kubelets of all nodes, where
// they are not under test.
const kubeletProcess = "kubelet"

// node is where Pods are placed whose place plays no part.
const node = "node-1"

// grace is how long a Pod takes to end, in seconds.
const grace = 20

// kubelet says of each Pod that it runs, and lets those go that are deleted once they
// had their time to end.
func (g *ground) kubelet() {
	g.controller(kubeletProcess, []kube.Watch{{Object: &corev1.Pod{}}}, func(env *cluster.Env) reconcile.Func {
		ends := map[types.UID]time.Duration{} // by the clock that nobody steps
		return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var pod corev1.Pod
			if err := env.Client.Get(ctx, req.NamespacedName, &pod); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			if pod.DeletionTimestamp != nil {
				now := env.Clock.Monotonic()
				if _, seen := ends[pod.UID]; !seen {
					ends[pod.UID] = now + grace*time.Second
				}
				if left := ends[pod.UID] - now; left > 0 {
					return reconcile.Result{RequeueAfter: left}, nil
				}
				return reconcile.Result{}, client.IgnoreNotFound(env.Client.Delete(ctx, &pod, client.GracePeriodSeconds(0), sameObject(&pod)))
			}
			if pod.Status.Phase == corev1.PodRunning {
				return reconcile.Result{}, nil
			}
			now := metav1.NewTime(env.Clock.Now().Truncate(time.Second))
			pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
			return reconcile.Result{}, client.IgnoreNotFound(env.Client.Status().Update(ctx, &pod))
		}
	})
}

// protectionProcess is the process that lets claims go.
const protectionProcess = "protection"

// protection lets claims that are deleted go once no Pod of their name is left. That of
// kube-controller-manager would do as well, but that it does not look again: a Pod that
// came and went while it did not watch keeps a claim until the controller's next resync,
// which is hours away.
func (g *ground) protection() {
	g.controller(protectionProcess, []kube.Watch{{Object: &corev1.PersistentVolumeClaim{}}}, func(env *cluster.Env) reconcile.Func {
		return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var claim corev1.PersistentVolumeClaim
			if err := env.Client.Get(ctx, req.NamespacedName, &claim); err != nil || claim.DeletionTimestamp == nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			err := env.Kube.Get(ctx, req.NamespacedName, &corev1.Pod{})
			if !apierrors.IsNotFound(err) {
				return reconcile.Result{RequeueAfter: recheck}, err
			}
			claim.Finalizers = nil
			return reconcile.Result{}, client.IgnoreNotFound(env.Client.Update(ctx, &claim))
		}
	})
}

// sameObject lets a deletion through only if the object is still the one that was seen.
func sameObject(o client.Object) client.Preconditions {
	uid := o.GetUID()
	return client.Preconditions{UID: &uid}
}

// newPod is a Pod of an operator's, on the node.
func newPod(name string, labels map[string]string) *corev1.Pod {
	seconds := int64(grace)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: &seconds,
			Containers: []corev1.Container{{Name: "member", Image: "member"}},
		},
	}
}

// newMember is a Pod that uses the claim of its name.
func newMember(name string) *corev1.Pod {
	pod := newPod(name, nil)
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}}
	return pod
}
