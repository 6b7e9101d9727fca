package controllermanager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	replicaSetsGVR = appsv1.SchemeGroupVersion.WithResource("replicasets")
	replicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
)

// replicaSets keeps as many pods of each ReplicaSet as it asks for.
type replicaSets struct {
	m        *Manager
	loop     *Loop
	events   source
	expected *expectations
}

// replicaBurst is how many pods are made or deleted at most before the controller
// looks again.
const replicaBurst = 500

func newReplicaSets(m *Manager) controller {
	c := &replicaSets{m: m, events: m.source("replicaset-controller"), expected: newExpectations(m)}
	c.loop = &Loop{Name: ReplicaSets, Workers: 5, Reconcile: c.reconcile}
	return c
}

func (c *replicaSets) loops() []*Loop { return []*Loop{c.loop} }

func (c *replicaSets) watches(r *apiserver.Resource) bool {
	return r.GVR() == replicaSetsGVR || r.GVR() == podsGVR
}

func (c *replicaSets) observe(r *resource, old, new apiserver.Object) {
	if r.gvr == podsGVR {
		c.observePod(asPod(old), asPod(new))
		return
	}
	if old != nil && (new == nil || new.GetUID() != old.GetUID()) {
		c.expected.forget(request(old.GetNamespace(), old.GetName()))
	}
	c.loop.add(either(old, new).GetNamespace(), either(old, new).GetName())
}

// asPod is the pod that o is, nil if it is nothing.
func asPod(o apiserver.Object) *corev1.Pod {
	p, _ := o.(*corev1.Pod)
	return p
}

// either is the object before or after a change, of which one may be missing.
func either(old, new apiserver.Object) apiserver.Object {
	if new != nil {
		return new
	}
	return old
}

func (c *replicaSets) observePod(old, new *corev1.Pod) {
	switch {
	case old != nil && new != nil && old.ResourceVersion == new.ResourceVersion:
	case new == nil:
		c.podLeaves(old)
	case new.DeletionTimestamp != nil:
		c.podLeaves(new)
		if old != nil && !maps.Equal(old.Labels, new.Labels) {
			c.podLeaves(old)
		}
	case old == nil:
		if rs := c.ownerOf(new); rs != nil {
			c.expected.created(keyOf(rs))
			c.loop.queue.Add(keyOf(rs))
			return
		}
		c.offer(new)
	default:
		c.podChanges(old, new)
	}
}

// podLeaves wakes the owner of a pod that is gone or going.
func (c *replicaSets) podLeaves(p *corev1.Pod) {
	if rs := c.ownerOf(p); rs != nil {
		c.expected.deleted(keyOf(rs), p.Name)
		c.loop.queue.Add(keyOf(rs))
	}
}

func (c *replicaSets) podChanges(old, new *corev1.Pod) {
	was, is := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(new)
	moved := (was == nil) != (is == nil) || was != nil && was.UID != is.UID
	if before := c.ownerOf(old); moved && before != nil {
		c.loop.queue.Add(keyOf(before))
	}
	if is == nil {
		if moved || !maps.Equal(old.Labels, new.Labels) {
			c.offer(new)
		}
		return
	}
	rs := c.ownerOf(new)
	if rs == nil {
		return
	}
	c.loop.queue.Add(keyOf(rs))
	if !ready(old) && ready(new) && rs.Spec.MinReadySeconds > 0 {
		c.loop.queue.AddAfter(keyOf(rs), time.Duration(rs.Spec.MinReadySeconds)*time.Second)
	}
}

// ownerOf returns the ReplicaSet that the pod belongs to, if the cache has it.
func (c *replicaSets) ownerOf(p *corev1.Pod) *appsv1.ReplicaSet {
	return controllerOf[*appsv1.ReplicaSet](c.m, replicaSetsGVR, replicaSetKind.Kind, p)
}

