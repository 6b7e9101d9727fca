package registry

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// ServiceRange is where cluster IPs come from.
var ServiceRange = netip.MustParsePrefix("10.0.0.0/16")

const (
	firstNodePort = 30000
	nodePorts     = 2768
)

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
	Default:        func(obj Object) { defaultService(&obj.(*corev1.Service).Spec) },
	Status:         &Status{},
	PrepareUpdate:  keepAddresses,
	Validate:       func(c *Context, obj Object) field.ErrorList { return validateNewService(c, obj.(*corev1.Service)) },
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
	external := s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer || s.Type == corev1.ServiceTypeClusterIP && len(s.ExternalIPs) > 0
	if external && s.ExternalTrafficPolicy == "" {
		s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if s.Type != corev1.ServiceTypeExternalName {
		fill(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if s.Type == corev1.ServiceTypeLoadBalancer {
		fill(&s.AllocateLoadBalancerNodePorts, true)
	}
}

// allocate gives a service its addresses and ports. It runs before validation,
// as what the client left out must be there by then.
func allocate(c *Context, s *corev1.Service) field.ErrorList {
	spec := &s.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	p := field.NewPath("spec")
	if spec.ClusterIP == "" && len(spec.ClusterIPs) > 0 {
		spec.ClusterIP = spec.ClusterIPs[0]
	}
	if spec.ClusterIP == "" {
		spec.ClusterIP = freeAddress(c)
	} else if spec.ClusterIP != corev1.ClusterIPNone {
		if errs := checkAddress(c, s, p.Child("clusterIPs")); len(errs) > 0 {
			return errs
		}
	}
	if len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0 && len(spec.IPFamilies) == 0 && spec.IPFamilyPolicy == nil {
		// Whoever writes its endpoints may do so in any family.
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		fill(&spec.IPFamilyPolicy, corev1.IPFamilyPolicyRequireDualStack)
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	fill(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	return allocatePorts(c, spec, p.Child("ports"))
}

func freeAddress(c *Context) string {
	size := uint64(1)<<(32-ServiceRange.Bits()) - 2
	base := ServiceRange.Masked().Addr().As4()
	first := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(base[2])<<8 | uint32(base[3])
	for range size {
		n := first + 1 + uint32(c.Peers.Next("service address")%size)
		ip := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
		if !c.Peers.PeerBy(serviceResource, serviceClusterIP, ip) {
			return ip
		}
	}
	return ""
}

func checkAddress(c *Context, s *corev1.Service, p *field.Path) field.ErrorList {
	ip, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil {
		return nil // validation says it better
	}
	if !ServiceRange.Contains(ip) {
		return field.ErrorList{field.Invalid(p, []string{s.Spec.ClusterIP}, fmt.Sprintf("failed to allocate IP %s: the provided IP (%s) is not in the valid range. The range of valid IPs is %s", ip, ip, ServiceRange))}
	}
	if c.Peers.PeerBy(serviceResource, serviceClusterIP, s.Spec.ClusterIP) {
		return field.ErrorList{field.Invalid(p, []string{s.Spec.ClusterIP}, fmt.Sprintf("failed to allocate IP %s: provided IP is already allocated", ip))}
	}
	return nil
}

func allocatePorts(c *Context, s *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	wanted := s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer && isTrue(s.AllocateLoadBalancerNodePorts)
	if !wanted {
		return nil
	}
	taken := map[int32]bool{}
	for _, o := range c.Peers.Peers(serviceResource, "") {
		for _, port := range o.(*corev1.Service).Spec.Ports {
			taken[port.NodePort] = true
		}
	}
	var errs field.ErrorList
	s.Ports = slices.Clone(s.Ports)
	for i := range s.Ports {
		port := &s.Ports[i]
		for port.NodePort == 0 {
			if n := firstNodePort + int32(c.Peers.Next("node port")%nodePorts); !taken[n] {
				port.NodePort, taken[n] = n, true
			}
		}
		if n := port.NodePort; n < firstNodePort || n >= firstNodePort+nodePorts {
			errs = append(errs, field.Invalid(p.Index(i).Child("nodePort"), n, "provided port is not in the valid range. The range of valid ports is 30000-32767"))
		}
	}
	return errs
}

// keepAddresses puts back what a client that writes its own copy leaves out.
func keepAddresses(_ *Context, obj, old Object) {
	s, was := &obj.(*corev1.Service).Spec, &old.(*corev1.Service).Spec
	if s.Type == corev1.ServiceTypeExternalName || was.Type == corev1.ServiceTypeExternalName {
		return
	}
	if s.ClusterIP == "" && len(s.ClusterIPs) == 0 {
		s.ClusterIP, s.ClusterIPs = was.ClusterIP, was.ClusterIPs
	} else if s.ClusterIP == was.ClusterIP && len(s.ClusterIPs) == 0 {
		s.ClusterIPs = was.ClusterIPs
	} else if s.ClusterIP != "" && s.ClusterIP != was.ClusterIP && (len(s.ClusterIPs) == 0 || slices.Equal(s.ClusterIPs, was.ClusterIPs)) {
		s.ClusterIPs = []string{s.ClusterIP}
	}
	if len(s.IPFamilies) == 0 {
		s.IPFamilies = was.IPFamilies
	}
	s.IPFamilyPolicy = keep(s.IPFamilyPolicy, was.IPFamilyPolicy)
	if s.Type == corev1.ServiceTypeClusterIP {
		return
	}
	s.Ports = slices.Clone(s.Ports)
	for i := range s.Ports {
		for j := range was.Ports {
			if s.Ports[i].NodePort == 0 && s.Ports[i].Port == was.Ports[j].Port && s.Ports[i].Protocol == was.Ports[j].Protocol {
				s.Ports[i].NodePort = was.Ports[j].NodePort
			}
		}
	}
}

func validateServiceSpec(s *corev1.ServiceSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := validateServiceExtras(s, p)
	if len(s.Ports) == 0 && s.ClusterIP != corev1.ClusterIPNone && s.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(p.Child("ports"), ""))
	}
	if s.Type == corev1.ServiceTypeExternalName && s.ExternalName == "" {
		errs = append(errs, field.Required(p.Child("externalName"), ""))
	}
	names := map[string]bool{}
	for i := range s.Ports {
		port, at := &s.Ports[i], p.Child("ports").Index(i)
		switch {
		case port.Name == "" && len(s.Ports) > 1:
			errs = append(errs, field.Required(at.Child("name"), ""))
		case port.Name != "" && names[port.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
		case port.Name != "":
			errs = append(errs, dnsLabel(port.Name, at.Child("name"))...)
		}
		names[port.Name] = true
		for _, msg := range validation.IsValidPortNum(int(port.Port)) {
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, msg))
		}
	}
	errs = append(errs, labelMap(s.Selector, p.Child("selector"))...)
	return append(errs, oneOf(p.Child("type"), s.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)...)
}

func validateNewService(c *Context, s *corev1.Service) field.ErrorList {
	if s.Name == "" && s.Spec.ClusterIP == "" && s.Spec.Type != corev1.ServiceTypeExternalName {
		// Allocation comes first, and fails for who has no name.
		return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs"), []string{""}, fmt.Sprintf(
			"failed to allocate IP: IPAddress.networking.k8s.io %q is invalid: spec.parentRef.name: Required value", freeAddress(c)))}
	}
	errs := validateServiceSpec(&s.Spec)
	if len(errs) > 0 {
		return errs
	}
	return allocate(c, s)
}

func validateServiceUpdate(c *Context, obj, old Object) field.ErrorList {
	s, was := obj.(*corev1.Service), old.(*corev1.Service)
	p := field.NewPath("spec")
	var errs field.ErrorList
	if s.Spec.Type != corev1.ServiceTypeExternalName && was.Spec.Type != corev1.ServiceTypeExternalName &&
		len(was.Spec.ClusterIPs) > 0 && len(s.Spec.ClusterIPs) > 0 && s.Spec.ClusterIPs[0] != was.Spec.ClusterIPs[0] {
		errs = append(errs, field.Invalid(p.Child("clusterIPs").Index(0), s.Spec.ClusterIPs, "may not change once set"))
	}
	errs = append(errs, validateServiceSpec(&s.Spec)...)
	if len(errs) > 0 {
		return errs
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		s.Spec.ClusterIP, s.Spec.ClusterIPs = "", nil
		return nil
	}
	if s.Spec.ClusterIP == "" {
		return allocate(c, s)
	}
	return allocatePorts(c, &s.Spec, p.Child("ports"))
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
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
