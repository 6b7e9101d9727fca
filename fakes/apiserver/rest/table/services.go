package table

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func (t tables) addServices() {
	add(t, "", "Service", head(
		col("Type", doc[corev1.ServiceSpec]("type")),
		col("Cluster-IP", doc[corev1.ServiceSpec]("clusterIP")),
		col("External-IP", doc[corev1.ServiceSpec]("externalIPs")),
		col("Port(s)", doc[corev1.ServiceSpec]("ports")),
		ageCol(),
		col("Selector", doc[corev1.ServiceSpec]("selector")).wide(),
	), serviceRow)
	add(t, "", "Endpoints", head(col("Endpoints", doc[corev1.Endpoints]("subsets")), ageCol()), //nolint:staticcheck // still served
		func(o *corev1.Endpoints, now time.Time) []any { return []any{o.Name, subsets(o.Subsets), age(o, now)} }) //nolint:staticcheck // still served
	add(t, discoveryv1.GroupName, "EndpointSlice", head(
		col("AddressType", doc[discoveryv1.EndpointSlice]("addressType")),
		col("Ports", doc[discoveryv1.EndpointSlice]("ports")),
		col("Endpoints", doc[discoveryv1.EndpointSlice]("endpoints")),
		ageCol(),
	), sliceRow)
	add(t, networkingv1.GroupName, "Ingress", head(
		col("Class", "The name of the IngressClass resource that should be used for additional configuration"),
		col("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
		col("Address", "Address is a list containing ingress points for the load-balancer"),
		col("Ports", "Ports of TLS configurations that open"),
		ageCol(),
	), ingressRow)
	add(t, networkingv1.GroupName, "IngressClass", head(
		col("Controller", "Controller that is responsible for handling this class"),
		col("Parameters", "A reference to a resource with additional parameters"),
		ageCol(),
	), ingressClassRow)
	add(t, networkingv1.GroupName, "NetworkPolicy", head(col("Pod-Selector", doc[networkingv1.NetworkPolicySpec]("podSelector")), ageCol()),
		func(o *networkingv1.NetworkPolicy, now time.Time) []any {
			return []any{o.Name, metav1.FormatLabelSelector(&o.Spec.PodSelector), age(o, now)}
		})
	add(t, networkingv1.GroupName, "ServiceCIDR", head(col("CIDRs", doc[networkingv1.ServiceCIDRSpec]("cidrs")), ageCol()),
		func(o *networkingv1.ServiceCIDR, now time.Time) []any {
			return []any{o.Name, strings.Join(o.Spec.CIDRs, ","), age(o, now)}
		})
	// The age is in the rows, but no column is declared for it.
	add(t, networkingv1.GroupName, "IPAddress", head(col("ParentRef", doc[networkingv1.IPAddressSpec]("parentRef"))),
		func(o *networkingv1.IPAddress, now time.Time) []any {
			return []any{o.Name, parent(o.Spec.ParentRef), age(o, now)}
		})
}

func serviceRow(o *corev1.Service, now time.Time) []any {
	cluster := "<none>"
	if len(o.Spec.ClusterIPs) > 0 {
		cluster = o.Spec.ClusterIPs[0]
	}
	ports := make([]string, len(o.Spec.Ports))
	for i, p := range o.Spec.Ports {
		number := strconv.Itoa(int(p.Port))
		if p.NodePort > 0 {
			number += ":" + strconv.Itoa(int(p.NodePort))
		}
		ports[i] = fmt.Sprintf("%s/%s", number, p.Protocol)
	}
	return []any{
		o.Name, string(o.Spec.Type), cluster, external(o), or(strings.Join(ports, ","), "<none>"), age(o, now),
		labels.FormatLabels(o.Spec.Selector),
	}
}

// external is where a service is reached from outside.
func external(o *corev1.Service) string {
	own := strings.Join(o.Spec.ExternalIPs, ",")
	switch o.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return or(own, "<none>")
	case corev1.ServiceTypeExternalName:
		return o.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		var points []string
		for _, p := range o.Status.LoadBalancer.Ingress {
			points = append(points, or(p.IP, p.Hostname))
		}
		balancer := distinct(points)
		if balancer != "" && own != "" {
			return balancer + "," + own
		}
		return or(balancer+own, "<pending>")
	}
	return "<unknown>"
}

// subsets are the first endpoints of a service.
func subsets(list []corev1.EndpointSubset) string { //nolint:staticcheck // still served
	const most = 3
	if len(list) == 0 {
		return "<none>"
	}
	var out []string
	count, cut := 0, false
	show := func(addresses []corev1.EndpointAddress, text func(ip string) string) {
		count += len(addresses)
		for _, a := range addresses {
			if len(out) == most {
				cut = true
				return
			}
			out = append(out, text(a.IP))
		}
	}
	for i := range list {
		if len(list[i].Ports) == 0 {
			show(list[i].Addresses, func(ip string) string { return ip })
		}
		for _, port := range list[i].Ports {
			show(list[i].Addresses, func(ip string) string { return net.JoinHostPort(ip, strconv.Itoa(int(port.Port))) })
		}
	}
	if cut {
		return strings.Join(out, ",") + more(count-most)
	}
	return strings.Join(out, ",")
}

func more(n int) string { return fmt.Sprintf(" + %d more...", n) }

func sliceRow(o *discoveryv1.EndpointSlice, now time.Time) []any {
	var ports, addresses []string
	for _, p := range o.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for i := range o.Endpoints {
		addresses = append(addresses, o.Endpoints[i].Addresses...)
	}
	return []any{o.Name, string(o.AddressType), or(listed(ports), "<unset>"), or(listed(addresses), "<unset>"), age(o, now)}
}

func ingressRow(o *networkingv1.Ingress, now time.Time) []any {
	const most = 3
	var hosts, points []string
	cut := false
	for _, rule := range o.Spec.Rules {
		cut = cut || len(hosts) == most
		if !cut && rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	host := or(strings.Join(hosts, ","), "*")
	if cut {
		host += more(len(o.Spec.Rules) - most)
	}
	for _, p := range o.Status.LoadBalancer.Ingress {
		points = append(points, or(p.IP, p.Hostname))
	}
	ports := "80"
	if len(o.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return []any{o.Name, orPointer(o.Spec.IngressClassName, "<none>"), host, distinct(points), ports, age(o, now)}
}

func ingressClassRow(o *networkingv1.IngressClass, now time.Time) []any {
	title, parameters := o.Name, "<none>"
	if o.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
		title += " (default)"
	}
	if p := o.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	return []any{title, o.Spec.Controller, parameters, age(o, now)}
}

func parent(ref *networkingv1.ParentReference) string {
	if ref == nil {
		return "<none>"
	}
	text := strings.ToLower(schema.GroupResource{Group: ref.Group, Resource: ref.Resource}.String())
	if ref.Namespace != "" {
		text += "/" + ref.Namespace
	}
	return text + "/" + ref.Name
}
