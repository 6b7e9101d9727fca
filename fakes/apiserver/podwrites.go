package apiserver

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// changePod stores what change makes of a copy of the pod. It returns the pod as
// stored.
func (c *call) changePod(change func(p *corev1.Pod) error) (*corev1.Pod, error) {
	for {
		old, ok, err := c.loadToWrite(c.key())
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, c.errNotFound()
		}
		p := old.(*corev1.Pod).DeepCopy()
		if err := change(p); err != nil {
			return nil, err
		}
		if c.dryRun || c.ep.Equal(p, old) {
			return old.(*corev1.Pod), nil
		}
		err = c.rewrite(c.ep, c.key(), p, old)
		if err == nil {
			return p, nil
		}
		if err = c.storageError(err); !errors.Is(err, store.ErrConflict) {
			return nil, err
		}
	}
}

// setCondition adds a condition to a pod, or changes it.
func (c *call) setCondition(s *corev1.PodStatus, cond corev1.PodCondition) {
	cond.LastTransitionTime = c.now()
	for i := range s.Conditions {
		have := &s.Conditions[i]
		if have.Type != cond.Type {
			continue
		}
		if have.Status == cond.Status {
			cond.LastTransitionTime = have.LastTransitionTime
		}
		*have = cond
		return
	}
	s.Conditions = append(s.Conditions, cond)
}

// bind serves pods/binding: it gives a pod its node.
func (c *call) bind() (*Response, error) {
	if err := c.checkWriteOptions("CreateOptions"); err != nil {
		return nil, err
	}
	b := &corev1.Binding{}
	if err := c.readInto(b, bindingKind); err != nil {
		return nil, err
	}
	if err := c.placeIn(b); err != nil {
		return nil, err
	}
	if err := c.admitToNamespace(b); err != nil {
		return nil, err
	}
	if b.Name != c.req.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if err := c.admitBinding(b); err != nil {
		return nil, err
	}
	return c.bindTo(b)
}

// admitBinding runs the hooks and policies on a binding.
func (c *call) admitBinding(b *corev1.Binding) error {
	if err := c.admitPart(admission.Create, b, nil, bindingKind); err != nil {
		return err
	}
	if err := checkBinding(b); err != nil {
		return err
	}
	return c.validatePart(admission.Create, b, nil, bindingKind)
}

var (
	bindingKind  = corev1.SchemeGroupVersion.WithKind("Binding")
	evictionKind = policyv1.SchemeGroupVersion.WithKind("Eviction")
)

// bindByName serves the resource bindings, the old way of pods/binding.
func (c *call) bindByName(sent Object) (*Response, error) {
	b := sent.(*corev1.Binding)
	ep, _ := c.store.endpoint(corev1.SchemeGroupVersion.WithResource("pods"))
	req := *c.req
	req.Name = b.Name
	c.req, c.ep = &req, ep
	return c.bindTo(b)
}

func (c *call) bindTo(b *corev1.Binding) (*Response, error) {
	if err := checkBinding(b); err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, c.req.Name, fmt.Errorf(format, args...))
	}
	_, err := c.changePod(func(p *corev1.Pod) error {
		switch {
		case b.UID != "" && b.UID != p.UID:
			return c.errOtherUID(c.key(), b.UID, p.UID)
		case p.DeletionTimestamp != nil:
			return refuse("pod %s is being deleted, cannot be assigned to a host", p.Name)
		case p.Spec.NodeName != "":
			return refuse("pod %v is already assigned to node %q", p.Name, p.Spec.NodeName)
		case len(p.Spec.SchedulingGates) > 0:
			return refuse("pod %v has non-empty .spec.schedulingGates", p.Name)
		}
		p.Spec.NodeName = b.Target.Name
		p.Status.NominatedNodeName = ""
		p.Annotations = merged(p.Annotations, b.Annotations)
		p.Labels = merged(p.Labels, b.Labels)
		c.setCondition(&p.Status, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return created(), nil
}

// checkBinding checks what a binding says of the node.
func checkBinding(b *corev1.Binding) error {
	var errs field.ErrorList
	if kind := b.Target.Kind; kind != "" && kind != "Node" {
		errs = append(errs, field.NotSupported(field.NewPath("target", "kind"), kind, []string{"Node", "<empty>"}))
	}
	if b.Target.Name == "" {
		errs = append(errs, field.Required(field.NewPath("target", "name"), ""))
	}
	return errs.ToAggregate() // which nobody makes a Status of
}

func merged(m, over map[string]string) map[string]string {
	if m == nil && len(over) > 0 {
		m = make(map[string]string, len(over))
	}
	for k, v := range over {
		m[k] = v
	}
	return m
}

// evict serves pods/eviction: it deletes a pod if its disruption budget allows.
func (c *call) evict() (*Response, error) {
	if err := c.checkWriteOptions("CreateOptions"); err != nil {
		return nil, err
	}
	e := &policyv1.Eviction{}
	if err := c.readInto(e, evictionKind); err != nil {
		return nil, err
	}
	if err := c.placeIn(e); err != nil {
		return nil, err
	}
	if err := c.admitToNamespace(e); err != nil {
		return nil, err
	}
	if e.Name != c.req.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	if err := c.admitPart(admission.Create, e, nil, evictionKind); err != nil {
		return nil, err
	}
	if err := c.validatePart(admission.Create, e, nil, evictionKind); err != nil {
		return nil, err
	}
	opts := &metav1.DeleteOptions{}
	if e.DeleteOptions != nil {
		opts = e.DeleteOptions
	}
	c.dryRun = c.dryRun || len(opts.DryRun) > 0
	obj, ok, err := c.load(c.key())
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, c.errNotFound()
	}
	if pod := obj.(*corev1.Pod); !unprotected(pod) {
		if err := c.spend(pod); err != nil {
			return nil, err
		}
	}
	if err := c.evictNow(opts); err != nil {
		return nil, err
	}
	return created(), nil
}

// unprotected reports whether evicting the pod disrupts nothing.
func unprotected(p *corev1.Pod) bool {
	switch p.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	default:
		return p.DeletionTimestamp != nil
	}
}