// controllerOf returns the controller of an object if it is of that kind and in the
// cache.
func controllerOf[T apiserver.Object](m *Manager, gvr schema.GroupVersionResource, kind string, o apiserver.Object) (none T) {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.Kind != kind {
		return none
	}
	owner, found := cached[T](m, gvr, o.GetNamespace(), ref.Name)
	if !found || owner.GetUID() != ref.UID {
		return none
	}
	return owner
}

func keyOf(o apiserver.Object) reconcile.Request { return request(o.GetNamespace(), o.GetName()) }

// offer wakes the ReplicaSets that may want a pod that nobody owns.
func (c *replicaSets) offer(p *corev1.Pod) {
	if metav1.GetControllerOfNoCopy(p) != nil {
		return
	}
	for _, rs := range cachedList[*appsv1.ReplicaSet](c.m, replicaSetsGVR, p.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(p.Labels)) {
			c.loop.queue.Add(keyOf(rs))
		}
	}
}

func (c *replicaSets) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	rs, found := cached[*appsv1.ReplicaSet](c.m, replicaSetsGVR, req.Namespace, req.Name)
	if !found {
		c.expected.forget(req)
		return reconcile.Result{}, nil
	}
	met := c.expected.met(req)
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return reconcile.Result{}, nil //nolint:nilerr // another attempt would fail too
	}
	pods, leaving, err := c.pods(ctx, rs, selector)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("pods of replicaset %s: %w", req, err)
	}
	var failure error
	if met && rs.DeletionTimestamp == nil {
		failure = c.manage(ctx, rs, pods)
	}
	now := c.m.opts.Clock.Now()
	rs, err = c.writeStatus(ctx, rs, replicaSetStatus(rs, pods, leaving, failure, now))
	if err = errors.Join(err, failure); err != nil {
		return reconcile.Result{}, fmt.Errorf("replicaset %s: %w", req, err)
	}
	if rs.Spec.MinReadySeconds > 0 && rs.Status.ReadyReplicas != rs.Status.AvailableReplicas {
		return reconcile.Result{RequeueAfter: nextAvailable(pods, rs.Spec.MinReadySeconds, now)}, nil
	}
	return reconcile.Result{}, nil
}

// nextAvailable is when the next pod will have been ready for long enough.
func nextAvailable(pods []*corev1.Pod, minReadySeconds int32, now time.Time) time.Duration {
	next := time.Duration(minReadySeconds) * time.Second
	for _, p := range pods {
		if left, ever := availableIn(p, minReadySeconds, now); ever && left > 0 {
			next = min(next, left)
		}
	}
	return next
}

// pods returns the pods of a ReplicaSet, and those of it that are on their way out.
func (c *replicaSets) pods(ctx context.Context, rs *appsv1.ReplicaSet, selector labels.Selector) (mine, leaving []*corev1.Pod, err error) {
	var candidates []*corev1.Pod
	for _, p := range cachedList[*corev1.Pod](c.m, podsGVR, rs.Namespace) {
		owned := metav1.IsControlledBy(p, rs)
		switch {
		case active(p) && (owned || metav1.GetControllerOfNoCopy(p) == nil):
			candidates = append(candidates, p)
		case terminatingPod(p) && owned && selector.Matches(labels.Set(p.Labels)):
			leaving = append(leaving, p)
		}
	}
	mine, err = adopted(ctx, &adoption{
		m: c.m, owner: rs, kind: replicaSetKind, resource: replicaSetsGVR, claimed: podsGVR, selector: selector,
	}, candidates)
	return mine, leaving, err
}

// manage makes the pods that are missing, or deletes those that are too many.
func (c *replicaSets) manage(ctx context.Context, rs *appsv1.ReplicaSet, pods []*corev1.Pod) error {
	want := int(*rs.Spec.Replicas)
	if missing := min(want-len(pods), replicaBurst); missing > 0 {
		c.expected.expect(keyOf(rs), missing)
		made, err := slowly(missing, func() error { return c.createPod(ctx, rs) })
		for range missing - made {
			c.expected.created(keyOf(rs))
		}
		return err
	}
	surplus := min(len(pods)-want, replicaBurst)
	if surplus <= 0 {
		return nil
	}
	leaving := c.m.leaving(pods, c.related(rs), surplus)
	names := make([]string, len(leaving))
	for i, p := range leaving {
		names[i] = p.Name
	}
	c.expected.expect(keyOf(rs), 0, names...)
	var first error
	for _, p := range leaving {
		if err := c.deletePod(ctx, rs, p); err != nil {
			c.expected.deleted(keyOf(rs), p.Name)
			if first == nil && !apierrors.IsNotFound(err) {
				first = err
			}
		}
	}
	return first
}

