package registry

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var endpointSlices = &Kind{
	GroupVersionKind: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
	Names:            Names{Plural: "endpointslices"},
	Prototype:        &discoveryv1.EndpointSlice{},
	Generation:       ContentOrLabels,
	Default: func(obj Object) {
		ports := obj.(*discoveryv1.EndpointSlice).Ports
		for i := range ports {
			fill(&ports[i].Name, "")
			fill(&ports[i].Protocol, corev1.ProtocolTCP)
		}
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateEndpointSlice(obj.(*discoveryv1.EndpointSlice))
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		s, was := obj.(*discoveryv1.EndpointSlice), old.(*discoveryv1.EndpointSlice)
		errs := validateEndpointSlice(s)
		if s.AddressType != was.AddressType {
			errs = append(errs, field.Invalid(field.NewPath("addressType"), nil, "field is immutable"))
		}
		return errs
	},
}

func validateEndpointSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	errs := oneOf(field.NewPath("addressType"), s.AddressType, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN)
	for i := range s.Endpoints {
		if len(s.Endpoints[i].Addresses) == 0 {
			errs = append(errs, field.Required(field.NewPath("endpoints").Index(i).Child("addresses"), "must contain at least 1 address"))
		}
	}
	return errs
}

var ingresses = &Kind{
	GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("Ingress"),
	Names:            Names{Plural: "ingresses", ShortNames: []string{"ing"}},
	Prototype:        &networkingv1.Ingress{},
	Generation:       SpecOnly,
	Status:           &Status{},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateIngress(&obj.(*networkingv1.Ingress).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList {
		return validateIngress(&obj.(*networkingv1.Ingress).Spec)
	},
}

func validateIngress(s *networkingv1.IngressSpec) field.ErrorList {
	if len(s.Rules) == 0 && s.DefaultBackend == nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), s.Rules, "either `defaultBackend` or `rules` must be specified")}
	}
	return nil
}

var ingressClasses = &Kind{
	GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("IngressClass"),
	Names:            Names{Plural: "ingressclasses"},
	Cluster:          true,
	Prototype:        &networkingv1.IngressClass{},
	Generation:       SpecOnly,
	Default: func(obj Object) {
		if s := &obj.(*networkingv1.IngressClass).Spec; s.Parameters != nil && s.Parameters.Scope == nil {
			fill(&mine(&s.Parameters).Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
		}
	},
}

var networkPolicies = &Kind{
	GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	Names:            Names{Plural: "networkpolicies", ShortNames: []string{"netpol"}},
	Prototype:        &networkingv1.NetworkPolicy{},
	Generation:       SpecOnly,
	Default:          func(obj Object) { defaultNetworkPolicy(&obj.(*networkingv1.NetworkPolicy).Spec) },
}

func defaultNetworkPolicy(s *networkingv1.NetworkPolicySpec) {
	for i := range s.Ingress {
		for j := range s.Ingress[i].Ports {
			fill(&s.Ingress[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
	for i := range s.Egress {
		for j := range s.Egress[i].Ports {
			fill(&s.Egress[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
	if len(s.PolicyTypes) == 0 {
		s.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(s.Egress) > 0 {
			s.PolicyTypes = append(s.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
}
