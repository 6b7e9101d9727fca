package controllermanager

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// maxPerSlice is how many endpoints a slice has at most.
const maxPerSlice = 100

// slicePlan is what has to be done about the slices of a Service that have one type of
// address.
type slicePlan struct {
	m         *Manager
	service   *corev1.Service
	addresses discoveryv1.AddressType

	create, update, drop []*discoveryv1.EndpointSlice
}

// portGroup is the endpoints with the same ports: only those share slices.
type portGroup struct {
	ports  []discoveryv1.EndpointPort
	want   []*discoveryv1.Endpoint
	slices []*discoveryv1.EndpointSlice
}

// make plans what leads from the slices that there are to those for the pods.
func (p *slicePlan) make(pods []*corev1.Pod, have []*discoveryv1.EndpointSlice) []error {
	groups := map[string]*portGroup{}
	group := func(ports []discoveryv1.EndpointPort) *portGroup {
		key := contentHash(ports)
		if groups[key] == nil {
			groups[key] = &portGroup{ports: ports}
		}
		return groups[key]
	}
	for _, slice := range have {
		if ownedByService(slice, p.service) {
			g := group(sortedPorts(slice.Ports))
			g.slices = append(g.slices, slice)
		} else {
			p.drop = append(p.drop, slice)
		}
	}
	wanted := map[*portGroup]bool{}
	var errs []error
	for _, pod := range pods {
		if !isEndpoint(pod, true) {
			continue
		}
		g := group(p.ports(pod))
		wanted[g] = true
		e, err := p.endpoint(pod)
		if err != nil {
			errs = append(errs, err)
		}
		if e != nil {
			g.want = append(g.want, e)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		if g := groups[key]; wanted[g] {
			p.pack(g)
		} else {
			p.drop = append(p.drop, g.slices...)
		}
	}
	p.holdPlace(have)
	return errs
}

// holdPlace keeps one slice even if there is no endpoint.
func (p *slicePlan) holdPlace(have []*discoveryv1.EndpointSlice) {
	if len(have) != len(p.drop) || len(p.create) > 0 {
		return
	}
	empty := newSlice(p.service, p.addresses, []discoveryv1.EndpointPort{})
	if len(p.drop) == 1 && placeholder(p.drop[0], empty) {
		p.drop = nil
		return
	}
	p.create = append(p.create, empty)
}

func placeholder(slice, empty *discoveryv1.EndpointSlice) bool {
	return len(slice.Endpoints) == 0 && len(slice.Ports) == 0 && slice.AddressType == empty.AddressType && maps.Equal(slice.Labels, empty.Labels)
}

// ports are those of a Service as a pod has them, in the order of the real controller.
func (p *slicePlan) ports(pod *corev1.Pod) []discoveryv1.EndpointPort {
	ports := []discoveryv1.EndpointPort{}
	for i := range p.service.Spec.Ports {
		port := &p.service.Spec.Ports[i]
		if n, ok := targetPort(pod, port); ok {
			ports = append(ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &n, Protocol: &port.Protocol, AppProtocol: port.AppProtocol})
		}
	}
	return sortedPorts(ports)
}

func sortedPorts(ports []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	out := slices.Clone(ports)
	if out == nil {
		out = []discoveryv1.EndpointPort{}
	}
	slices.SortFunc(out, func(a, b discoveryv1.EndpointPort) int { return cmp.Compare(contentHash(a), contentHash(b)) })
	return out
}

