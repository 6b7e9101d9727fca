package controllermanager

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	endpointsGVR  = corev1.SchemeGroupVersion.WithResource("endpoints")
	endpointsKind = corev1.SchemeGroupVersion.WithKind("Endpoints")
)

// The types are deprecated, and served and kept all the same.
type (
	endpointsObject = corev1.Endpoints      //nolint:staticcheck // see above
	endpointSubset  = corev1.EndpointSubset //nolint:staticcheck // see above
	address         = corev1.EndpointAddress
	subsetPort      = corev1.EndpointPort
)

// How Endpoints objects say whose they are.
const (
	endpointsManagedBy = "endpoints.kubernetes.io/managed-by"
	endpointsManager   = "endpoint-controller"
)

// endpoints keeps the Endpoints of Services that select pods.
type endpoints struct {
	m        *Manager
	loop     *Loop
	events   source
	triggers triggers
}

func newEndpoints(m *Manager) controller {
	c := &endpoints{m: m, events: m.source("endpoint-controller"), triggers: triggers{}}
	c.loop = &Loop{Name: Endpoints, Workers: 5, Reconcile: c.reconcile}
	return c
}

func (c *endpoints) loops() []*Loop { return []*Loop{c.loop} }

func (c *endpoints) watches(r *apiserver.Resource) bool {
	return r.GVR() == servicesGVR || r.GVR() == podsGVR || r.GVR() == endpointsGVR
}

func (c *endpoints) observe(r *resource, old, new apiserver.Object) {
	switch r.gvr {
	case servicesGVR:
		c.loop.queue.Add(keyOf(either(old, new)))
	case podsGVR:
		for _, s := range servicesBehind(c.m, asPod(old), asPod(new)) {
			c.loop.queue.Add(s)
		}
	case endpointsGVR:
		if new == nil {
			c.loop.queue.Add(keyOf(old))
		}
	}
}

func (c *endpoints) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s, found := cached[*corev1.Service](c.m, servicesGVR, req.Namespace, req.Name)
	if !found {
		delete(c.triggers, req)
		return reconcile.Result{}, ignoreNotFound(c.m.delete(ctx, endpointsGVR, req.Namespace, req.Name, nil))
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName || s.Spec.Selector == nil {
		return reconcile.Result{}, nil
	}
	pods := selectedPods(c.m, s)
	trigger := c.triggers.last(s, pods)
	next := &endpointsObject{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
	have, exists := cached[*endpointsObject](c.m, endpointsGVR, req.Namespace, req.Name)
	subsets, labels := endpointSubsets(s, pods), endpointsLabels(s)
	if exists {
		if equality.Semantic.DeepEqual(have.Subsets, subsets) && maps.Equal(have.Labels, labels) {
			return reconcile.Result{}, nil
		}
		next = have.DeepCopy()
	}
	next.Subsets, next.Labels = subsets, labels
	next.Annotations = annotateTrigger(next.Annotations, trigger)
	return reconcile.Result{}, c.write(ctx, next, exists)
}

func (c *endpoints) write(ctx context.Context, next *endpointsObject, exists bool) error {
	var err error
	about := next.DeepCopy()
	if exists {
		_, err = c.m.update(ctx, endpointsGVR, "", next)
	} else {
		_, err = c.m.create(ctx, endpointsGVR, next)
	}
	switch {
	case err == nil, !exists && terminating(err):
		return nil
	case exists:
		c.events.warning(about, endpointsKind, "FailedToUpdateEndpoint", "Failed to update endpoint %v/%v: %v", about.Namespace, about.Name, err)
	default:
		c.events.warning(about, endpointsKind, "FailedToCreateEndpoint", "Failed to create endpoint for service %v/%v: %v", about.Namespace, about.Name, err)
	}
	return fmt.Errorf("write endpoints %s/%s: %w", about.Namespace, about.Name, err)
}

func endpointsLabels(s *corev1.Service) map[string]string {
	out := maps.Clone(s.Labels)
	if out == nil {
		out = map[string]string{}
	}
	delete(out, corev1.IsHeadlessService)
	if headless(s) {
		out[corev1.IsHeadlessService] = ""
	}
	out[endpointsManagedBy] = endpointsManager
	return out
}

// endpointSubsets lists the addresses of the pods: those with the same ports together,
// and those that are not ready apart.
func endpointSubsets(s *corev1.Service, pods []*corev1.Pod) []endpointSubset {
	byPort := map[subsetPort][]address{}
	isReady := map[string]bool{}
	var order []subsetPort
	for _, p := range pods {
		a, ok := endpointAddress(s, p)
		if !ok || !isEndpoint(p, s.Spec.PublishNotReadyAddresses) {
			continue
		}
		isReady[addressKey(a)] = s.Spec.PublishNotReadyAddresses || ready(p)
		for _, port := range endpointPorts(s, p) {
			if byPort[port] == nil {
				order = append(order, port)
			}
			byPort[port] = append(byPort[port], a)
		}
	}
	subsets := map[string]*endpointSubset{}
	for _, port := range order {
		all := byPort[port]
		slices.SortFunc(all, func(a, b address) int { return cmp.Compare(addressKey(a), addressKey(b)) })
		keys := make([]string, len(all))
		for i, a := range all {
			keys[i] = addressKey(a)
		}
		key := strings.Join(keys, "\x00")
		if subsets[key] == nil {
			subsets[key] = &endpointSubset{}
			for _, a := range all {
				if isReady[addressKey(a)] {
					subsets[key].Addresses = append(subsets[key].Addresses, a)
				} else {
					subsets[key].NotReadyAddresses = append(subsets[key].NotReadyAddresses, a)
				}
			}
		}
		if port.Port > 0 {
			subsets[key].Ports = append(subsets[key].Ports, port)
		}
	}
	out := []endpointSubset{}
	for _, key := range slices.Sorted(maps.Keys(subsets)) {
		x := subsets[key]
		slices.SortFunc(x.Ports, func(a, b subsetPort) int { return cmp.Compare(contentHash(a), contentHash(b)) })
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b endpointSubset) int { return cmp.Compare(contentHash(a), contentHash(b)) })
	return out
}

func addressKey(a address) string { return a.IP + "\x00" + string(a.TargetRef.UID) }

// endpointPorts are the ports of a Service that a pod has. A headless Service may have
// none, and has endpoints all the same: the port -1 stands for that.
func endpointPorts(s *corev1.Service, p *corev1.Pod) []subsetPort {
	if len(s.Spec.Ports) == 0 && s.Spec.ClusterIP == corev1.ClusterIPNone {
		return []subsetPort{{Port: -1}}
	}
	var ports []subsetPort
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		if n, ok := targetPort(p, port); ok {
			ports = append(ports, subsetPort{Name: port.Name, Port: n, Protocol: port.Protocol, AppProtocol: port.AppProtocol})
		}
	}
	return ports
}

// endpointAddress is the address of a pod in the first family of a Service.
func endpointAddress(s *corev1.Service, p *corev1.Pod) (address, bool) {
	six := len(s.Spec.IPFamilies) > 0 && s.Spec.IPFamilies[0] == corev1.IPv6Protocol
	for _, ip := range p.Status.PodIPs {
		addr, err := netip.ParseAddr(ip.IP)
		if err != nil || addr.Is6() != six {
			continue
		}
		a := address{
			IP: addr.String(), NodeName: &p.Spec.NodeName,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		}
		if hasHostname(p, s) {
			a.Hostname = p.Spec.Hostname
		}
		return a, true
	}
	return address{}, false
}
