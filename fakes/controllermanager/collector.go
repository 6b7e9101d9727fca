package controllermanager

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// collector is the garbage collector: it deletes objects all of whose owners are
// gone. Requests of its loops are named after the uid of a node.
type collector struct {
	m     *Manager
	graph *graph
	all   []*Loop
}

const (
	// collectorWorkers is how many requests each of its loops works on at once.
	collectorWorkers = 20

	// collectorPatience is for watches that cannot list: one broken resource must
	// not stop all collection.
	collectorPatience = 30 * time.Second
)

func newCollector(m *Manager) controller {
	c := &collector{m: m}
	loop := func(name string, do func(context.Context, *node) error) *Loop {
		return &Loop{Name: GarbageCollector + name, Workers: collectorWorkers, Patience: collectorPatience, Reconcile: c.attempt(do)}
	}
	toDelete, toOrphan := loop("/delete", c.attemptToDelete), loop("/orphan", c.attemptToOrphan)
	c.all = []*Loop{toDelete, toOrphan}
	c.graph = newGraph(toDelete, toOrphan)
	return c
}

func (c *collector) loops() []*Loop { return c.all }

func (c *collector) watches(r *apiserver.Resource) bool {
	return r.Plural != "events" && slices.Contains(r.Verbs, "delete")
}

func (c *collector) observe(r *resource, old, new apiserver.Object) { c.graph.changed(r, old, new) }

// attempt makes a Reconcile of a function that works on the node of a request.
func (c *collector) attempt(do func(context.Context, *node) error) reconcile.Func {
	return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		n := c.graph.nodes[types.UID(req.Name)]
		if n == nil {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, do(ctx, n)
	}
}

// Errors that make the collector look again later, or never.
var (
	errVirtual         = errors.New("the object has not been observed yet")
	errNamespacedOwner = errors.New("cluster-scoped objects cannot refer to namespaced owners")
)

// noKindError says that an owner is of a kind that is not served (yet).
type noKindError struct{ apiVersion, kind string }

func (e *noKindError) Error() string {
	return fmt.Sprintf("unable to get REST mapping for %s/%s", e.apiVersion, e.kind)
}

func (c *collector) attemptToDelete(ctx context.Context, n *node) error {
	err := c.collect(ctx, n)
	switch {
	case errors.Is(err, errNamespacedOwner):
		return nil // trying again will not help
	case err != nil:
		return fmt.Errorf("collect %s %s/%s: %w", n.kind, n.namespace, n.name, err)
	case n.virtual && c.graph.nodes[n.uid] == n:
		// It exists, so a watch will show it, unless it is gone again before.
		return fmt.Errorf("collect %s %s/%s: %w", n.kind, n.namespace, n.name, errVirtual)
	}
	return nil
}

// collect deletes the object of n if it has owners and none of them is alive.
func (c *collector) collect(ctx context.Context, n *node) error {
	if n.beingDeleted && !n.deletingDependents {
		return nil
	}
	id := n.identity
	latest, err := c.find(ctx, id)
	if err != nil {
		return err
	}
	if latest == nil {
		c.graph.notFound(id)
		return nil
	}
	if n.deletingDependents {
		return c.waitForDependents(ctx, n)
	}
	refs := latest.GetOwnerReferences()
	if len(refs) == 0 {
		return nil
	}
	o, err := c.classify(ctx, id, refs)
	if err != nil {
		return err
	}
	switch {
	case o.solid > 0:
		// The dead go, and those that wait for n would wait for ever.
		if gone := slices.Concat(o.dangling, o.waiting); len(gone) > 0 {
			return c.dropOwners(ctx, id, gone)
		}
		return nil
	case len(o.waiting) > 0 && len(n.dependents) > 0:
		if err := c.breakCycle(ctx, n); err != nil {
			return err
		}
		return c.remove(ctx, id, latest, metav1.DeletePropagationForeground)
	default:
		return c.remove(ctx, id, latest, policyOf(latest))
	}
}

// policyOf honours the finalizer of a policy that is on the object already.
func policyOf(o apiserver.Object) metav1.DeletionPropagation {
	switch {
	case slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	default:
		return metav1.DeletePropagationBackground
	}
}

// owners is what has become of an object's owners.
type owners struct {
	solid    int         // alive
	dangling []types.UID // gone
	waiting  []types.UID // being deleted in the foreground
}

