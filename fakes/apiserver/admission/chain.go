package admission

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Chain is the hooks of a cluster, in the order in which they are asked. The zero
// Chain is empty. Hooks are added before requests are made.
type Chain struct{ hooks []*Hook }

// Add appends a hook.
func (c *Chain) Add(h Hook) { c.hooks = append(c.hooks, &h) }

// Empty reports whether there is no hook at all.
func (c *Chain) Empty() bool { return len(c.hooks) == 0 }

// Wants reports whether any hook wants to see the request. What it is shown may
// then be made ready.
func (c *Chain) Wants(r *Review, namespace func() labels.Set) bool {
	for _, h := range c.hooks {
		if h.Match.matches(r, namespace) {
			return true
		}
	}
	return false
}

// Mutate asks the mutating hooks. The labels of the request's namespace are
// looked up only if a hook wants them. It returns warnings, whether any hook was
// asked, and the error of the first that refuses.
func (c *Chain) Mutate(r *Review, namespace func() labels.Set) (warnings []string, asked bool, err error) {
	return c.ask(r, namespace, func(h *Hook) func(*Review) Answer { return h.Mutate })
}

// Validate asks the validating hooks.
func (c *Chain) Validate(r *Review, namespace func() labels.Set) (warnings []string, err error) {
	warnings, _, err = c.ask(r, namespace, func(h *Hook) func(*Review) Answer { return h.Validate })
	return warnings, err
}

func (c *Chain) ask(r *Review, namespace func() labels.Set, side func(*Hook) func(*Review) Answer) (warnings []string, asked bool, err error) {
	for _, h := range c.hooks {
		f := side(h)
		if f == nil || !h.Match.matches(r, namespace) {
			continue
		}
		asked = true
		a := f(r)
		warnings = append(warnings, a.Warnings...)
		switch {
		case a.Err != nil && !h.Ignore:
			return warnings, asked, apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: failed to call webhook: %w", h.Name, a.Err))
		case a.Denied:
			return warnings, asked, denied(h.Name, a.Status)
		}
	}
	return warnings, asked, nil
}

// denied words a refusal as the API server does.
func denied(name string, s metav1.Status) error {
	if s.Code < http.StatusBadRequest {
		s.Code = http.StatusBadRequest
	}
	s.Status = metav1.StatusFailure
	by := fmt.Sprintf("admission webhook %q denied the request", name)
	switch {
	case s.Message != "":
		s.Message = by + ": " + s.Message
	case s.Reason != "":
		s.Message = by + ": " + string(s.Reason)
	default:
		s.Message = by + " without explanation"
	}
	return &apierrors.StatusError{ErrStatus: s}
}
