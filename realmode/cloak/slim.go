package cloak

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
)

// Slim takes the values out of Secrets that are neither protected nor shadows. Which those
// are must be watched, for a Secret may become one; what is in them nobody reads, so a
// process that keeps shadows need not hold all values of the cluster. The copy of a whole
// Secret that kubectl apply leaves in an annotation goes in any case.
func Slim(obj client.Object) {
	s, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	delete(s.Annotations, corev1.LastAppliedConfigAnnotation)
	if !protected.Enabled(s) && !shadow.Managed(s) {
		s.Data, s.StringData = nil, nil
	}
}
