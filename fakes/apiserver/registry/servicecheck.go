package registry

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// headless reports whether a service has no address on purpose.
func headless(s *corev1.ServiceSpec) bool {
	return len(s.ClusterIPs) == 1 && s.ClusterIPs[0] == corev1.ClusterIPNone
}

func validateService(svc *corev1.Service) field.ErrorList {
	s, p := &svc.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if len(s.Ports) == 0 && !headless(s) && s.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(p.Child("ports"), ""))
	}
	errs = append(errs, validateServiceType(s, p)...)
	errs = append(errs, validateServicePorts(s.Ports, p.Child("ports"))...)
	errs = append(errs, labelMap(s.Selector, p.Child("selector"))...)
	errs = append(errs, oneOf(p.Child("sessionAffinity"), s.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)...)
	if c := s.SessionAffinityConfig; s.SessionAffinity == corev1.ServiceAffinityClientIP && c != nil && c.ClientIP != nil {
		if t := c.ClientIP.TimeoutSeconds; t != nil && (*t <= 0 || *t > 86400) {
			errs = append(errs, field.Invalid(p.Child("sessionAffinityConfig", "clientIP", "timeoutSeconds"), *t, "must be greater than 0 and less than 86400"))
		}
	}
	errs = append(errs, validateAddresses(s, nil)...)
	errs = append(errs, validateExternalIPs(s.ExternalIPs, p.Child("externalIPs"))...)
	errs = append(errs, oneOf(p.Child("type"), s.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)...)
	errs = append(errs, validatePortNumbers(s, p.Child("ports"))...)
	errs = append(errs, validateBalancer(s, p)...)
	return append(errs, validateTraffic(s, p)...)
}

// validateServiceType checks what the type forbids and demands.
func validateServiceType(s *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch s.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if headless(s) {
			errs = append(errs, field.Invalid(clusterIPsPath.Index(0), s.ClusterIPs[0], fmt.Sprintf("may not be set to 'None' for %s services", s.Type)))
		}
	case corev1.ServiceTypeExternalName:
		const never = "may not be set for ExternalName services"
		if len(s.ClusterIPs) > 0 {
			errs = append(errs, field.Forbidden(clusterIPsPath, never))
		}
		if len(s.IPFamilies) > 0 {
			errs = append(errs, field.Forbidden(familiesPath, never))
		}
		if s.IPFamilyPolicy != nil {
			errs = append(errs, field.Forbidden(familyPolicyPath, never))
		}
		at := p.Child("externalName")
		cname := strings.TrimSuffix(s.ExternalName, ".")
		if cname == "" {
			return append(errs, field.Required(at, ""))
		}
		for _, msg := range validation.IsDNS1123Subdomain(cname) {
			errs = append(errs, field.Invalid(at, cname, msg))
		}
	}
	return errs
}

