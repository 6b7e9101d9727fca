package registry

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var leases = &Kind{
	GroupVersionKind: coordinationv1.SchemeGroupVersion.WithKind("Lease"),
	Names:            Names{Plural: "leases"},
	LooseMetadata:    true,
	Prototype:        &coordinationv1.Lease{},
	Write:            WriteRules{PutCreates: true, PutNeedsVersion: true},
	PrepareCreate:    func(_ *Context, obj Object) { dropCoordination(obj, &coordinationv1.Lease{}) },
	PrepareUpdate:    func(_ *Context, obj, old Object) { dropCoordination(obj, old) },
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateLease(&obj.(*coordinationv1.Lease).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList {
		return validateLease(&obj.(*coordinationv1.Lease).Spec)
	},
}

// dropCoordination drops the fields of coordinated leader election, a feature
// that is off.
func dropCoordination(obj, old Object) {
	s, was := &obj.(*coordinationv1.Lease).Spec, &old.(*coordinationv1.Lease).Spec
	if was.Strategy == nil {
		s.Strategy = nil
	}
	if was.PreferredHolder == nil {
		s.PreferredHolder = nil
	}
}

func validateLease(s *coordinationv1.LeaseSpec) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if d := s.LeaseDurationSeconds; d != nil && *d <= 0 {
		errs = append(errs, field.Invalid(p.Child("leaseDurationSeconds"), *d, "must be greater than 0"))
	}
	if n := s.LeaseTransitions; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(p.Child("leaseTransitions"), *n, "must be greater than or equal to 0"))
	}
	return errs
}
