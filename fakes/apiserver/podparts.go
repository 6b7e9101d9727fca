package apiserver

import (
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
	charge: (*call).book,
}

func (c *call) resize() (*Response, error) { return c.dispatchPart(&resizeTarget) }
