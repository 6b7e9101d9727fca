package apiserver

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// protected namespaces can never be deleted.
var protected = map[string]bool{"default": true, "kube-system": true, "kube-public": true}

// admit runs the built-in admission plug-ins and the mutating hooks. Old is nil
// on a create.
func (c *call) admit(obj, old Object) error {
	op := admission.Update
	if old == nil {
		op = admission.Create
		if d := c.ep.Definition; d != nil && d.Terminating {
			return apierrors.NewForbidden(c.ep.gr, obj.GetName(), errors.New("create not allowed while custom resource definition is terminating"))
		}
		if err := c.admitToNamespace(obj); err != nil {
			return err
		}
	}
	if err := c.admitByPlugins(obj, old); err != nil {
		return err
	}
	if c.ep.gr.Resource == "pods" && c.req.Subresource == "resize" {
		registry.LimitResize(c.rulesContext(), obj)
	}
	if err := c.mutate(op, obj, old); err != nil {
		return err
	}
	if err := c.admitSigning(obj, old); err != nil {
		return err
	}
	return c.checkEscalation(obj, old)
}

// admitByPlugins runs the built-in plug-ins.
func (c *call) admitByPlugins(obj, old Object) error {
	if pod, ok := obj.(*corev1.Pod); ok && old == nil && c.store.opts.ServiceAccounts {
		if err := c.admitServiceAccount(pod); err != nil {
			return err
		}
	}
	if c.ep.Admit != nil && c.req.Subresource == "" {
		return c.ep.Admit(c.rulesContext(), obj, old)
	}
	return nil
}

// hookEnv is what hooks are matched against beside the request.
func (c *call) hookEnv() admission.Env {
	return admission.Env{Namespace: c.namespaceLabels, Meets: c.meets}
}

// mutate runs the mutating hooks. When one has changed the object, the built-in
// plug-ins have another turn, and hooks that want it.
func (c *call) mutate(op admission.Operation, obj, old Object) error {
	if c.store.hooks.Empty() {
		return nil
	}
	review := c.review(op, obj, old)
	if !c.store.hooks.Wants(review, c.hookEnv()) {
		return nil
	}
	m := c.store.hooks.Mutate()
	if err := c.mutateOnce(m, review, obj, old); err != nil || !m.Again() {
		return err
	}
	if err := c.admitByPlugins(obj, old); err != nil {
		return err
	}
	return c.mutateOnce(m, review, obj, old)
}

func (c *call) mutateOnce(m *admission.Mutation, review *admission.Review, obj, old Object) error {
	restore := c.lend(obj, old)
	review.Old = c.shownToHooks(old)
	warned := len(m.Warnings)
	err := m.Round(review, c.hookEnv())
	c.warnings = append(c.warnings, m.Warnings[warned:]...)
	restore()
	if err == nil && m.Asked { // a changed object is decoded again
		if _, err = c.coerce(obj); err == nil {
			c.settle(obj)
		}
	}
	return err
}

// shownToHooks returns old, the object that was read, with its managed fields.
func (c *call) shownToHooks(old Object) Object {
	if old == nil {
		return nil
	}
	return withFields(old, c.owners(old))
}

// validateByHooks runs admission policies and then the validating hooks on what is
// about to be stored.
func (c *call) validateByHooks(op admission.Operation, obj, old Object) error {
	if c.req.Subresource == "scale" && obj != nil {
		return c.validatePart(op, c.scaleOf(obj), c.scaleOf(old), scaleKind)
	}
	if c.store.policies.bindings.Len() > 0 {
		if err := c.validateByPolicies(c.review(op, obj, old)); err != nil {
			return err
		}
	}
	if c.store.hooks.Empty() {
		return nil
	}
	review := c.review(op, obj, old)
	if !c.store.hooks.Wants(review, c.hookEnv()) {
		return nil
	}
	if obj != nil {
		review.Object = shape.ShallowCopy(obj).(Object)
		review.Object.SetManagedFields(c.own.owners.Entries())
		review.Old = c.shownToHooks(old)
	}
	warnings, err := c.store.hooks.Validate(review, c.hookEnv())
	c.warnings = append(c.warnings, warnings...)
	return err
}

// admitDelete runs everything that may refuse the deletion of old.
func (c *call) admitDelete(old Object) error {
	if c.ep.gr == namespaceResource.GroupResource() && protected[old.GetName()] {
		return apierrors.NewForbidden(c.ep.gr, old.GetName(), errors.New("this namespace may not be deleted"))
	}
	if c.unadmitted {
		return nil
	}
	if !c.store.hooks.Empty() {
		m := c.store.hooks.Mutate()
		err := m.Round(c.review(admission.Delete, nil, old), c.hookEnv())
		c.warnings = append(c.warnings, m.Warnings...)
		if err != nil {
			return err
		}
	}
	return c.validateByHooks(admission.Delete, nil, old)
}

func (c *call) review(op admission.Operation, obj, old Object) *admission.Review {
	r := &admission.Review{
		Operation: op, Kind: c.ep.GroupVersionKind, Resource: c.ep.Kind.Resource(), Subresource: c.req.Subresource,
		Namespace: c.ns, Name: c.req.Name, Object: obj, Old: old, DryRun: c.dryRun, User: c.req.User, Options: c.hookOptions(op),
	}
	if r.Name == "" && obj != nil {
		r.Name = obj.GetName()
	}
	if r.Name == "" && old != nil {
		r.Name = old.GetName()
	}
	if r.Namespace == "" && c.ep.gr == namespaceResource.GroupResource() {
		r.Namespace = r.Name
	}
	return r
}

func (c *call) hookOptions(op admission.Operation) runtime.Object {
	switch op {
	case admission.Create:
		return &metav1.CreateOptions{DryRun: c.req.DryRun, FieldManager: c.req.FieldManager, FieldValidation: c.req.FieldValidation}
	case admission.Update:
		return &metav1.UpdateOptions{DryRun: c.req.DryRun, FieldManager: c.req.FieldManager, FieldValidation: c.req.FieldValidation}
	default:
		if c.req.DeleteOptions != nil {
			return c.req.DeleteOptions
		}
		return &metav1.DeleteOptions{}
	}
}

func (c *call) namespaceLabels() labels.Set {
	ns, ok := c.namespace(c.ns)
	if !ok {
		return nil
	}
	return ns.Labels
}

func (c *call) namespace(name string) (*corev1.Namespace, bool) {
	o, ok := peers{c.store}.tableOf(namespaceResource.GroupResource()).Get(store.Key{Name: name})
	if !ok {
		return nil, false
	}
	return o.(*corev1.Namespace), true
}

// admitToNamespace refuses a new object in a namespace that is missing or on its
// way out.
func (c *call) admitToNamespace(obj Object) error {
	if c.ep.Cluster {
		return nil
	}
	ns, ok := c.namespace(c.ns)
	if !ok {
		return apierrors.NewNotFound(namespaceResource.GroupResource(), c.ns)
	}
	if ns.DeletionTimestamp == nil && ns.Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	err := apierrors.NewForbidden(c.ep.gr, obj.GetName(), fmt.Errorf("unable to create new content in namespace %s because it is being terminated", c.ns))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", c.ns),
		Field:   "metadata.namespace",
	})
	return err
}
