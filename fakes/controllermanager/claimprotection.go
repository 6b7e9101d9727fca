package controllermanager

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

const claimFinalizer = "kubernetes.io/pvc-protection"

// claimProtection lets a PersistentVolumeClaim that is being deleted go only when no
// pod with a node uses it. Admission gives new claims the finalizer. Of a claim that is
// bound it says in a condition since when nobody uses it.
type claimProtection struct {
	m    *Manager
	loop *Loop
}

func newClaimProtection(m *Manager) controller {
	c := &claimProtection{m: m}
	c.loop = &Loop{Name: ClaimProtection, Workers: 1, Reconcile: c.reconcile}
	return c
}

func (c *claimProtection) loops() []*Loop { return []*Loop{c.loop} }

func (c *claimProtection) watches(r *apiserver.Resource) bool {
	return r.GVR() == claimsGVR || r.GVR() == podsGVR
}

func (c *claimProtection) observe(r *resource, old, new apiserver.Object) {
	if r.gvr == claimsGVR {
		if new != nil && (misprotected(new, claimFinalizer) || unusedCondition(new.(*corev1.PersistentVolumeClaim)) == nil) {
			c.loop.queue.Add(keyOf(new))
		}
		return
	}
	before, now := asPod(old), asPod(new)
	if now == nil || before != nil && before.UID != now.UID {
		c.wake(before)
	}
	if now != nil {
		c.wake(now)
	}
}

// wake looks at the claims of a pod.
func (c *claimProtection) wake(p *corev1.Pod) {
	for i := range p.Spec.Volumes {
		if name := claimName(p, &p.Spec.Volumes[i]); name != "" {
			c.loop.add(p.Namespace, name)
		}
	}
}

// claimName is the name of the claim that a volume is made of, empty if of none.
func claimName(p *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return p.Name + "-" + v.Name
	}
	return ""
}

// misprotected reports whether a finalizer is missing, or holds what is being deleted.
func misprotected(o apiserver.Object, finalizer string) bool {
	return (o.GetDeletionTimestamp() != nil) == slices.Contains(o.GetFinalizers(), finalizer)
}

func (c *claimProtection) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim, found := cached[*corev1.PersistentVolumeClaim](c.m, claimsGVR, req.Namespace, req.Name)
	if !found {
		return reconcile.Result{}, nil
	}
	if claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound {
		if err := c.tellUse(ctx, claim); err != nil {
			return reconcile.Result{}, err
		}
	}
	if !misprotected(claim, claimFinalizer) {
		return reconcile.Result{}, nil
	}
	if claim.DeletionTimestamp != nil {
		used, err := c.used(ctx, claim, holds)
		if err != nil || used {
			return reconcile.Result{}, err
		}
	}
	next := claim.DeepCopy()
	protect(next, claimFinalizer)
	_, err := c.m.update(ctx, claimsGVR, "", next)
	return reconcile.Result{}, err
}

func unusedCondition(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaimCondition {
	for i := range claim.Status.Conditions {
		if claim.Status.Conditions[i].Type == corev1.PersistentVolumeClaimUnused {
			return &claim.Status.Conditions[i]
		}
	}
	return nil
}

// tellUse keeps the condition that says whether no pod refers to the claim.
func (c *claimProtection) tellUse(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	used, err := c.used(ctx, claim, refersTo)
	if err != nil {
		return err
	}
	next := corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimUnused, LastTransitionTime: c.m.now(),
		Status: corev1.ConditionTrue, Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC",
	}
	if used {
		next.Status, next.Reason, next.Message = corev1.ConditionFalse, "PodUsingPVC", "A pod is currently referencing this PVC"
	}
	changed := claim.DeepCopy()
	switch was := unusedCondition(changed); {
	case was == nil:
		changed.Status.Conditions = append(changed.Status.Conditions, next)
	case was.Status == next.Status:
		return nil
	default:
		*was = next
	}
	_, err = c.m.update(ctx, claimsGVR, "status", changed)
	return err
}

// protect gives an object the finalizer, or takes it from one that is being deleted.
func protect(o apiserver.Object, finalizer string) {
	if o.GetDeletionTimestamp() == nil {
		o.SetFinalizers(append(o.GetFinalizers(), finalizer))
		return
	}
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == finalizer }))
}

// used reports whether a pod uses the claim, as says tells. The cache may be late, so
// the last word is the API's.
func (c *claimProtection) used(ctx context.Context, claim *corev1.PersistentVolumeClaim, says func(*corev1.Pod, *corev1.PersistentVolumeClaim) bool) (bool, error) {
	for _, p := range cachedList[*corev1.Pod](c.m, podsGVR, claim.Namespace) {
		if says(p, claim) {
			return true, nil
		}
	}
	live, err := c.m.list(ctx, podsGVR, claim.Namespace)
	if err != nil {
		return false, fmt.Errorf("live list of pods failed: %w", err)
	}
	return slices.ContainsFunc(live, func(o apiserver.Object) bool { return says(o.(*corev1.Pod), claim) }), nil
}

// holds reports whether a pod with a node uses the claim: also one that has ended, until
// it is deleted.
func holds(p *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	down := p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return claimName(p, &v) == claim.Name && (v.PersistentVolumeClaim != nil || !down && metav1.IsControlledBy(claim, p))
	})
}

// refersTo reports whether a pod that has not ended names the claim, with or without a
// node.
func refersTo(p *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	return !finished(p) && slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return claimName(p, &v) == claim.Name && (v.PersistentVolumeClaim != nil || metav1.IsControlledBy(claim, p))
	})
}
