package apiserver

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
)

// ephemeralTarget is the subresource ephemeralcontainers of pods.
var ephemeralTarget = target{
	prepare: func(_ *call, obj, old Object) (Object, bool) { return registry.PrepareEphemeral(obj, old) },
	validate: func(_ *call, obj, old Object, _ bool) field.ErrorList {
		return registry.ValidateEphemeral(obj, old)
	},
}

func (c *call) debug() (*Response, error) { return c.dispatchPart(&ephemeralTarget) }

// resizeTarget is the subresource resize of pods.
var resizeTarget = target{
	prepare: func(_ *call, obj, old Object) (Object, bool) { return registry.PrepareResize(obj, old) },
	validate: func(_ *call, obj, old Object, _ bool) field.ErrorList {
		return registry.ValidateResize(obj, old)
	},
	admit:  func(c *call, obj, old Object) error { return registry.AdmitResize(c.rulesContext(), obj, old) },
	charge: (*call).chargeResize,
}

func (c *call) resize() (*Response, error) { return c.dispatchPart(&resizeTarget) }

// chargeResize books on the quotas what a pod asks for more than before, or less if
// it asks for more of something else.
func (c *call) chargeResize(obj, old Object) error {
	more := corev1.ResourceList{}
	grows := false
	was, now := c.ep.Usage(old), c.ep.Usage(obj)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		d := now[name].DeepCopy()
		d.Sub(was[name])
		if !d.IsZero() {
			more[name] = d
		}
		grows = grows || d.Cmp(resource.Quantity{}) > 0
	}
	if !grows {
		return nil
	}
	return c.book(obj, more)
}
