package registry

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Node ports of services.

const (
	portTaken = "provided port is already allocated"
	portRange = "provided port is not in the valid range. The range of valid ports is 30000-32767"
)

// hasNodePorts reports whether services of its type have node ports.
func hasNodePorts(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer
}

// wantsNodePorts reports whether every port gets one.
func wantsNodePorts(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeNodePort ||
		s.Type == corev1.ServiceTypeLoadBalancer && (s.AllocateLoadBalancerNodePorts == nil || *s.AllocateLoadBalancerNodePorts)
}

// checksHealth reports whether a load balancer asks the nodes for their health.
func checksHealth(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeLoadBalancer && s.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// nodePortsTaken are those of all services but the one at hand.
func (a *allocation) nodePortsTaken() map[int32]bool {
	taken := map[int32]bool{}
	for _, o := range a.c.Peers.Peers(serviceResource, "") {
		other := o.(*corev1.Service)
		if a.was != nil && other.Name == a.s.Name && other.Namespace == a.s.Namespace {
			continue
		}
		for _, n := range nodePortsOf(&other.Spec) {
			taken[n] = true
		}
	}
	return taken
}

func nodePortsOf(s *corev1.ServiceSpec) []int32 {
	var out []int32
	for i := range s.Ports {
		out = append(out, s.Ports[i].NodePort)
	}
	return append(out, s.HealthCheckNodePort)
}

// ports allocates node ports, and the one at which nodes tell their health.
func (a *allocation) ports() error {
	spec := &a.s.Spec
	health := checksHealth(spec) && (a.was == nil || !checksHealth(a.was))
	if !hasNodePorts(spec) && !health {
		return nil
	}
	taken := a.nodePortsTaken()
	kept := map[int32]bool{}
	if a.was != nil {
		for _, n := range nodePortsOf(a.was) {
			kept[n] = true
		}
	}
	spec.Ports = slices.Clone(spec.Ports)
	if hasNodePorts(spec) {
		if err := a.portByPort(taken, kept); err != nil {
			return err
		}
	}
	switch n := spec.HealthCheckNodePort; {
	case !health:
	case n == 0:
		spec.HealthCheckNodePort = a.freePort(taken)
	default:
		if why := refusePort(n, taken); why != "" {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %s", n, why))
		}
	}
	return nil
}

func (a *allocation) portByPort(taken, kept map[int32]bool) error {
	spec := &a.s.Spec
	byPort := map[int32]int32{} // two protocols of one port share a node port
	seen := map[corev1.ServicePort]bool{}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if p.NodePort == 0 && !wantsNodePorts(spec) {
			continue
		}
		shared := byPort[p.Port]
		switch {
		case a.was != nil: // nothing is shared any more
			shared = 0
		case shared == 0 && p.NodePort == 0:
			p.NodePort = requestedPort(spec.Ports[i:], p.Port)
		case shared != 0 && p.NodePort == 0:
			p.NodePort = shared
		}
		switch {
		case p.NodePort == 0:
			p.NodePort = a.freePort(taken)
		case p.NodePort != shared && !kept[p.NodePort]:
			if why := refusePort(p.NodePort, taken); why != "" {
				errs := field.ErrorList{field.Invalid(field.NewPath("spec", "ports").Index(i).Child("nodePort"), p.NodePort, why)}
				return apierrors.NewInvalid(serviceGroupKind, a.s.Name, errs)
			}
			taken[p.NodePort] = true
			kept[p.NodePort] = a.was != nil
		}
		if byPort[p.Port] == 0 {
			byPort[p.Port] = p.NodePort
		}
		key := corev1.ServicePort{Protocol: p.Protocol, NodePort: p.NodePort}
		if a.was != nil && seen[key] {
			return fmt.Errorf("duplicate nodePort: {%s %d}", p.Protocol, p.NodePort)
		}
		seen[key] = true
	}
	return nil
}

// requestedPort is the first node port that was asked for by a port with the number.
func requestedPort(ports []corev1.ServicePort, number int32) int32 {
	for i := range ports {
		if ports[i].Port == number && ports[i].NodePort != 0 {
			return ports[i].NodePort
		}
	}
	return 0
}

func refusePort(n int32, taken map[int32]bool) string {
	switch {
	case n < firstNodePort || n >= firstNodePort+nodePorts:
		return portRange
	case taken[n]:
		return portTaken
	default:
		return ""
	}
}

func (a *allocation) freePort(taken map[int32]bool) int32 {
	for range nodePorts {
		if n := firstNodePort + int32(a.c.Peers.Next("node port")%nodePorts); !taken[n] {
			taken[n] = true
			return n
		}
	}
	return 0
}

// dropUnused drops what a service of its new type has no use for, unless the
// client has changed it as well.
func dropUnused(_ *Context, obj, old Object) {
	svc := obj.(*corev1.Service)
	s, was := &svc.Spec, &old.(*corev1.Service).Spec
	if was.Type != corev1.ServiceTypeExternalName && s.Type == corev1.ServiceTypeExternalName {
		if s.ClusterIP == was.ClusterIP && slices.Equal(s.ClusterIPs, was.ClusterIPs) {
			s.ClusterIP, s.ClusterIPs = "", nil
		}
		if slices.Equal(s.IPFamilies, was.IPFamilies) {
			s.IPFamilies = nil
		}
		if pointsSame(s.IPFamilyPolicy, was.IPFamilyPolicy) {
			s.IPFamilyPolicy = nil
		}
	}
	if hasNodePorts(was) && !hasNodePorts(s) && noNewPorts(s, was) {
		s.Ports = slices.Clone(s.Ports)
		for i := range s.Ports {
			s.Ports[i].NodePort = 0
		}
	}
	if checksHealth(was) && !checksHealth(s) && s.HealthCheckNodePort == was.HealthCheckNodePort {
		s.HealthCheckNodePort = 0
	}
	if was.Type == corev1.ServiceTypeLoadBalancer && s.Type != corev1.ServiceTypeLoadBalancer {
		if s.AllocateLoadBalancerNodePorts != nil && pointsSame(s.AllocateLoadBalancerNodePorts, was.AllocateLoadBalancerNodePorts) {
			s.AllocateLoadBalancerNodePorts = nil
		}
		if pointsSame(s.LoadBalancerClass, was.LoadBalancerClass) {
			s.LoadBalancerClass = nil
		}
	}
	if reachable(was) && !reachable(s) && s.ExternalTrafficPolicy == was.ExternalTrafficPolicy {
		s.ExternalTrafficPolicy = ""
	}
	if s.Type == corev1.ServiceTypeExternalName {
		s.InternalTrafficPolicy = nil // it is stored, but nobody sees it
	}
	if s.Type != corev1.ServiceTypeLoadBalancer {
		svc.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

func noNewPorts(s, was *corev1.ServiceSpec) bool {
	before := nodePortsOf(was)
	for i := range s.Ports {
		if n := s.Ports[i].NodePort; n != 0 && !slices.Contains(before, n) {
			return false
		}
	}
	return true
}

// reachable reports whether a service can be reached from outside.
func reachable(s *corev1.ServiceSpec) bool {
	return hasNodePorts(s) || s.Type == corev1.ServiceTypeClusterIP && len(s.ExternalIPs) > 0
}

// pointsSame reports whether two pointers are nil, or to equal values.
func pointsSame[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
