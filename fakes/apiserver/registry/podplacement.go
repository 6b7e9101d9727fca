package registry

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validation of where a pod may run, and of its network.

func validateAffinity(a *corev1.Affinity, p *field.Path) field.ErrorList {
	if a == nil {
		return nil
	}
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	var errs field.ErrorList
	if n := a.NodeAffinity; n != nil {
		at := p.Child("nodeAffinity")
		if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			errs = append(errs, validateNodeSelector(r, at.Child(required))...)
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			term, at := &n.PreferredDuringSchedulingIgnoredDuringExecution[i], at.Child(preferred).Index(i)
			errs = append(errs, validateWeight(term.Weight, at.Child("weight"))...)
			errs = append(errs, validateNodeTerm(&term.Preference, false, at.Child("preference"))...)
		}
	}
	pods := func(terms []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm, at *field.Path) {
		for i := range terms {
			errs = append(errs, validatePodTerm(&terms[i], at.Child(required).Index(i))...)
		}
		for i := range weighted {
			at := at.Child(preferred).Index(i)
			errs = append(errs, validateWeight(weighted[i].Weight, at.Child("weight"))...)
			errs = append(errs, validatePodTerm(&weighted[i].PodAffinityTerm, at.Child("podAffinityTerm"))...)
		}
	}
	if x := a.PodAffinity; x != nil {
		pods(x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution, p.Child("podAffinity"))
	}
	if x := a.PodAntiAffinity; x != nil {
		pods(x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution, p.Child("podAntiAffinity"))
	}
	return errs
}

const mostWeight = 100

func validateWeight(w int32, p *field.Path) field.ErrorList {
	if w > 0 && w <= mostWeight {
		return nil
	}
	return field.ErrorList{field.Invalid(p, w, "must be in the range 1-100")}
}

func validateNodeSelector(s *corev1.NodeSelector, p *field.Path) field.ErrorList {
	at := p.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(at, "must have at least one node selector term")}
	}
	var errs field.ErrorList
	for i := range s.NodeSelectorTerms {
		errs = append(errs, validateNodeTerm(&s.NodeSelectorTerms[i], true, at.Index(i))...)
	}
	return errs
}

