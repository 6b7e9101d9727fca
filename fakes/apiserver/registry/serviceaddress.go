package registry

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// allocateService gives a service its families, addresses and node ports. It runs
// before validation, as what the client left out must be there by then, and so its
// errors are told before any other.
func allocateService(c *Context, obj, old Object) error {
	s := obj.(*corev1.Service)
	var was *corev1.ServiceSpec
	if old != nil {
		was = &old.(*corev1.Service).Spec
		keepAllocated(&s.Spec, was)
	}
	matchAddresses(&s.Spec, was)
	a := &allocation{c: c, s: s, was: was}
	if s.Spec.Type != corev1.ServiceTypeExternalName && !samePreferred(&s.Spec, was) {
		for _, step := range []func() field.ErrorList{a.check, a.inferFamilies, a.families, a.address} {
			if errs := step(); len(errs) > 0 {
				return apierrors.NewInvalid(serviceGroupKind, s.Name, errs)
			}
		}
	}
	if err := a.ports(); err != nil {
		return err
	}
	return nil
}

// keepAllocated puts back what a client that writes its own copy leaves out.
func keepAllocated(s, was *corev1.ServiceSpec) {
	if s.Type != corev1.ServiceTypeExternalName && was.Type != corev1.ServiceTypeExternalName {
		if s.ClusterIP == "" {
			s.ClusterIP = was.ClusterIP
		}
		if len(s.ClusterIPs) == 0 {
			s.ClusterIPs = was.ClusterIPs
		}
	}
	if wantsNodePorts(s) && wantsNodePorts(was) {
		keepNodePorts(s, was)
	}
	if checksHealth(s) && checksHealth(was) && s.HealthCheckNodePort == 0 {
		s.HealthCheckNodePort = was.HealthCheckNodePort
	}
}

// keepNodePorts gives ports the node ports of those of the same name before,
// unless another one has them now.
func keepNodePorts(s, was *corev1.ServiceSpec) {
	before := map[string]int32{}
	used, moved := map[int32]bool{}, map[int32]bool{}
	for i := range was.Ports {
		before[was.Ports[i].Name] = was.Ports[i].NodePort
		used[was.Ports[i].NodePort] = true
	}
	for i := range s.Ports {
		if n := s.Ports[i].NodePort; n != 0 && used[n] {
			moved[n] = true
		}
	}
	s.Ports = slices.Clone(s.Ports)
	for i := range s.Ports {
		if p := &s.Ports[i]; p.NodePort == 0 && !moved[before[p.Name]] {
			p.NodePort = before[p.Name]
		}
	}
}

// matchAddresses makes clusterIPs follow clusterIP where a client knows only that.
func matchAddresses(s, was *corev1.ServiceSpec) {
	switch {
	case was == nil:
		if s.ClusterIP != "" && len(s.ClusterIPs) == 0 {
			s.ClusterIPs = []string{s.ClusterIP}
		}
	case s.ClusterIP == was.ClusterIP:
		if len(s.ClusterIPs) == 0 {
			s.ClusterIPs = was.ClusterIPs
		}
	case slices.Equal(s.ClusterIPs, was.ClusterIPs):
		s.ClusterIPs = nil
		if s.ClusterIP != "" || was.ClusterIP == "" {
			s.ClusterIPs = []string{s.ClusterIP}
		}
	}
}

// samePreferred reports whether a service that prefers two families has what it
// had: it gets no second one because the cluster has changed.
func samePreferred(s, was *corev1.ServiceSpec) bool {
	prefers := func(p *corev1.IPFamilyPolicy) bool { return *p == corev1.IPFamilyPolicyPreferDualStack }
	return was != nil && s.IPFamilyPolicy != nil && s.Type == was.Type && prefers(s.IPFamilyPolicy) &&
		(was.IPFamilyPolicy == nil || prefers(was.IPFamilyPolicy)) &&
		slices.Equal(s.ClusterIPs, was.ClusterIPs) && slices.Equal(s.IPFamilies, was.IPFamilies)
}

// allocation is the work on one service. The cluster has one family, IPv4.
type allocation struct {
	c   *Context
	s   *corev1.Service
	was *corev1.ServiceSpec // nil for a new one
}

var (
	familyPolicyPath = field.NewPath("spec", "ipFamilyPolicy")
	familiesPath     = field.NewPath("spec", "ipFamilies")
	clusterIPsPath   = field.NewPath("spec", "clusterIPs")
)

