package controllermanager

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	deploymentsGVR = appsv1.SchemeGroupVersion.WithResource("deployments")
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
)

// deployments rolls Deployments out: each version of a template has a ReplicaSet, and
// the controller moves pods from the old ones to the new one by changing how many each
// asks for.
type deployments struct {
	m      *Manager
	loop   *Loop
	events source
}

func newDeployments(m *Manager) controller {
	c := &deployments{m: m, events: m.source("deployment-controller")}
	c.loop = &Loop{Name: Deployments, Workers: 5, Reconcile: c.reconcile}
	return c
}

func (c *deployments) loops() []*Loop { return []*Loop{c.loop} }

func (c *deployments) watches(r *apiserver.Resource) bool {
	return r.GVR() == deploymentsGVR || r.GVR() == replicaSetsGVR || r.GVR() == podsGVR
}

func (c *deployments) observe(r *resource, old, new apiserver.Object) {
	switch r.gvr {
	case deploymentsGVR:
		c.loop.queue.Add(keyOf(either(old, new)))
	case replicaSetsGVR:
		c.observeReplicaSet(old, new)
	case podsGVR:
		if new == nil {
			c.podGone(old.(*corev1.Pod))
		}
	}
}

func (c *deployments) observeReplicaSet(old, new apiserver.Object) {
	switch {
	case new == nil:
		c.wakeOwner(old)
	case old == nil:
		if !c.wakeOwner(new) && new.GetDeletionTimestamp() == nil {
			c.offer(new.(*appsv1.ReplicaSet))
		}
	case old.GetResourceVersion() != new.GetResourceVersion():
		was, is := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(new)
		moved := (was == nil) != (is == nil) || was != nil && was.UID != is.UID
		if moved {
			c.wakeOwner(old)
		}
		if !c.wakeOwner(new) && (moved || !maps.Equal(old.GetLabels(), new.GetLabels())) {
			c.offer(new.(*appsv1.ReplicaSet))
		}
	}
}

// wakeOwner wakes the Deployment of a ReplicaSet. It reports whether anybody owns it.
func (c *deployments) wakeOwner(rs apiserver.Object) bool {
	if d := controllerOf[*appsv1.Deployment](c.m, deploymentsGVR, deploymentKind.Kind, rs); d != nil {
		c.loop.queue.Add(keyOf(d))
	}
	return metav1.GetControllerOfNoCopy(rs) != nil
}

// offer wakes the Deployments that may want a ReplicaSet that nobody owns.
func (c *deployments) offer(rs *appsv1.ReplicaSet) {
	for _, d := range cachedList[*appsv1.Deployment](c.m, deploymentsGVR, rs.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(rs.Labels)) {
			c.loop.queue.Add(keyOf(d))
		}
	}
}

// podGone wakes a Deployment that may wait for its old pods to be gone.
func (c *deployments) podGone(p *corev1.Pod) {
	rs := controllerOf[*appsv1.ReplicaSet](c.m, replicaSetsGVR, replicaSetKind.Kind, p)
	if rs == nil {
		return
	}
	d := controllerOf[*appsv1.Deployment](c.m, deploymentsGVR, deploymentKind.Kind, rs)
	if d != nil && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		c.loop.queue.Add(keyOf(d))
	}
}

// rollout is one look at a Deployment. It has a Deployment of its own, in which it
// notes what it has written; the version stays that of the cache, so that a second
// write in one look is refused, and the next look makes it.
type rollout struct {
	*deployments
	d      *appsv1.Deployment
	sets   []*appsv1.ReplicaSet // as the cache has them
	newest *appsv1.ReplicaSet   // has the template of the Deployment; nil if there is none
	old    []*appsv1.ReplicaSet // all others
}

func (c *deployments) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	stored, found := cached[*appsv1.Deployment](c.m, deploymentsGVR, req.Namespace, req.Name)
	if !found {
		return reconcile.Result{}, nil
	}
	r := &rollout{deployments: c, d: stored.DeepCopy()}
	after, err := r.look(ctx)
	if err != nil && !terminating(err) {
		return reconcile.Result{}, fmt.Errorf("deployment %s: %w", req, err)
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

// look does what is next to be done, and returns when it wants to look again.
func (r *rollout) look(ctx context.Context) (time.Duration, error) {
	selector, err := metav1.LabelSelectorAsSelector(r.d.Spec.Selector)
	if err != nil {
		return 0, err
	}
	if selector.Empty() {
		return 0, r.selectsAll(ctx)
	}
	r.sets, err = adopted(ctx, &adoption{
		m: r.m, owner: r.d, kind: deploymentKind, resource: deploymentsGVR, claimed: replicaSetsGVR, selector: selector,
	}, cachedList[*appsv1.ReplicaSet](r.m, replicaSetsGVR, r.d.Namespace))
	if err != nil {
		return 0, err
	}
	if r.d.DeletionTimestamp != nil {
		return 0, r.statusOnly(ctx, false)
	}
	if err := r.notePause(ctx); err != nil {
		return 0, err
	}
	if r.d.Spec.Paused {
		return 0, r.statusOnly(ctx, true)
	}
	if err := r.syncRevision(ctx, false); err != nil {
		return 0, err
	}
	if r.resized() {
		return 0, r.statusOnly(ctx, true)
	}
	if r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return r.recreate(ctx)
	}
	return r.roll(ctx)
}

func (r *rollout) selectsAll(ctx context.Context) error {
	r.events.warning(r.d, deploymentKind, "SelectingAll", "This deployment is selecting all pods. A non-empty selector is required.")
	if r.d.Status.ObservedGeneration >= r.d.Generation {
		return nil
	}
	r.d.Status.ObservedGeneration = r.d.Generation
	return r.write(ctx)
}

// statusOnly looks after a Deployment that is not rolled out now: it was resized, it is
// paused, or it is being deleted.
func (r *rollout) statusOnly(ctx context.Context, scale bool) error {
	if err := r.syncRevision(ctx, false); err != nil {
		return err
	}
	status := r.status() // of what was there before
	if scale {
		if err := r.scale(ctx); err != nil {
			return err
		}
		if r.d.Spec.Paused {
			if err := r.cleanUp(ctx); err != nil {
				return err
			}
		}
	}
	return r.writeIfNew(ctx, status)
}

// resized reports whether a ReplicaSet with pods was told of another size of the
// Deployment than it has.
func (r *rollout) resized() bool {
	for _, rs := range r.activeSets() {
		if n, ok := countIn(rs, desiredReplicasAnnotation); ok && n != *r.d.Spec.Replicas {
			return true
		}
	}
	return false
}

// write writes annotations and status of the Deployment.
func (r *rollout) write(ctx context.Context) error {
	_, err := r.m.update(ctx, deploymentsGVR, "status", r.d.DeepCopy())
	return err
}

// hasDeadline reports whether somebody wants to know about progress.
func (r *rollout) hasDeadline() bool {
	s := r.d.Spec.ProgressDeadlineSeconds
	return s != nil && *s != math.MaxInt32
}