// validateNodeTerm checks values too, where no node could have them.
func validateNodeTerm(t *corev1.NodeSelectorTerm, values bool, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range t.MatchExpressions {
		errs = append(errs, validateNodeRequirement(&t.MatchExpressions[i], values, p.Child("matchExpressions").Index(i))...)
	}
	for i := range t.MatchFields {
		r, at := &t.MatchFields[i], p.Child("matchFields").Index(i)
		switch r.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(r.Values) != 1 {
				errs = append(errs, field.Required(at.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
			}
		default:
			errs = append(errs, field.Invalid(at.Child("operator"), r.Operator, "not a valid selector operator"))
		}
		if r.Key != metav1.ObjectNameField {
			errs = append(errs, field.Invalid(at.Child("key"), r.Key, "not a valid field selector key"))
			continue
		}
		for j, v := range r.Values {
			for _, msg := range apivalidation.NameIsDNSSubdomain(v, false) {
				errs = append(errs, field.Invalid(at.Child("values").Index(j), v, msg))
			}
		}
	}
	return errs
}

func validateNodeRequirement(r *corev1.NodeSelectorRequirement, values bool, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := p.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(at, "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, field.Forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	errs = append(errs, unversioned.ValidateLabelName(r.Key, p.Child("key"))...)
	if !values {
		return errs
	}
	for i, v := range r.Values {
		for _, msg := range validation.IsValidLabelValue(v) {
			errs = append(errs, field.Invalid(at.Index(i), v, msg))
		}
	}
	return errs
}

func validatePodTerm(t *corev1.PodAffinityTerm, p *field.Path) field.ErrorList {
	errs := unversioned.ValidateLabelSelector(t.LabelSelector, unversioned.LabelSelectorValidationOptions{}, p.Child("labelSelector"))
	errs = append(errs, unversioned.ValidateLabelSelector(t.NamespaceSelector, unversioned.LabelSelectorValidationOptions{}, p.Child("namespaceSelector"))...)
	for _, name := range t.Namespaces {
		for _, msg := range apivalidation.ValidateNamespaceName(name, false) {
			errs = append(errs, field.Invalid(p.Child("namespace"), name, msg))
		}
	}
	if t.TopologyKey == "" {
		errs = append(errs, field.Required(p.Child("topologyKey"), "can not be empty"))
	}
	return append(errs, unversioned.ValidateLabelName(t.TopologyKey, p.Child("topologyKey"))...)
}

func validateGates(s *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range s.ReadinessGates {
		errs = append(errs, qualifiedName(string(s.ReadinessGates[i].ConditionType), p.Child("readinessGates").Index(i).Child("conditionType"))...)
	}
	seen := map[string]bool{}
	for i := range s.SchedulingGates {
		at, name := p.Child("schedulingGates").Index(i), s.SchedulingGates[i].Name
		errs = append(errs, qualifiedName(name, at)...)
		if seen[name] {
			errs = append(errs, field.Duplicate(at, name))
		}
		seen[name] = true
	}
	return errs
}

// validateHost checks what a pod shares with its node.
func validateHost(s *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if isTrue(s.ShareProcessNamespace) && s.HostPID {
		errs = append(errs, field.Invalid(p.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled"))
	}
	if s.HostUsers != nil && !*s.HostUsers {
		for _, f := range []struct {
			name string
			set  bool
		}{{"hostNetwork", s.HostNetwork}, {"HostPID", s.HostPID}, {"HostIPC", s.HostIPC}} {
			if f.set {
				errs = append(errs, field.Forbidden(p.Child(f.name), "when `hostUsers` is false"))
			}
		}
	}
	if o := s.HostnameOverride; o != nil {
		const most = 64
		at := p.Child("hostnameOverride")
		if isTrue(s.SetHostnameAsFQDN) {
			errs = append(errs, field.Forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
		}
		if s.HostNetwork {
			errs = append(errs, field.Forbidden(at, "may not be specified when hostNetwork is true"))
		}
		if len(*o) > most {
			errs = append(errs, field.TooLong(at, "", most))
		}
		for _, msg := range validation.IsDNS1123Subdomain(*o) {
			errs = append(errs, field.Invalid(at, *o, msg))
		}
	}
	if s.HostNetwork {
		for i := range s.Containers {
			for j, port := range s.Containers[i].Ports {
				if port.HostPort != 0 && port.HostPort != port.ContainerPort {
					errs = append(errs, field.Invalid(p.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort, "must match `containerPort` when `hostNetwork` is true"))
				}
			}
		}
	}
	for i := range s.HostAliases {
		at := p.Child("hostAliases").Index(i)
		errs = append(errs, legacyIP(s.HostAliases[i].IP, at.Child("ip"))...)
		for j, name := range s.HostAliases[i].Hostnames {
			for _, msg := range validation.IsDNS1123Subdomain(name) {
				errs = append(errs, field.Invalid(at.Child("hostnames").Index(j), name, msg))
			}
		}
	}
	return errs
}

func legacyIP(ip string, p *field.Path) field.ErrorList {
	return validation.IsValidIPForLegacyField(p, ip, true, nil)
}

const (
	mostNameservers = 3
	mostSearches    = 32
	mostSearchText  = 2048
)

func validateDNS(s *corev1.PodSpec, p *field.Path) field.ErrorList {
	d := s.DNSConfig
	if s.DNSPolicy == corev1.DNSNone {
		switch {
		case d == nil:
			return field.ErrorList{field.Required(p, "must provide `dnsConfig` when `dnsPolicy` is None")}
		case len(d.Nameservers) == 0:
			return field.ErrorList{field.Required(p.Child("nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None")}
		}
	}
	if d == nil {
		return nil
	}
	var errs field.ErrorList
	if len(d.Nameservers) > mostNameservers {
		errs = append(errs, field.Invalid(p.Child("nameservers"), d.Nameservers, fmt.Sprintf("must not have more than %d nameservers", mostNameservers)))
	}
	for i, ns := range d.Nameservers {
		errs = append(errs, legacyIP(ns, p.Child("nameservers").Index(i))...)
	}
	if len(d.Searches) > mostSearches {
		errs = append(errs, field.Invalid(p.Child("searches"), d.Searches, fmt.Sprintf("must not have more than %d search paths", mostSearches)))
	}
	if len(strings.Join(d.Searches, " ")) > mostSearchText {
		errs = append(errs, field.Invalid(p.Child("searches"), d.Searches, fmt.Sprintf("must not have more than %d characters (including spaces) in the search list", mostSearchText)))
	}
	for i, search := range d.Searches {
		if search == "." {
			continue
		}
		search = strings.TrimSuffix(search, ".")
		for _, msg := range validation.IsDNS1123SubdomainWithUnderscore(search) {
			errs = append(errs, field.Invalid(p.Child("searches").Index(i), search, msg))
		}
	}
	for i := range d.Options {
		if d.Options[i].Name == "" {
			errs = append(errs, field.Required(p.Child("options").Index(i), "must not be empty"))
		}
	}
	return errs
}
