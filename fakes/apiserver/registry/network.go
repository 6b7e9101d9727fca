package registry

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
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
	PrepareCreate: func(_ *Context, obj Object) {
		s := obj.(*discoveryv1.EndpointSlice)
		if slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.DeprecatedTopology != nil }) {
			s.Endpoints = slices.Clone(s.Endpoints)
			for i := range s.Endpoints {
				s.Endpoints[i].DeprecatedTopology = nil // of another version
			}
		}
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateEndpointSlice(obj.(*discoveryv1.EndpointSlice))
	},
	Warn: func(obj, old Object) []string {
		if old == nil && obj.(*discoveryv1.EndpointSlice).AddressType == discoveryv1.AddressTypeFQDN {
			return []string{"spec.addressType: FQDN endpoints are deprecated"}
		}
		return nil
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		s, was := obj.(*discoveryv1.EndpointSlice), old.(*discoveryv1.EndpointSlice)
		errs := validateSliceFrame(s)
		if !endpointSliceShape.Part("endpoints").Equal(s, was) {
			errs = append(errs, validateSliceEndpoints(s)...)
		}
		if s.AddressType != was.AddressType {
			errs = append(errs, field.Invalid(field.NewPath("addressType"), nil, "field is immutable"))
		}
		return errs
	},
}

func validateEndpointSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	return append(validateSliceFrame(s), validateSliceEndpoints(s)...)
}

// validateSliceFrame checks all but the endpoints, which an update need not repeat.
func validateSliceFrame(s *discoveryv1.EndpointSlice) field.ErrorList {
	errs := oneOf(field.NewPath("addressType"), s.AddressType, discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
	names := map[string]bool{}
	for i := range s.Ports {
		errs = append(errs, validateEndpointPort(&s.Ports[i], names, field.NewPath("ports").Index(i))...)
	}
	return errs
}

func validateSliceEndpoints(s *discoveryv1.EndpointSlice) field.ErrorList {
	var errs field.ErrorList
	for i := range s.Endpoints {
		p := field.NewPath("endpoints").Index(i).Child("addresses")
		if len(s.Endpoints[i].Addresses) == 0 {
			errs = append(errs, field.Required(p, ""))
		}
		for j, address := range s.Endpoints[i].Addresses {
			errs = append(errs, validateEndpointAddress(s.AddressType, address, p, j)...)
		}
		e, at := &s.Endpoints[i], field.NewPath("endpoints").Index(i)
		errs = append(errs, nodeName(e.NodeName, at.Child("nodeName"))...)
		if e.Hostname != nil {
			errs = append(errs, dnsLabel(*e.Hostname, at.Child("hostname"))...)
		}
		if e.Hints != nil {
			errs = append(errs, validateHints(e.Hints, at.Child("hints"))...)
		}
	}
	return errs
}

var endpointSliceShape = shape.Of(&discoveryv1.EndpointSlice{}, shape.Protobuf)

func validateEndpointAddress(kind discoveryv1.AddressType, address string, p *field.Path, index int) field.ErrorList {
	ip, err := netip.ParseAddr(address)
	switch kind {
	case discoveryv1.AddressTypeIPv4:
		errs := validation.IsValidIP(p.Index(index), address)
		if len(errs) == 0 && !ip.Is4() {
			errs = append(errs, field.Invalid(p, address, "must be an IPv4 address"))
		}
		return append(errs, goodIP(address, err, p.Index(index))...)
	case discoveryv1.AddressTypeIPv6:
		errs := validation.IsValidIP(p.Index(index), address)
		if err == nil && !ip.Is6() {
			errs = append(errs, field.Invalid(p, address, "must be an IPv6 address"))
		}
		return append(errs, goodIP(address, err, p.Index(index))...)
	case discoveryv1.AddressTypeFQDN:
		return validation.IsFullyQualifiedDomainName(p.Index(index), address)
	}
	return nil
}

// goodIP is endpointIP for what has been found to be an address.
func goodIP(address string, err error, p *field.Path) field.ErrorList {
	if err != nil {
		return nil
	}
	return endpointIP(address, p)
}

func validateEndpointPort(port *discoveryv1.EndpointPort, names map[string]bool, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(*port.Name) > 0 {
		errs = append(errs, dnsLabel(*port.Name, p.Child("name"))...)
	}
	if names[*port.Name] {
		errs = append(errs, field.Duplicate(p.Child("name"), *port.Name))
	}
	names[*port.Name] = true
	errs = append(errs, oneOf(p.Child("protocol"), *port.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
	if port.AppProtocol != nil {
		errs = append(errs, qualifiedName(*port.AppProtocol, p.Child("appProtocol"))...)
	}
	return errs
}

var ingresses = &Kind{
	GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("Ingress"),
	Names:            Names{Plural: "ingresses", ShortNames: []string{"ing"}},
	Prototype:        &networkingv1.Ingress{},
	Generation:       SpecOnly,
	Status:           &Status{Validate: validateIngressStatus},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateIngress(&obj.(*networkingv1.Ingress).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList {
		return validateIngress(&obj.(*networkingv1.Ingress).Spec)
	},
}

func validateIngressStatus(_ *Context, obj, _ Object) field.ErrorList {
	var errs field.ErrorList
	for i, in := range obj.(*networkingv1.Ingress).Status.LoadBalancer.Ingress {
		errs = append(errs, balancerAddress(in.IP, in.Hostname, field.NewPath("status", "loadBalancer", "ingress").Index(i))...)
	}
	return errs
}

func validateIngress(s *networkingv1.IngressSpec) field.ErrorList {
	if len(s.Rules) == 0 && s.DefaultBackend == nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), s.Rules, "either `defaultBackend` or `rules` must be specified")}
	}
	var errs field.ErrorList
	for i := range s.Rules {
		errs = append(errs, validateIngressRule(&s.Rules[i], field.NewPath("spec", "rules").Index(i))...)
	}
	return errs
}

