package controllermanager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	namespacesGVR = corev1.SchemeGroupVersion.WithResource("namespaces")
	podsGVR       = corev1.SchemeGroupVersion.WithResource("pods")
)

// namespaces empties namespaces that are being deleted, and then lets them go.
type namespaces struct {
	m    *Manager
	loop *Loop
}

const (
	// namespaceDelay lets other API servers see the deletion before the work
	// begins.
	namespaceDelay = 5 * time.Second

	// finalizerEstimate is how long finalizers are expected to take.
	finalizerEstimate = 15
)

func newNamespaces(m *Manager) controller {
	c := &namespaces{m: m}
	c.loop = &Loop{Name: Namespaces, Workers: 10, Backoff: kube.Backoff{Base: 5 * time.Millisecond, Max: time.Minute}, Reconcile: c.reconcile}
	return c
}

func (c *namespaces) loops() []*Loop { return []*Loop{c.loop} }

func (c *namespaces) watches(r *apiserver.Resource) bool { return r.GVR() == namespacesGVR }

func (c *namespaces) observe(_ *resource, _, new apiserver.Object) {
	if new != nil && new.GetDeletionTimestamp() != nil {
		c.loop.queue.AddAfter(request("", new.GetName()), namespaceDelay)
	}
}

func (c *namespaces) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if _, found := cached[*corev1.Namespace](c.m, namespacesGVR, "", req.Name); !found {
		return reconcile.Result{}, nil
	}
	estimate, err := c.empty(ctx, req.Name)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("empty namespace %s: %w", req.Name, err)
	}
	if estimate > 0 {
		return reconcile.Result{RequeueAfter: time.Duration(estimate/2+1) * time.Second}, nil
	}
	return reconcile.Result{}, nil
}