func (c *call) evictNow(opts *metav1.DeleteOptions) error {
	pod, err := c.changePod(func(p *corev1.Pod) error {
		if err := c.checkPreconditions(p, opts); err != nil {
			return err
		}
		c.setCondition(&p.Status, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		})
		return nil
	})
	if err != nil {
		return err
	}
	if opts.Preconditions != nil && opts.Preconditions.ResourceVersion != nil {
		opts.Preconditions.ResourceVersion = &pod.ResourceVersion // our own write
	}
	c.unadmitted = true // as an eviction it has been admitted
	_, _, err = c.remove(c.key(), opts)
	return err
}

var budgetResource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// spend takes one disruption from the budget of the pod, if it has one.
func (c *call) spend(pod *corev1.Pod) error {
	ep, _ := c.store.endpoint(budgetResource)
	for {
		var own []*policyv1.PodDisruptionBudget
		for _, b := range all[*policyv1.PodDisruptionBudget](peers{c.store}.Peers(ep.gr, pod.Namespace)) {
			sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if err == nil && sel.Matches(labels.Set(pod.Labels)) {
				own = append(own, b)
			}
		}
		switch {
		case len(own) == 0:
			return nil
		case len(own) > 1:
			return errPlain("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		case !ready(pod) && mayLose(own[0]):
			return nil
		}
		next, err := c.charge(own[0], pod.Name)
		if err != nil || c.dryRun {
			return err
		}
		if err = c.writeBudget(next); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
}

// writeBudget writes the status of a budget as the server's own client does.
func (c *call) writeBudget(b *policyv1.PodDisruptionBudget) error {
	_, err := c.Do(&Request{
		Verb: Update, Resource: budgetResource, Subresource: "status", Namespace: b.Namespace, Name: b.Name,
		Object: b, Owned: true, UserAgent: "kube-apiserver",
	})
	return err
}

func ready(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// mayLose reports whether pods that are not ready do not count.
func mayLose(b *policyv1.PodDisruptionBudget) bool {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
}

// charge returns the budget with one disruption less.
func (c *call) charge(b *policyv1.PodDisruptionBudget, pod string) (*policyv1.PodDisruptionBudget, error) {
	busy := func(retryAfter int, cause string) error {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
		return err
	}
	s := &b.Status
	switch {
	case s.ObservedGeneration < b.Generation:
		return nil, busy(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name))
	case s.DisruptionsAllowed <= 0 && s.CurrentHealthy <= s.DesiredHealthy:
		return nil, busy(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, s.DesiredHealthy, s.CurrentHealthy))
	case s.DisruptionsAllowed <= 0:
		return nil, busy(0, fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name))
	}
	next := b.DeepCopy()
	next.Status.DisruptionsAllowed--
	if next.Status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Reason: policyv1.InsufficientPodsReason, Status: metav1.ConditionFalse,
			ObservedGeneration: next.Status.ObservedGeneration, LastTransitionTime: c.now(),
		})
	}
	if next.Status.DisruptedPods == nil {
		next.Status.DisruptedPods = map[string]metav1.Time{}
	}
	next.Status.DisruptedPods[pod] = c.now()
	return next, nil
}
