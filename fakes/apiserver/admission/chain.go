package admission

import (
	"fmt"
	"maps"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Chain is the hooks of a cluster, in the order in which they are asked. The zero
// Chain is empty. Hooks are added before requests are made.
type Chain struct{ hooks []*Hook }

// Add appends a hook.
func (c *Chain) Add(h Hook) { c.hooks = append(c.hooks, &h) }

// Empty reports whether there is no hook at all.
func (c *Chain) Empty() bool { return len(c.hooks) == 0 }

// Env is what hooks are matched against beside the request.
type Env struct {
	// Namespace finds the labels of the request's namespace.
	Namespace func() labels.Set

	// Meets reports whether a request meets the conditions of a hook, which has some.
	// The error refuses the request.
	Meets func(h *Hook, r *Review) (bool, error)
}

// calls reports whether h is to be asked about r.
func (e *Env) calls(h *Hook, r *Review) (bool, error) {
	if !h.matches(r, e.Namespace) {
		return false, nil
	}
	if len(h.Conditions) == 0 {
		return true, nil
	}
	return e.Meets(h, r)
}

// Wants reports whether any hook may want to see the request. What it is shown may
// then be made ready.
func (c *Chain) Wants(r *Review, e Env) bool {
	for _, h := range c.hooks {
		if h.matches(r, e.Namespace) {
			return true
		}
	}
	return false
}

// Mutation asks the mutating hooks about one request, once or twice.
type Mutation struct {
	chain    *Chain
	rounds   int
	changed  bool           // the object, by a hook
	earlier  map[*Hook]bool // asked before the last change, and may be asked again
	due      map[*Hook]bool // to be asked again
	Asked    bool           // any hook
	Warnings []string
}

// Mutate begins to ask the mutating hooks.
func (c *Chain) Mutate() *Mutation {
	return &Mutation{chain: c, earlier: map[*Hook]bool{}, due: map[*Hook]bool{}}
}

// Again reports whether a second round is due: a hook has changed the object. The
// built-in plug-ins have their turn before it.
func (m *Mutation) Again() bool { return m.rounds == 1 && m.changed }

// Round asks the hooks in order; in the second round those whose policy it is, if the
// object has been changed since they saw it. It returns the error of the first that
// refuses.
func (m *Mutation) Round(r *Review, e Env) error {
	m.rounds++
	for _, h := range m.chain.hooks {
		if h.Mutate == nil || m.rounds > 1 && !m.due[h] {
			continue
		}
		called, err := e.calls(h, r)
		if err != nil {
			return err
		}
		if !called {
			continue
		}
		m.Asked = true
		var before runtime.Object
		if r.Object != nil {
			before = r.Object.DeepCopyObject()
		}
		a := h.Mutate(r)
		m.Warnings = append(m.Warnings, a.Warnings...)
		if err := h.verdict(a); err != nil {
			return err
		}
		if before != nil && !equality.Semantic.DeepEqual(before, r.Object) {
			m.changed = true
			maps.Copy(m.due, m.earlier)
			clear(m.earlier)
		}
		if h.Reinvoke {
			m.earlier[h] = true
		}
	}
	return nil
}

// Validate asks the validating hooks. A real server asks all of them at once, so all
// are asked; of several that refuse, the first in order has the word.
func (c *Chain) Validate(r *Review, e Env) (warnings []string, err error) {
	var called []*Hook
	for _, h := range c.hooks {
		if h.Validate == nil {
			continue
		}
		ok, err := e.calls(h, r)
		if err != nil {
			return nil, err
		}
		if ok {
			called = append(called, h)
		}
	}
	for _, h := range called {
		a := h.Validate(r)
		warnings = append(warnings, a.Warnings...)
		if refused := h.verdict(a); err == nil {
			err = refused
		}
	}
	return warnings, err
}

// verdict is what an answer comes to: nil lets the request pass.
func (h *Hook) verdict(a Answer) error {
	switch {
	case a.Err != nil && !h.Ignore:
		return apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: failed to call webhook: %w", h.Name, a.Err))
	case a.Err == nil && a.Denied:
		return denied(h.Name, a.Status)
	}
	return nil
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