func validateServicePorts(ports []corev1.ServicePort, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i := range ports {
		port, at := &ports[i], p.Index(i)
		switch {
		case port.Name == "" && len(ports) > 1:
			errs = append(errs, field.Required(at.Child("name"), ""))
		case port.Name != "":
			errs = append(errs, dnsLabel(port.Name, at.Child("name"))...)
			if names[port.Name] {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names[port.Name] = true
		}
		for _, msg := range validation.IsValidPortNum(int(port.Port)) {
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, msg))
		}
		errs = append(errs, oneOf(at.Child("protocol"), port.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
		errs = append(errs, portNumberOrName(port.TargetPort, at.Child("targetPort"))...)
		if port.AppProtocol != nil {
			for _, msg := range validation.IsQualifiedName(*port.AppProtocol) {
				errs = append(errs, field.Invalid(at.Child("appProtocol"), *port.AppProtocol, msg))
			}
		}
	}
	return errs
}

// portNumberOrName checks a port that may be called by the name of a container's.
func portNumberOrName(port intstr.IntOrString, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if port.Type == intstr.String {
		for _, msg := range validation.IsValidPortName(port.StrVal) {
			errs = append(errs, field.Invalid(p, port.StrVal, msg))
		}
		return errs
	}
	for _, msg := range validation.IsValidPortNum(port.IntValue()) {
		errs = append(errs, field.Invalid(p, port.IntValue(), msg))
	}
	return errs
}

// validateAddresses checks clusterIPs and the families for themselves.
func validateAddresses(s, was *corev1.ServiceSpec) field.ErrorList {
	if s.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	var errs field.ErrorList
	switch {
	case s.ClusterIP != "" && len(s.ClusterIPs) == 0:
		errs = append(errs, field.Required(clusterIPsPath, ""))
	case s.ClusterIP != "" && s.ClusterIPs[0] != s.ClusterIP:
		errs = append(errs, field.Invalid(clusterIPsPath, s.ClusterIPs, "first value must match `clusterIP`"))
	case s.ClusterIP == "" && len(s.ClusterIPs) > 0:
		errs = append(errs, field.Invalid(clusterIPsPath, s.ClusterIPs, "must be empty when `clusterIP` is not specified"))
	}
	seen := map[corev1.IPFamily]bool{}
	for i, family := range s.IPFamilies {
		errs = append(errs, oneOf(familiesPath.Index(i), family, corev1.IPv4Protocol, corev1.IPv6Protocol)...)
		if seen[family] {
			errs = append(errs, field.Duplicate(familiesPath.Index(i), family))
		}
		seen[family] = true
	}
	if s.IPFamilyPolicy != nil {
		errs = append(errs, oneOf(familyPolicyPath, *s.IPFamilyPolicy, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)...)
	}
	bad := len(errs)
	for i, ip := range s.ClusterIPs {
		switch {
		case i == 0 && ip == corev1.ClusterIPNone:
			if len(s.ClusterIPs) > 1 {
				errs = append(errs, field.Invalid(clusterIPsPath, s.ClusterIPs, "'None' must be the first and only value"))
			}
		case was == nil || !slices.Contains(was.ClusterIPs, ip):
			errs = append(errs, validation.IsValidIP(clusterIPsPath.Index(i), ip)...)
		}
	}
	if bad = len(errs) - bad; len(s.ClusterIPs) > 2 {
		errs = append(errs, field.Invalid(clusterIPsPath, s.ClusterIPs, "may only hold up to 2 values"))
	}
	if bad > 0 {
		return errs
	}
	if len(s.ClusterIPs) > 1 && (len(s.ClusterIPs) > 2 || familyOf(s.ClusterIPs[0]) == familyOf(s.ClusterIPs[1])) {
		errs = append(errs, field.Invalid(clusterIPsPath, s.ClusterIPs, "may specify no more than one IP for each IP family"))
	}
	for i := 0; i < min(len(s.ClusterIPs), len(s.IPFamilies)) && !headless(s); i++ {
		if family := s.IPFamilies[i]; seen[family] && family != familyOf(s.ClusterIPs[i]) && (family == corev1.IPv4Protocol || family == corev1.IPv6Protocol) {
			errs = append(errs, field.Invalid(clusterIPsPath.Index(i), s.ClusterIPs[i], fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", family, i)))
		}
	}
	return errs
}

func validateExternalIPs(ips []string, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, text := range ips {
		at := p.Index(i)
		if bad := validation.IsValidIP(at, text); len(bad) > 0 {
			errs = append(errs, bad...)
			continue
		}
		errs = append(errs, endpointAddress(text, at)...)
	}
	return errs
}

// endpointAddress checks that an address is one that others can reach.
func endpointAddress(text string, p *field.Path) field.ErrorList {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return nil // told elsewhere
	}
	var errs field.ErrorList
	for _, special := range []struct {
		is     bool
		detail string
	}{
		{ip.IsUnspecified(), fmt.Sprintf("may not be unspecified (%v)", text)},
		{ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
		{ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
		{ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
	} {
		if special.is {
			errs = append(errs, field.Invalid(p, text, special.detail))
		}
	}
	return errs
}

// servicePort is how a real server prints a port.
type servicePort struct {
	Name, Protocol             string
	AppProtocol                *string
	Port, TargetPort, NodePort int32
}

// validatePortNumbers looks for node ports where there are none, and for ports
// that are there twice.
func validatePortNumbers(s *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	var forbidden, twice, errs field.ErrorList
	nodePorts, ports := map[corev1.ServicePort]bool{}, map[corev1.ServicePort]bool{}
	for i := range s.Ports {
		port := &s.Ports[i]
		if port.NodePort != 0 {
			if s.Type == corev1.ServiceTypeClusterIP {
				forbidden = append(forbidden, field.Forbidden(p.Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
			}
			key := corev1.ServicePort{Protocol: port.Protocol, NodePort: port.NodePort}
			if nodePorts[key] {
				twice = append(twice, field.Duplicate(p.Index(i).Child("nodePort"), port.NodePort))
			}
			nodePorts[key] = true
		}
		key := corev1.ServicePort{Protocol: port.Protocol, Port: port.Port}
		if ports[key] {
			errs = append(errs, field.Duplicate(p.Index(i), servicePort{Protocol: string(port.Protocol), Port: port.Port}))
		}
		ports[key] = true
	}
	return append(append(forbidden, twice...), errs...)
}

// validateBalancer checks what only load balancers have.
func validateBalancer(s *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	const only = "may only be used when `type` is 'LoadBalancer'"
	var errs field.ErrorList
	balancer := s.Type == corev1.ServiceTypeLoadBalancer
	if at := p.Child("LoadBalancerSourceRanges"); len(s.LoadBalancerSourceRanges) > 0 {
		if !balancer {
			errs = append(errs, field.Forbidden(at, only))
		}
		for i, r := range s.LoadBalancerSourceRanges {
			if _, err := netip.ParsePrefix(strings.TrimSpace(r)); err != nil {
				errs = append(errs, validation.IsValidCIDR(at.Index(i), strings.TrimSpace(r))...)
			}
		}
	}
	if s.AllocateLoadBalancerNodePorts != nil && !balancer {
		errs = append(errs, field.Forbidden(p.Child("allocateLoadBalancerNodePorts"), only))
	}
	if class := s.LoadBalancerClass; class != nil {
		if !balancer {
			return append(errs, field.Forbidden(p.Child("loadBalancerClass"), only))
		}
		for _, msg := range validation.IsQualifiedName(*class) {
			errs = append(errs, field.Invalid(p.Child("loadBalancerClass"), *class, msg))
		}
	}
	return errs
}

// validateTraffic checks the policies for traffic.
func validateTraffic(s *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if at, policy := p.Child("externalTrafficPolicy"), s.ExternalTrafficPolicy; reachable(s) {
		errs = append(errs, oneOf(at, policy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)...)
	} else if policy != "" {
		errs = append(errs, field.Invalid(at, policy, "may only be set for externally-accessible services"))
	}
	if n, at := s.HealthCheckNodePort, p.Child("healthCheckNodePort"); checksHealth(s) {
		for _, msg := range validation.IsValidPortNum(int(n)) {
			errs = append(errs, field.Invalid(at, n, msg))
		}
	} else if n != 0 {
		errs = append(errs, field.Invalid(at, n, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	}
	if s.InternalTrafficPolicy != nil {
		errs = append(errs, supported(p.Child("internalTrafficPolicy"), *s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	} else if s.Type == corev1.ServiceTypeClusterIP || hasNodePorts(s) {
		errs = append(errs, field.Required(p.Child("internalTrafficPolicy"), ""))
	}
	if d := s.TrafficDistribution; d != nil {
		errs = append(errs, supported(p.Child("trafficDistribution"), *d,
			corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode)...)
	}
	return errs
}

func validateServiceUpdate(_ *Context, obj, old Object) field.ErrorList {
	svc := obj.(*corev1.Service)
	s, was := &svc.Spec, &old.(*corev1.Service).Spec
	var errs field.ErrorList
	if s.Type != corev1.ServiceTypeExternalName && was.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, changedAddresses(s, was)...)
		errs = append(errs, changedFamilies(s, was)...)
	}
	if s.Type == corev1.ServiceTypeLoadBalancer && was.Type == s.Type && !pointsSame(s.LoadBalancerClass, was.LoadBalancerClass) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "loadBalancerClass"), s.LoadBalancerClass, "may not change once set"))
	}
	if checksHealth(s) && checksHealth(was) && s.HealthCheckNodePort != was.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "healthCheckNodePort"), "field is immutable"))
	}
	return append(errs, validateService(svc)...)
}

const changedOnce = "may not change once set"

// changedAddresses checks that a service keeps its first address, and does not lose
// its second by accident.
func changedAddresses(s, was *corev1.ServiceSpec) field.ErrorList {
	if headless(s) && headless(was) {
		return nil
	}
	var errs field.ErrorList
	if len(s.ClusterIPs) == 0 && len(was.ClusterIPs) > 0 {
		errs = append(errs, field.Invalid(clusterIPsPath.Index(0), s.ClusterIPs, "primary clusterIP can not be unset"))
	}
	compared := min(len(s.ClusterIPs), len(was.ClusterIPs))
	if len(s.ClusterIPs) != len(was.ClusterIPs) {
		compared = min(compared, 1)
	}
	for i := range compared {
		if s.ClusterIPs[i] != was.ClusterIPs[i] {
			errs = append(errs, field.Invalid(clusterIPsPath.Index(i), s.ClusterIPs, changedOnce))
		}
	}
	if len(s.ClusterIPs) == 1 && len(was.ClusterIPs) > 1 && (s.IPFamilyPolicy == nil || *s.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack) {
		errs = append(errs, field.Invalid(familyPolicyPath, s.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary clusterIP"))
	}
	return errs
}

// changedFamilies is changedAddresses for families.
func changedFamilies(s, was *corev1.ServiceSpec) field.ErrorList {
	if headless(s) || headless(was) {
		return nil
	}
	var errs field.ErrorList
	if len(s.IPFamilies) == len(was.IPFamilies) {
		for i := range s.IPFamilies {
			if s.IPFamilies[i] != was.IPFamilies[i] {
				errs = append(errs, field.Invalid(familiesPath.Index(0), s.IPFamilies, changedOnce))
			}
		}
		return errs
	}
	if len(s.IPFamilies) > 0 && len(was.IPFamilies) > 0 && s.IPFamilies[0] != was.IPFamilies[0] {
		errs = append(errs, field.Invalid(familiesPath.Index(0), s.ClusterIPs, changedOnce))
	}
	if len(s.IPFamilies) == 1 && len(was.IPFamilies) > 1 && (s.IPFamilyPolicy == nil || *s.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack) {
		errs = append(errs, field.Invalid(familyPolicyPath, s.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary ipFamily"))
	}
	return errs
}

func validateServiceStatus(_ *Context, obj, _ Object) field.ErrorList {
	svc := obj.(*corev1.Service)
	p := field.NewPath("status", "loadBalancer", "ingress")
	ingress := svc.Status.LoadBalancer.Ingress
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer && len(ingress) > 0 {
		return field.ErrorList{field.Forbidden(p, "may only be used when `spec.type` is 'LoadBalancer'")}
	}
	var errs field.ErrorList
	for i := range ingress {
		in, at := &ingress[i], p.Index(i)
		errs = append(errs, balancerAddress(in.IP, in.Hostname, at)...)
		switch {
		case in.IPMode == nil && in.IP != "":
			errs = append(errs, field.Required(at.Child("ipMode"), "must be specified when `ip` is set"))
		case in.IPMode != nil && in.IP == "":
			errs = append(errs, field.Forbidden(at.Child("ipMode"), "may not be specified when `ip` is not set"))
		case in.IPMode != nil:
			errs = append(errs, oneOf(at.Child("ipMode"), *in.IPMode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)...)
		}
	}
	return errs
}

// balancerAddress checks where a load balancer is to be found.
func balancerAddress(ip, hostname string, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if ip != "" {
		errs = append(errs, validation.IsValidIP(p.Child("ip"), ip)...)
	}
	if hostname == "" {
		return errs
	}
	for _, msg := range validation.IsDNS1123Subdomain(hostname) {
		errs = append(errs, field.Invalid(p.Child("hostname"), hostname, msg))
	}
	if _, err := netip.ParseAddr(hostname); err == nil {
		errs = append(errs, field.Invalid(p.Child("hostname"), hostname, "must be a DNS name, not an IP address"))
	}
	return errs
}

func warnService(obj, _ Object) []string {
	s := &obj.(*corev1.Service).Spec
	var out []string
	if s.Type == corev1.ServiceTypeClusterIP && s.ClusterIP == corev1.ClusterIPNone {
		if s.LoadBalancerIP != "" {
			out = append(out, "spec.loadBalancerIP is ignored for headless services")
		}
		if len(s.ExternalIPs) > 0 {
			out = append(out, "spec.externalIPs is ignored for headless services")
		}
		if s.SessionAffinity != corev1.ServiceAffinityNone {
			out = append(out, "spec.SessionAffinity is ignored for headless services")
		}
	} else if len(s.ExternalIPs) > 0 && s.Type != corev1.ServiceTypeExternalName {
		out = append(out, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if s.Type == corev1.ServiceTypeExternalName && len(s.ExternalIPs) > 0 {
		out = append(out, `spec.externalIPs is ignored when spec.type is "ExternalName"`)
	}
	if s.Type != corev1.ServiceTypeExternalName && s.ExternalName != "" {
		out = append(out, `spec.externalName is ignored when spec.type is not "ExternalName"`)
	}
	if d := s.TrafficDistribution; d != nil && *d == corev1.ServiceTrafficDistributionPreferClose {
		out = append(out, `spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`)
	}
	return out
}
