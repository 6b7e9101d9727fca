package registry

import (
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// ServiceRange is where cluster IPs come from.
var ServiceRange = netip.MustParsePrefix("10.0.0.0/16")

const (
	firstNodePort = 30000
	nodePorts     = 2768
)

var serviceGroupKind = corev1.SchemeGroupVersion.WithKind("Service").GroupKind()

var serviceClusterIP = &store.Field{Name: "spec.clusterIP", Get: func(o Object) string { return o.(*corev1.Service).Spec.ClusterIP }}

var services = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"),
	Names:            Names{Plural: "services", ShortNames: []string{"svc"}, Categories: []string{"all"}},
	Prototype:        &corev1.Service{},
	Naming:           apivalidation.NameIsDNSLabel,
	Write:            WriteRules{PutCreates: true},
	Delete:           DeleteRules{ReturnsObject: true},
	PlainFieldError:  true,
	Fields: []*store.Field{
		serviceClusterIP,
		{Name: "spec.type", Get: func(o Object) string { return string(o.(*corev1.Service).Spec.Type) }},
	},
	Default:        func(obj Object) { defaultService(&obj.(*corev1.Service).Spec); defaultIngress(obj.(*corev1.Service)) },
	Status:         &Status{Validate: validateServiceStatus},
	Begin:          allocateService,
	PrepareUpdate:  dropUnused,
	Validate:       func(_ *Context, obj Object) field.ErrorList { return validateService(obj.(*corev1.Service)) },
	ValidateUpdate: validateServiceUpdate,
	Warn:           warnService,
}

func defaultService(s *corev1.ServiceSpec) {
	if s.SessionAffinity == "" {
		s.SessionAffinity = corev1.ServiceAffinityNone
	}
	if s.SessionAffinity == corev1.ServiceAffinityNone {
		s.SessionAffinityConfig = nil
	} else if s.SessionAffinityConfig == nil || s.SessionAffinityConfig.ClientIP == nil || s.SessionAffinityConfig.ClientIP.TimeoutSeconds == nil {
		seconds := corev1.DefaultClientIPServiceAffinitySeconds
		s.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
	if s.Type == "" {
		s.Type = corev1.ServiceTypeClusterIP
	}
	for i := range s.Ports {
		port := &s.Ports[i]
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if reachable(s) && s.ExternalTrafficPolicy == "" {
		s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if s.Type != corev1.ServiceTypeExternalName {
		fill(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if s.Type == corev1.ServiceTypeLoadBalancer {
		fill(&s.AllocateLoadBalancerNodePorts, true)
	}
}

// defaultIngress says that traffic to an address of a load balancer keeps it.
func defaultIngress(s *corev1.Service) {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	ingress := s.Status.LoadBalancer.Ingress
	for i := range ingress {
		if ingress[i].IP != "" {
			fill(&ingress[i].IPMode, corev1.LoadBalancerIPModeVIP)
		}
	}
}

var serviceAccounts = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	Names:            Names{Plural: "serviceaccounts", ShortNames: []string{"sa"}},
	Prototype:        &corev1.ServiceAccount{},
	Delete:           DeleteRules{ReturnsObject: true},
}

var endpoints = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Endpoints"),
	Names:            Names{Plural: "endpoints", ShortNames: []string{"ep"}},
	Prototype:        &corev1.Endpoints{}, //nolint:staticcheck // served, with a warning
	Deprecation:      "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
	Write:            WriteRules{PutCreates: true},
	Default: func(obj Object) {
		for _, s := range obj.(*corev1.Endpoints).Subsets { //nolint:staticcheck // as above
			for i := range s.Ports {
				if s.Ports[i].Protocol == "" {
					s.Ports[i].Protocol = corev1.ProtocolTCP
				}
			}
		}
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateSubsets(obj.(*corev1.Endpoints).Subsets) //nolint:staticcheck // as above
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		subsets, was := obj.(*corev1.Endpoints).Subsets, old.(*corev1.Endpoints).Subsets //nolint:staticcheck // as above
		if equality.Semantic.DeepEqual(subsets, was) {
			return nil
		}
		return validateSubsets(subsets)
	},
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
