package registry

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateServiceExtras checks what a service may say beside its type and ports.
func validateServiceExtras(s *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	errs := oneOf(p.Child("sessionAffinity"), s.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	if s.InternalTrafficPolicy != nil {
		errs = append(errs, oneOf(p.Child("internalTrafficPolicy"), *s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	}
	external := s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer || s.Type == corev1.ServiceTypeClusterIP && len(s.ExternalIPs) > 0
	if policy := s.ExternalTrafficPolicy; policy != "" {
		if !external {
			errs = append(errs, field.Invalid(p.Child("externalTrafficPolicy"), policy, "may only be set for externally-accessible services"))
		} else {
			errs = append(errs, oneOf(p.Child("externalTrafficPolicy"), policy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)...)
		}
	}
	if d := s.TrafficDistribution; d != nil {
		errs = append(errs, oneOf(p.Child("trafficDistribution"), *d, corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameNode, corev1.ServiceTrafficDistributionPreferSameZone)...)
	}
	for i, ip := range s.ExternalIPs {
		errs = append(errs, validation.IsValidIP(p.Child("externalIPs").Index(i), ip)...)
	}
	if s.Type == corev1.ServiceTypeLoadBalancer {
		for i, r := range s.LoadBalancerSourceRanges {
			if _, err := netip.ParsePrefix(r); err != nil {
				errs = append(errs, validation.IsValidCIDR(p.Child("loadBalancerSourceRanges").Index(i), r)...)
			}
		}
	} else {
		if len(s.LoadBalancerSourceRanges) > 0 {
			errs = append(errs, field.Forbidden(p.Child("LoadBalancerSourceRanges"), "may only be used when `type` is 'LoadBalancer'"))
		}
		if s.AllocateLoadBalancerNodePorts != nil {
			errs = append(errs, field.Forbidden(p.Child("allocateLoadBalancerNodePorts"), "may only be used when `type` is 'LoadBalancer'"))
		}
	}
	return errs
}

func warnService(obj, _ Object) []string {
	s := &obj.(*corev1.Service).Spec
	var out []string
	if s.ClusterIP == corev1.ClusterIPNone {
		if s.LoadBalancerIP != "" {
			out = append(out, "spec.loadBalancerIP is ignored for headless services")
		}
		if len(s.ExternalIPs) > 0 {
			out = append(out, "spec.externalIPs is ignored for headless services")
		}
		if s.SessionAffinity != corev1.ServiceAffinityNone {
			out = append(out, "spec.SessionAffinity is ignored for headless services")
		}
	}
	if d := s.TrafficDistribution; d != nil && *d == corev1.ServiceTrafficDistributionPreferClose {
		out = append(out, `spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`)
	}
	return out
}
