package registry

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validation of what stands behind services.

//nolint:staticcheck // Endpoints are served, with a warning
func validateSubsets(list []corev1.EndpointSubset) field.ErrorList {
	var errs field.ErrorList
	addresses := func(list []corev1.EndpointAddress, p *field.Path) {
		for i := range list {
			a, at := &list[i], p.Index(i)
			errs = append(errs, legacyIP(a.IP, at.Child("ip"))...)
			if a.Hostname != "" {
				errs = append(errs, dnsLabel(a.Hostname, at.Child("hostname"))...)
			}
			errs = append(errs, nodeName(a.NodeName, at.Child("nodeName"))...)
			errs = append(errs, endpointIP(a.IP, at.Child("ip"))...)
		}
	}
	for i := range list {
		s, p := &list[i], field.NewPath("subsets").Index(i)
		if len(s.Addresses) == 0 && len(s.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(p, "must specify `addresses` or `notReadyAddresses`"))
		}
		addresses(s.Addresses, p.Child("addresses"))
		addresses(s.NotReadyAddresses, p.Child("notReadyAddresses"))
		for j := range s.Ports {
			port, at := &s.Ports[j], p.Child("ports").Index(j)
			if port.Name != "" {
				errs = append(errs, dnsLabel(port.Name, at.Child("name"))...)
			} else if len(s.Ports) > 1 {
				errs = append(errs, field.Required(at.Child("name"), ""))
			}
			errs = append(errs, validatePortNumber(port.Port, at.Child("port"))...)
			errs = append(errs, oneOf(at.Child("protocol"), port.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
			if port.AppProtocol != nil {
				errs = append(errs, qualifiedName(*port.AppProtocol, at.Child("appProtocol"))...)
			}
		}
	}
	return errs
}

func nodeName(name *string, p *field.Path) field.ErrorList {
	if name == nil || plainSubdomain(*name) {
		return nil
	}
	var errs field.ErrorList
	for _, msg := range apivalidation.NameIsDNSSubdomain(*name, false) {
		errs = append(errs, field.Invalid(p, *name, msg))
	}
	return errs
}

// endpointIP refuses addresses that mean another machine to everybody, or none.
func endpointIP(address string, p *field.Path) field.ErrorList {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return field.ErrorList{field.Invalid(p, address, "must be a valid IP address")}
	}
	var errs field.ErrorList
	ip = ip.Unmap()
	if ip.IsUnspecified() {
		errs = append(errs, field.Invalid(p, address, "may not be unspecified ("+address+")"))
	}
	if ip.IsLoopback() {
		errs = append(errs, field.Invalid(p, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
	}
	if ip.IsLinkLocalUnicast() {
		errs = append(errs, field.Invalid(p, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
	}
	if ip.IsLinkLocalMulticast() {
		errs = append(errs, field.Invalid(p, address, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
	}
	return errs
}

const mostHints = 8

func validateHints(h *discoveryv1.EndpointHints, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	list := func(names []string, p *field.Path, wrong func(string) []string) bool {
		if len(names) > mostHints {
			errs = append(errs, field.TooMany(p, len(names), mostHints))
			return false
		}
		seen := map[string]bool{}
		for i, name := range names {
			at := p.Index(i).Child("name")
			if seen[name] {
				errs = append(errs, field.Duplicate(at, name))
			}
			seen[name] = true
			for _, msg := range wrong(name) {
				errs = append(errs, field.Invalid(at, name, msg))
			}
		}
		return true
	}
	zones, nodes := make([]string, len(h.ForZones)), make([]string, len(h.ForNodes))
	for i := range zones {
		zones[i] = h.ForZones[i].Name
	}
	for i := range nodes {
		nodes[i] = h.ForNodes[i].Name
	}
	if list(zones, p.Child("forZones"), validation.IsValidLabelValue) {
		list(nodes, p.Child("forNodes"), func(name string) []string { return apivalidation.NameIsDNSSubdomain(name, false) })
	}
	return errs
}