// empty deletes everything in a namespace that is being deleted, and the namespace
// with it once nothing is left. It returns how many seconds the rest may take, zero
// if nothing is known to be left.
func (c *namespaces) empty(ctx context.Context, name string) (int64, error) {
	ns, err := c.namespace(c.m.get(ctx, namespacesGVR, "", name))
	if err != nil || ns.DeletionTimestamp == nil {
		return 0, ignoreNotFound(err)
	}
	ns, err = c.write(ctx, ns, func(ns *corev1.Namespace) (*corev1.Namespace, error) {
		if ns.DeletionTimestamp == nil || ns.Status.Phase == corev1.NamespaceTerminating {
			return ns, nil
		}
		next := ns.DeepCopy()
		next.Status.Phase = corev1.NamespaceTerminating
		return c.namespace(c.m.update(ctx, namespacesGVR, "status", next))
	})
	if err != nil || ns.DeletionTimestamp == nil || len(ns.Spec.Finalizers) == 0 {
		return 0, ignoreNotFound(err)
	}
	estimate, err := c.content(ctx, ns)
	if err != nil || estimate > 0 {
		return estimate, err
	}
	_, err = c.write(ctx, ns, func(ns *corev1.Namespace) (*corev1.Namespace, error) {
		next := ns.DeepCopy()
		next.Spec.Finalizers = slices.DeleteFunc(next.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
		return c.namespace(c.m.update(ctx, namespacesGVR, "finalize", next))
	})
	return 0, ignoreNotFound(err)
}

func (c *namespaces) namespace(o apiserver.Object, err error) (*corev1.Namespace, error) {
	if err != nil {
		return nil, err
	}
	return o.(*corev1.Namespace), nil
}

// write repeats a write of the namespace until no other write comes between.
func (c *namespaces) write(ctx context.Context, ns *corev1.Namespace, do func(*corev1.Namespace) (*corev1.Namespace, error)) (*corev1.Namespace, error) {
	for {
		next, err := do(ns)
		if !apierrors.IsConflict(err) {
			return next, err
		}
		uid := ns.UID
		if ns, err = c.namespace(c.m.get(ctx, namespacesGVR, "", ns.Name)); err != nil {
			return nil, err
		}
		if ns.UID != uid {
			return nil, errors.New("namespace uid has changed across retries")
		}
	}
}

// content deletes all content: pods first and, once they are gone, the rest, in no
// particular order.
func (c *namespaces) content(ctx context.Context, ns *corev1.Namespace) (int64, error) {
	var errs []error
	found := &remains{}
	take := func(r *resource) {
		some, err := c.deleteAll(ctx, r, ns)
		if err != nil {
			errs = append(errs, err)
			found.failed(err)
		}
		found.add(r, some)
	}
	if pods := c.m.byResource[podsGVR]; pods != nil {
		take(pods)
		if some := found.estimate; len(found.resources) > 0 {
			// The conditions say nothing of the pods that everything waits for.
			c.report(ctx, ns, &remains{errs: found.errs})
			return some, errors.Join(errs...)
		}
	}
	for left := c.deletable(); len(left) > 0; {
		i := c.m.opts.Pick(len(left))
		r := left[i]
		left = slices.Delete(left, i, i+1)
		take(r)
	}
	c.report(ctx, ns, found)
	return found.estimate, errors.Join(errs...)
}

// deletable returns what may be in a namespace, apart from pods.
func (c *namespaces) deletable() []*resource {
	var out []*resource
	for _, r := range c.m.sorted {
		if r.preferred && r.Namespaced && r.can("delete") && r.gvr != podsGVR {
			out = append(out, r)
		}
	}
	return out
}

// report writes the conditions that follow from what was found, if they are new.
// Nothing depends on that, and the next attempt tries again: an error is not one of
// the controller's.
func (c *namespaces) report(ctx context.Context, ns *corev1.Namespace, found *remains) {
	next := ns.DeepCopy()
	if found.conditions(&next.Status, metav1.NewTime(c.m.opts.Clock.Now())) {
		_, _ = c.m.update(ctx, namespacesGVR, "status", next)
	}
}

// some is what is left of one resource.
type some struct {
	estimate   int64 // seconds
	items      int
	finalizers map[string]int // by name, how many items have it
}

// deleteAll deletes all objects of a resource in the namespace and looks at what is
// left.
func (c *namespaces) deleteAll(ctx context.Context, r *resource, ns *corev1.Namespace) (some, error) {
	var estimate int64
	if r.gvr == podsGVR {
		var err error
		if estimate, err = c.gracePeriod(ctx, ns); err != nil {
			return some{}, err
		}
	}
	if err := c.deleteCollection(ctx, r, ns.Name); err != nil {
		return some{estimate: estimate}, err
	}
	if !r.can("list") {
		return some{estimate: estimate}, nil
	}
	items, err := c.m.list(ctx, r.gvr, ns.Name)
	if err != nil || len(items) == 0 {
		if err != nil {
			return some{estimate: estimate}, ignoreUnsupported(err)
		}
		return some{}, nil
	}
	left := some{estimate: estimate, items: len(items), finalizers: map[string]int{}}
	for _, o := range items {
		for _, f := range o.GetFinalizers() {
			left.finalizers[f]++
		}
	}
	switch {
	case estimate > 0:
	case len(left.finalizers) > 0:
		left.estimate = finalizerEstimate
	default:
		return left, fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", ns.Name, r.gvr)
	}
	return left, nil
}

func ignoreUnsupported(err error) error {
	if apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *namespaces) deleteCollection(ctx context.Context, r *resource, namespace string) error {
	background := metav1.DeletePropagationBackground
	opts := &metav1.DeleteOptions{PropagationPolicy: &background}
	if r.can("deletecollection") {
		_, err := c.m.call(ctx, &apiserver.Request{Verb: apiserver.DeleteCollection, Resource: r.gvr, Namespace: namespace, DeleteOptions: opts})
		if err == nil || ignoreUnsupported(err) != nil {
			return err
		}
	}
	if !r.can("list") {
		return nil
	}
	items, err := c.m.list(ctx, r.gvr, namespace)
	if err != nil {
		return ignoreUnsupported(err)
	}
	for _, o := range items {
		if err := c.m.delete(ctx, r.gvr, namespace, o.GetName(), opts); ignoreUnsupported(err) != nil {
			return err
		}
	}
	return nil
}

// gracePeriod is how many seconds the pods of the namespace may take to end, zero if
// they have had that time.
func (c *namespaces) gracePeriod(ctx context.Context, ns *corev1.Namespace) (int64, error) {
	pods, err := c.m.list(ctx, podsGVR, ns.Name)
	if err != nil {
		return 0, err
	}
	var longest int64
	for _, o := range pods {
		p := o.(*corev1.Pod)
		if grace := p.Spec.TerminationGracePeriodSeconds; grace != nil && !finished(p) {
			longest = max(longest, *grace)
		}
	}
	if c.m.opts.Clock.Since(ns.DeletionTimestamp.Time) >= time.Duration(longest)*time.Second {
		return 0, nil
	}
	return longest, nil
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