// slowly does something n times in batches of 1, 2, 4, …, and begins no further batch
// when something has failed. It returns how often it went well.
func slowly(n int, do func() error) (int, error) {
	done := 0
	for batch := 1; done < n; batch *= 2 {
		var first error
		for range min(batch, n-done) {
			if err := do(); err == nil {
				done++
			} else if first == nil {
				first = err
			}
		}
		if first != nil {
			return done, first
		}
	}
	return done, nil
}

// createPod makes a pod from the template. In a namespace that is on its way out
// nothing can be made, and there is nothing to be done about it.
func (c *replicaSets) createPod(ctx context.Context, rs *appsv1.ReplicaSet) error {
	p, err := c.m.create(ctx, podsGVR, podOf(&rs.Spec.Template, rs.Name, metav1.NewControllerRef(rs, replicaSetKind), rs.Namespace))
	switch {
	case terminating(err):
		return nil
	case err != nil:
		c.events.warning(rs, replicaSetKind, "FailedCreate", "Error creating: %v", err)
		return err
	}
	c.events.normal(rs, replicaSetKind, "SuccessfulCreate", "Created pod: %v", p.GetName())
	return nil
}

// podOf is a pod as a template describes it, with a name that the server makes from
// its owner's.
func podOf(t *corev1.PodTemplateSpec, owner string, ref *metav1.OwnerReference, namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, GenerateName: namePrefix(owner), OwnerReferences: []metav1.OwnerReference{*ref},
			Labels: maps.Clone(t.Labels), Annotations: maps.Clone(t.Annotations), Finalizers: slices.Clone(t.Finalizers),
		},
		Spec: *t.Spec.DeepCopy(),
	}
}

// namePrefix is what the server makes names of for what belongs to an object.
func namePrefix(owner string) string {
	if prefix := owner + "-"; len(apivalidation.NameIsDNSSubdomain(prefix, true)) == 0 {
		return prefix
	}
	return owner
}

func (c *replicaSets) deletePod(ctx context.Context, rs *appsv1.ReplicaSet, p *corev1.Pod) error {
	err := c.m.delete(ctx, podsGVR, p.Namespace, p.Name, nil)
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		c.events.warning(rs, replicaSetKind, "FailedDelete", "Error deleting: %v", err)
		return fmt.Errorf("unable to delete pods: %w", err)
	}
	c.events.normal(rs, replicaSetKind, "SuccessfulDelete", "Deleted pod: %v", p.Name)
	return nil
}

// related returns the pods that all ReplicaSets of the same owner select.
func (c *replicaSets) related(rs *appsv1.ReplicaSet) []*corev1.Pod {
	ref := metav1.GetControllerOfNoCopy(rs)
	if ref == nil {
		return nil
	}
	var selectors []labels.Selector
	for _, other := range cachedList[*appsv1.ReplicaSet](c.m, replicaSetsGVR, rs.Namespace) {
		if o := metav1.GetControllerOfNoCopy(other); o != nil && o.UID == ref.UID {
			if s, err := metav1.LabelSelectorAsSelector(other.Spec.Selector); err == nil {
				selectors = append(selectors, s)
			}
		}
	}
	return slices.DeleteFunc(cachedList[*corev1.Pod](c.m, podsGVR, rs.Namespace), func(p *corev1.Pod) bool {
		return !slices.ContainsFunc(selectors, func(s labels.Selector) bool { return s.Matches(labels.Set(p.Labels)) })
	})
}
