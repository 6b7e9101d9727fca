package registry

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Devices are claimed in four kinds: what there is (slices), what can be asked for
// by name (classes), and what pods ask for (claims, and templates of them).

var resourceClaims = &Kind{
	GroupVersionKind: resourcev1.SchemeGroupVersion.WithKind("ResourceClaim"),
	Names:            Names{Plural: "resourceclaims"},
	Prototype:        &resourcev1.ResourceClaim{},
	Delete:           DeleteRules{ReturnsObject: true},
	Status:           &Status{},
	Default:          func(obj Object) { defaultClaimed(&obj.(*resourcev1.ResourceClaim).Spec) },
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateClaimed(&obj.(*resourcev1.ResourceClaim).Spec, field.NewPath("spec", "devices"))
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		return fixed(obj.(*resourcev1.ResourceClaim).Spec, old.(*resourcev1.ResourceClaim).Spec, field.NewPath("spec"))
	},
}

var resourceClaimTemplates = &Kind{
	GroupVersionKind: resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate"),
	Names:            Names{Plural: "resourceclaimtemplates"},
	Prototype:        &resourcev1.ResourceClaimTemplate{},
	Delete:           DeleteRules{ReturnsObject: true},
	Default:          func(obj Object) { defaultClaimed(&obj.(*resourcev1.ResourceClaimTemplate).Spec.Spec) },
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateClaimed(&obj.(*resourcev1.ResourceClaimTemplate).Spec.Spec, field.NewPath("spec", "spec", "devices"))
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		return fixed(obj.(*resourcev1.ResourceClaimTemplate).Spec, old.(*resourcev1.ResourceClaimTemplate).Spec, field.NewPath("spec"))
	},
}

func defaultClaimed(s *resourcev1.ResourceClaimSpec) {
	for i := range s.Devices.Requests {
		r := &s.Devices.Requests[i]
		if e := r.Exactly; e != nil {
			defaultCount(&e.AllocationMode, &e.Count)
		}
		for j := range r.FirstAvailable {
			defaultCount(&r.FirstAvailable[j].AllocationMode, &r.FirstAvailable[j].Count)
		}
	}
}

func defaultCount(mode *resourcev1.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

func validateClaimed(s *resourcev1.ResourceClaimSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range s.Devices.Requests {
		r, at := &s.Devices.Requests[i], p.Child("requests").Index(i)
		if r.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, dnsLabel(r.Name, at.Child("name"))...)
		}
		if seen[r.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), r.Name))
		}
		seen[r.Name] = true
		switch {
		case r.Exactly == nil && len(r.FirstAvailable) == 0:
			errs = append(errs, field.Required(at, "exactly one of `exactly` or `firstAvailable` is required"))
		case r.Exactly != nil && len(r.FirstAvailable) > 0:
			errs = append(errs, field.Invalid(at, "", "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"))
		case r.Exactly != nil && r.Exactly.DeviceClassName == "":
			errs = append(errs, field.Required(at.Child("exactly", "deviceClassName"), ""))
		}
	}
	return errs
}

var deviceClasses = &Kind{
	GroupVersionKind: resourcev1.SchemeGroupVersion.WithKind("DeviceClass"),
	Names:            Names{Plural: "deviceclasses"},
	Cluster:          true,
	Prototype:        &resourcev1.DeviceClass{},
	Generation:       SpecOnly,
	Delete:           DeleteRules{ReturnsObject: true},
}

var resourceSlices = &Kind{
	GroupVersionKind: resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"),
	Names:            Names{Plural: "resourceslices"},
	Cluster:          true,
	Prototype:        &resourcev1.ResourceSlice{},
	Generation:       SpecOnly,
	Delete:           DeleteRules{ReturnsObject: true},
	Fields: []*store.Field{
		{Name: "spec.driver", Get: func(o Object) string { return o.(*resourcev1.ResourceSlice).Spec.Driver }},
		{Name: "spec.nodeName", Get: func(o Object) string { return orEmpty(o.(*resourcev1.ResourceSlice).Spec.NodeName) }},
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateSlice(&obj.(*resourcev1.ResourceSlice).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		s, was := &obj.(*resourcev1.ResourceSlice).Spec, &old.(*resourcev1.ResourceSlice).Spec
		p := field.NewPath("spec")
		errs := append(validateSlice(s), fixed(s.Pool.Name, was.Pool.Name, p.Child("pool", "name"))...)
		errs = append(errs, fixed(s.Driver, was.Driver, p.Child("driver"))...)
		return append(errs, fixed(s.NodeName, was.NodeName, p.Child("nodeName"))...)
	},
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func validateSlice(s *resourcev1.ResourceSliceSpec) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if s.Driver == "" {
		errs = append(errs, field.Required(p.Child("driver"), ""))
	}
	if s.Pool.Name == "" {
		errs = append(errs, field.Required(p.Child("pool", "name"), ""))
	}
	if s.Pool.ResourceSliceCount <= 0 {
		errs = append(errs, field.Invalid(p.Child("pool", "resourceSliceCount"), s.Pool.ResourceSliceCount, "must be greater than zero"))
	}
	where := 0
	for _, set := range []bool{s.NodeName != nil, s.NodeSelector != nil, isTrue(s.AllNodes), isTrue(s.PerDeviceNodeSelection)} {
		if set {
			where++
		}
	}
	switch {
	case where == 0:
		errs = append(errs, field.Required(p, "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"))
	case where > 1:
		errs = append(errs, field.Invalid(p, "", "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set"))
	}
	return errs
}