// check defaults the policy and checks what was sent for itself.
func (a *allocation) check() field.ErrorList {
	spec := &a.s.Spec
	if spec.IPFamilyPolicy == nil {
		switch {
		case a.was != nil && a.was.IPFamilyPolicy != nil:
			spec.IPFamilyPolicy = a.was.IPFamilyPolicy
		case spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0:
			fill(&spec.IPFamilyPolicy, corev1.IPFamilyPolicyRequireDualStack)
		default:
			fill(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
		}
	}
	return validateAddresses(spec, a.was)
}

// inferFamilies adds the families of the addresses.
func (a *allocation) inferFamilies() field.ErrorList {
	spec := &a.s.Spec
	single := *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
	var errs field.ErrorList
	wrong := func(detail string) { errs = append(errs, field.Invalid(familyPolicyPath, spec.IPFamilyPolicy, detail)) }
	if a.was != nil {
		switch {
		case single && slices.Equal(spec.ClusterIPs, a.was.ClusterIPs) && len(spec.ClusterIPs) > 1:
			spec.ClusterIPs = spec.ClusterIPs[:1]
		case !single && len(spec.ClusterIPs) > 0 && len(spec.ClusterIPs) < len(a.was.ClusterIPs):
			wrong("must be 'SingleStack' to release the secondary cluster IP")
		}
		switch {
		case single && slices.Equal(spec.IPFamilies, a.was.IPFamilies) && len(spec.IPFamilies) > 1:
			spec.IPFamilies = spec.IPFamilies[:1]
		case !single && len(spec.IPFamilies) > 0 && len(spec.IPFamilies) < len(a.was.IPFamilies):
			wrong("must be 'SingleStack' to release the secondary IP family")
		}
	}
	if single && len(spec.ClusterIPs) == 2 {
		wrong("must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified")
	}
	if single && len(spec.IPFamilies) == 2 {
		wrong("must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified")
	}
	for i, ip := range spec.ClusterIPs {
		if ip == corev1.ClusterIPNone {
			break
		}
		if i < len(spec.IPFamilies) {
			continue
		}
		if family := familyOf(ip); family == corev1.IPv4Protocol {
			spec.IPFamilies = append(slices.Clone(spec.IPFamilies), family)
		} else {
			errs = append(errs, field.Invalid(clusterIPsPath.Index(i), spec.ClusterIPs, fmt.Sprintf("%s is not configured on this cluster", family)))
		}
	}
	return errs
}

func familyOf(ip string) corev1.IPFamily {
	if addr, err := netip.ParseAddr(ip); err == nil && addr.Is6() {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// families checks those that were asked for, and fills in those that were not.
func (a *allocation) families() field.ErrorList {
	spec := &a.s.Spec
	if spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0 {
		// Whoever writes its endpoints may do so in any family.
		if len(spec.IPFamilies) == 0 {
			spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		}
		if len(spec.IPFamilies) == 1 && *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
			other := corev1.IPv6Protocol
			if spec.IPFamilies[0] == corev1.IPv6Protocol {
				other = corev1.IPv4Protocol
			}
			spec.IPFamilies = append(slices.Clone(spec.IPFamilies), other)
		}
		return nil
	}
	var errs field.ErrorList
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack {
		errs = append(errs, field.Invalid(familyPolicyPath, spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	for i, family := range spec.IPFamilies {
		if family != corev1.IPv4Protocol {
			errs = append(errs, field.Invalid(familiesPath.Index(i), family, "not configured on this cluster"))
		}
	}
	if len(errs) == 0 && len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	return errs
}

// address allocates a cluster IP for a service that had none.
func (a *allocation) address() field.ErrorList {
	spec := &a.s.Spec
	if a.was != nil && a.was.Type != corev1.ServiceTypeExternalName {
		return nil
	}
	if len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] == corev1.ClusterIPNone {
		return nil
	}
	asked := ""
	if len(spec.ClusterIPs) > 0 {
		asked = spec.ClusterIPs[0]
	}
	ip, failure := asked, ""
	if asked == "" {
		ip = freeAddress(a.c)
		spec.ClusterIPs = []string{""}
	} else {
		failure = a.refuse(asked)
	}
	if failure == "" && a.s.Name == "" && !a.c.DryRun {
		// The address is an object that says whose it is.
		failure = fmt.Sprintf("IPAddress.networking.k8s.io %q is invalid: spec.parentRef.name: Required value", ip)
	}
	if failure != "" {
		what := "IP"
		if asked != "" {
			what = "IP " + asked
		}
		return field.ErrorList{field.Invalid(clusterIPsPath, spec.ClusterIPs, fmt.Sprintf("failed to allocate %s: %s", what, failure))}
	}
	spec.ClusterIP, spec.ClusterIPs = ip, []string{ip}
	return nil
}

// refuse tells why an address that was asked for cannot be had, or nothing.
func (a *allocation) refuse(asked string) string {
	ip, err := netip.ParseAddr(asked)
	switch {
	case err != nil:
		return "" // validation has said it
	case !ServiceRange.Contains(ip) && a.c.DryRun:
		return fmt.Sprintf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s", ip, ServiceRange)
	case !ServiceRange.Contains(ip):
		return "the provided network does not match the current range"
	case ip == rangeEnd(0), ip == rangeEnd(1):
		return "the provided network does not match the current range"
	case a.c.Peers.PeerBy(serviceResource, serviceClusterIP, asked), ip == rangeEnd(0).Next() && !reaches(a.s):
		return "provided IP is already allocated"
	default:
		return ""
	}
}

// rangeEnd is the first (0) or the last (1) address of the range, which nobody gets.
func rangeEnd(bit uint32) netip.Addr {
	base := ServiceRange.Masked().Addr().As4()
	n := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(base[2])<<8 | uint32(base[3])
	n |= bit * (1<<(32-ServiceRange.Bits()) - 1)
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// reaches tells the service by which pods reach the API server itself, whose address is
// kept free.
func reaches(s *corev1.Service) bool {
	return s.Namespace == corev1.NamespaceDefault && s.Name == "kubernetes"
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
