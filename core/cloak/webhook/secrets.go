package webhook

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/cloak/protected"
)

// Secrets is the validating webhook.
type Secrets struct{}

// Validate refuses a Secret that is to be protected and cannot be. Old is the Secret of
// before, nil on a create. What was wrong before may stay wrong: refusing that would
// also refuse the condition that says so, and the finalizer that is taken off. With a
// *[Refusal] come all defects at once.
func (Secrets) Validate(s, old *corev1.Secret) error {
	if !protected.Enabled(s) || !s.DeletionTimestamp.IsZero() {
		return nil
	}
	report := protected.Inspect(s)
	defects := report.Defects()
	if old != nil && protected.Enabled(old) {
		before := protected.Inspect(old)
		known := before.Defects()
		defects = slices.DeleteFunc(defects, func(d protected.Defect) bool { return slices.Contains(known, d) })
	}
	if len(defects) == 0 {
		return nil
	}
	return refuse("Secret %s cannot be protected: %s", s.Name, protected.Text(defects))
}