func validateIngressRule(r *networkingv1.IngressRule, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Host != "" {
		check := validation.IsDNS1123Subdomain
		if strings.Contains(r.Host, "*") {
			check = validation.IsWildcardDNS1123Subdomain
		}
		for _, msg := range check(r.Host) {
			errs = append(errs, field.Invalid(p.Child("host"), r.Host, msg))
		}
	}
	if r.HTTP == nil {
		return errs
	}
	at := p.Child("http", "paths")
	if len(r.HTTP.Paths) == 0 {
		errs = append(errs, field.Required(at, ""))
	}
	for i := range r.HTTP.Paths {
		errs = append(errs, validateIngressPath(&r.HTTP.Paths[i], at.Index(i))...)
	}
	return errs
}

func validateIngressPath(path *networkingv1.HTTPIngressPath, p *field.Path) field.ErrorList {
	if path.PathType == nil {
		return field.ErrorList{field.Required(p.Child("pathType"), "pathType must be specified")}
	}
	switch *path.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if !strings.HasPrefix(path.Path, "/") {
			return field.ErrorList{field.Invalid(p.Child("path"), path.Path, "must be an absolute path")}
		}
	case networkingv1.PathTypeImplementationSpecific:
		if path.Path != "" && !strings.HasPrefix(path.Path, "/") {
			return field.ErrorList{field.Invalid(p.Child("path"), path.Path, "must be an absolute path")}
		}
	default:
		return field.ErrorList{field.NotSupported(p.Child("pathType"), *path.PathType,
			[]networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix})}
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
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		return fixed(obj.(*networkingv1.IngressClass).Spec.Controller, old.(*networkingv1.IngressClass).Spec.Controller, field.NewPath("spec", "controller"))
	},
}

var networkPolicies = &Kind{
	GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	Names:            Names{Plural: "networkpolicies", ShortNames: []string{"netpol"}},
	Prototype:        &networkingv1.NetworkPolicy{},
	Generation:       Fixed,
	PrepareUpdate: func(_ *Context, obj, old Object) {
		// An empty list is a change from none, although it is not stored.
		if !reflect.DeepEqual(&obj.(*networkingv1.NetworkPolicy).Spec, &old.(*networkingv1.NetworkPolicy).Spec) {
			obj.SetGeneration(old.GetGeneration() + 1)
		}
	},
	Default: func(obj Object) { defaultNetworkPolicy(&obj.(*networkingv1.NetworkPolicy).Spec) },
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateNetworkPolicy(&obj.(*networkingv1.NetworkPolicy).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList {
		return validateNetworkPolicy(&obj.(*networkingv1.NetworkPolicy).Spec)
	},
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

func validateNetworkPolicy(s *networkingv1.NetworkPolicySpec) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	for i := range s.Ingress {
		for j := range s.Ingress[i].From {
			errs = append(errs, validatePeer(&s.Ingress[i].From[j], p.Child("ingress").Index(i).Child("from").Index(j))...)
		}
	}
	for i := range s.Egress {
		for j := range s.Egress[i].To {
			errs = append(errs, validatePeer(&s.Egress[i].To[j], p.Child("egress").Index(i).Child("to").Index(j))...)
		}
	}
	if len(s.PolicyTypes) > 2 {
		return append(errs, field.Invalid(p.Child("policyTypes"), &s.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for i, t := range s.PolicyTypes {
		errs = append(errs, oneOf(p.Child("policyTypes").Index(i), t, networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)...)
	}
	return errs
}

func validatePeer(peer *networkingv1.NetworkPolicyPeer, p *field.Path) field.ErrorList {
	if peer.PodSelector == nil && peer.NamespaceSelector == nil && peer.IPBlock == nil {
		return field.ErrorList{field.Required(p, "must specify a peer")}
	}
	if peer.IPBlock != nil && (peer.PodSelector != nil || peer.NamespaceSelector != nil) {
		return field.ErrorList{field.Forbidden(p, "may not specify both ipBlock and another peer")}
	}
	return nil
}