// endpoint is the endpoint that a pod is, nil if it has no address of the type. On a
// node that nobody knows it is none, unless it is to be one in any state.
func (p *slicePlan) endpoint(pod *corev1.Pod) (*discoveryv1.Endpoint, error) {
	s := p.service
	node, found := cached[*corev1.Node](p.m, nodesGVR, "", pod.Spec.NodeName)
	if !found && !s.Spec.PublishNotReadyAddresses {
		return nil, fmt.Errorf("skipping Pod %s for Service %s/%s: Node %s Not Found", pod.Name, s.Namespace, s.Name, pod.Spec.NodeName)
	}
	serving, terminating := ready(pod), pod.DeletionTimestamp != nil
	isReady := s.Spec.PublishNotReadyAddresses || serving && !terminating
	e := &discoveryv1.Endpoint{
		Conditions: discoveryv1.EndpointConditions{Ready: &isReady, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	for _, ip := range pod.Status.PodIPs {
		addr, err := netip.ParseAddr(ip.IP)
		if err == nil && addr.Is6() == (p.addresses == discoveryv1.AddressTypeIPv6) {
			e.Addresses = append(e.Addresses, addr.String())
		}
	}
	if len(e.Addresses) == 0 {
		return nil, nil
	}
	slices.Sort(e.Addresses)
	if pod.Spec.NodeName != "" {
		e.NodeName = &pod.Spec.NodeName
	}
	if found && node.Labels[corev1.LabelTopologyZone] != "" {
		zone := node.Labels[corev1.LabelTopologyZone]
		e.Zone = &zone
	}
	if hasHostname(pod, s) {
		e.Hostname = &pod.Spec.Hostname
	}
	return e, nil
}

// endpointKey is by what an endpoint is found again.
func endpointKey(e *discoveryv1.Endpoint) string {
	parts := append([]string{"", "", ""}, e.Addresses...)
	if e.Hostname != nil {
		parts[0] = *e.Hostname
	}
	if e.TargetRef != nil {
		parts[1], parts[2] = e.TargetRef.Namespace, e.TargetRef.Name
	}
	return strings.Join(parts, "\x00")
}

// pack fits the endpoints of a group into slices: those that have a place keep it;
// others go where something changes anyway, then into one slice that they fill best,
// and into new ones.
func (p *slicePlan) pack(g *portGroup) {
	left := map[string]*discoveryv1.Endpoint{}
	for _, e := range g.want {
		left[endpointKey(e)] = e
	}
	var changed, same []*discoveryv1.EndpointSlice
	for _, slice := range g.slices {
		switch next := p.refresh(slice, left); {
		case next == nil:
			p.drop = append(p.drop, slice)
		case next != slice:
			changed = append(changed, next)
		default:
			same = append(same, slice)
		}
	}
	slices.SortStableFunc(changed, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(len(b.Endpoints), len(a.Endpoints)) })
	for _, slice := range changed {
		p.fill(slice, left)
	}
	for len(left) > 0 {
		i := -1
		if len(left) < maxPerSlice {
			i = fullest(same, len(left))
		}
		if i < 0 {
			slice := newSlice(p.service, p.addresses, g.ports)
			p.fill(slice, left)
			p.create = append(p.create, slice)
			continue
		}
		slice := same[i].DeepCopy()
		same = slices.Delete(same, i, i+1)
		p.fill(slice, left)
		changed = append(changed, slice)
	}
	p.update = append(p.update, changed...)
}

// refresh returns a slice with those of its endpoints that are wanted, as they are
// now, and takes them out of left. It is the same slice if nothing changes, nil if none
// is left.
func (p *slicePlan) refresh(slice *discoveryv1.EndpointSlice, left map[string]*discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	keep := []discoveryv1.Endpoint{}
	changed := false
	for i := range slice.Endpoints {
		e := &slice.Endpoints[i]
		now := left[endpointKey(e)]
		if now == nil {
			changed = true
			continue
		}
		delete(left, endpointKey(e))
		changed = changed || !sameEndpoint(e, now)
		keep = append(keep, *now)
	}
	labels := sliceLabels(p.service)
	switch {
	case changed && len(keep) == 0:
		return nil
	case !changed && maps.Equal(labels, slice.Labels):
		return slice
	}
	next := slice.DeepCopy()
	next.Labels = labels
	if changed {
		next.Endpoints = keep
	}
	return next
}

func sameEndpoint(a, b *discoveryv1.Endpoint) bool {
	x, y := *a, *b
	x.Hints, y.Hints = nil, nil
	return equality.Semantic.DeepEqual(x, y)
}

// fill puts endpoints into a slice until it is full. Which of them is a matter of
// chance.
func (p *slicePlan) fill(slice *discoveryv1.EndpointSlice, left map[string]*discoveryv1.Endpoint) {
	keys := slices.Sorted(maps.Keys(left))
	for len(keys) > 0 && len(slice.Endpoints) < maxPerSlice {
		i := p.m.opts.Pick(len(keys))
		slice.Endpoints = append(slice.Endpoints, *left[keys[i]])
		delete(left, keys[i])
		keys = slices.Delete(keys, i, i+1)
	}
}

// fullest returns which slice has the least room left after n endpoints more, -1 if
// none has room for them.
func fullest(all []*discoveryv1.EndpointSlice, n int) int {
	best := -1
	for i, slice := range all {
		if room := maxPerSlice - n - len(slice.Endpoints); room >= 0 && (best < 0 || len(slice.Endpoints) > len(all[best].Endpoints)) {
			best = i
		}
	}
	return best
}

// sliceLabels are the labels of a Service, and those that say whose the slice is.
func sliceLabels(s *corev1.Service) map[string]string {
	out := maps.Clone(s.Labels)
	if out == nil {
		out = map[string]string{}
	}
	delete(out, corev1.IsHeadlessService)
	if headless(s) {
		out[corev1.IsHeadlessService] = ""
	}
	out[discoveryv1.LabelServiceName], out[discoveryv1.LabelManagedBy] = s.Name, sliceManager
	return out
}
