package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

// Some subresources take objects of other kinds than the resource: a Binding, an
// Eviction, a TokenRequest, a Scale. Hooks and policies are shown those.

// admitPart runs the mutating hooks on what was sent to such a subresource. Old is
// nil on a create.
func (c *call) admitPart(op admission.Operation, obj, old Object, kind schema.GroupVersionKind) error {
	if c.store.hooks.Empty() {
		return nil
	}
	m := c.store.hooks.Mutate()
	review := c.partReview(op, obj, old, kind)
	err := m.Round(review, c.hookEnv())
	if err == nil && m.Again() {
		err = m.Round(review, c.hookEnv())
	}
	c.warnings = append(c.warnings, m.Warnings...)
	return err
}

// validatePart runs the admission policies and the validating hooks on it.
func (c *call) validatePart(op admission.Operation, obj, old Object, kind schema.GroupVersionKind) error {
	if c.store.policies.bindings.Len() > 0 {
		if err := c.validateByPolicies(c.partReview(op, obj, old, kind)); err != nil {
			return err
		}
	}
	if c.store.hooks.Empty() {
		return nil
	}
	warnings, err := c.store.hooks.Validate(c.partReview(op, obj, old, kind), c.hookEnv())
	c.warnings = append(c.warnings, warnings...)
	return err
}

func (c *call) partReview(op admission.Operation, obj, old Object, kind schema.GroupVersionKind) *admission.Review {
	r := c.review(op, obj, old)
	r.Kind = kind
	return r
}