func (c *collector) classify(ctx context.Context, id identity, refs []metav1.OwnerReference) (owners, error) {
	var o owners
	for i := range refs {
		owner, err := c.owner(ctx, id, &refs[i])
		switch {
		case err != nil:
			return o, err
		case owner == nil:
			o.dangling = append(o.dangling, refs[i].UID)
		case deletingWith(owner, metav1.FinalizerDeleteDependents):
			o.waiting = append(o.waiting, refs[i].UID)
		default:
			o.solid++
		}
	}
	return o, nil
}

// owner returns the owner that a reference means, nil if it does not exist.
func (c *collector) owner(ctx context.Context, dependent identity, ref *metav1.OwnerReference) (apiserver.Object, error) {
	wanted := claim(ref, "")
	if c.graph.absent.has(wanted) {
		return nil, nil
	}
	wanted.namespace = dependent.namespace
	if c.graph.absent.has(wanted) {
		return nil, nil
	}
	r := c.m.kind(ref.APIVersion, ref.Kind)
	switch {
	case r == nil:
		return nil, &noKindError{ref.APIVersion, ref.Kind}
	case !r.Namespaced:
		wanted.namespace = ""
	case dependent.namespace == "":
		return nil, errNamespacedOwner
	}
	owner, err := c.find(ctx, wanted)
	if err == nil && owner == nil {
		c.graph.absent.add(wanted)
	}
	return owner, err
}

// find asks the API for the object with an identity, uid included; nil means that
// there is none.
func (c *collector) find(ctx context.Context, id identity) (apiserver.Object, error) {
	r, err := c.resource(&id)
	if err != nil {
		return nil, err
	}
	o, err := c.m.get(ctx, r.gvr, id.namespace, id.name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", id.kind, id.name, err)
	case o.GetUID() != id.uid:
		return nil, nil
	}
	return o, nil
}

// resource returns where objects of the identity's kind are. It corrects the
// namespace of one that was guessed.
func (c *collector) resource(id *identity) (*resource, error) {
	r := c.m.kind(id.apiVersion, id.kind)
	switch {
	case r == nil:
		return nil, &noKindError{id.apiVersion, id.kind}
	case !r.Namespaced:
		id.namespace = ""
	case id.namespace == "":
		return nil, errNamespacedOwner
	}
	return r, nil
}

// remove deletes an object of which latest is the state that was judged.
func (c *collector) remove(ctx context.Context, id identity, latest apiserver.Object, policy metav1.DeletionPropagation) error {
	r, err := c.resource(&id)
	if err != nil {
		return err
	}
	version := latest.GetResourceVersion()
	err = c.m.delete(ctx, r.gvr, id.namespace, id.name, &metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &id.uid, ResourceVersion: &version}, PropagationPolicy: &policy,
	})
	if apierrors.IsConflict(err) {
		now, e := c.find(ctx, id)
		switch {
		case e == nil && now == nil:
			err = nil
			c.graph.notFound(id)
		case e == nil && now.GetResourceVersion() != version && reflect.DeepEqual(now.GetOwnerReferences(), latest.GetOwnerReferences()):
			// Writes that have nothing to do with owners must not keep it alive.
			err = c.m.delete(ctx, r.gvr, id.namespace, id.name, &metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &id.uid}, PropagationPolicy: &policy,
			})
		}
	}
	if apierrors.IsNotFound(err) {
		c.graph.notFound(id)
		return nil
	}
	return err
}

// waitForDependents works on an object that is deleted in the foreground.
func (c *collector) waitForDependents(ctx context.Context, n *node) error {
	blocking := n.blocking()
	if len(blocking) == 0 {
		return c.dropFinalizer(ctx, n.identity, metav1.FinalizerDeleteDependents)
	}
	for _, d := range blocking {
		if !d.deletingDependents {
			c.graph.delete(d)
		}
	}
	return nil
}

// attemptToOrphan takes the owner out of its dependents, and then lets it go.
func (c *collector) attemptToOrphan(ctx context.Context, n *node) error {
	id := n.identity
	var errs []error
	for _, d := range n.sorted() {
		if err := c.dropOwners(ctx, d.identity, []types.UID{id.uid}); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("orphan %s %s/%s: %w", d.kind, d.namespace, d.name, err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return c.dropFinalizer(ctx, id, metav1.FinalizerOrphanDependents)
}
