package controllermanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	endpointSlicesGVR = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	nodesGVR          = corev1.SchemeGroupVersion.WithResource("nodes")
	serviceKind       = corev1.SchemeGroupVersion.WithKind("Service")
)

const (
	sliceManager = "endpointslice-controller.k8s.io"

	// sliceDelay is how long the controller waits when somebody else has changed a
	// slice.
	sliceDelay = time.Second

	// sliceRetry and sliceRetryMax are the back-off of failed attempts.
	sliceRetry    = time.Second
	sliceRetryMax = 1000 * time.Second
)

// endpointSlices keeps the EndpointSlices of Services that select pods.
type endpointSlices struct {
	m        *Manager
	loop     *Loop
	events   source
	triggers triggers
	written  map[reconcile.Request]sliceGenerations // by Service
}

// sliceGenerations are the slices of a Service as the controller has written them. A
// cache that is older must not be taken for the truth.
type sliceGenerations map[types.UID]int64

// sliceDeleted is the generation of a slice that the controller has deleted.
const sliceDeleted = -1

func newEndpointSlices(m *Manager) controller {
	c := &endpointSlices{m: m, events: m.source("endpoint-slice-controller"), triggers: triggers{}, written: map[reconcile.Request]sliceGenerations{}}
	c.loop = &Loop{Name: EndpointSlices, Workers: 5, Backoff: kube.Backoff{Base: sliceRetry, Max: sliceRetryMax}, Reconcile: c.reconcile}
	return c
}

func (c *endpointSlices) loops() []*Loop { return []*Loop{c.loop} }

func (c *endpointSlices) watches(r *apiserver.Resource) bool {
	switch r.GVR() {
	case servicesGVR, podsGVR, endpointSlicesGVR, nodesGVR:
		return true
	}
	return false
}

func (c *endpointSlices) observe(r *resource, old, new apiserver.Object) {
	switch r.gvr {
	case servicesGVR:
		c.loop.queue.Add(keyOf(either(old, new)))
	case podsGVR:
		for _, s := range servicesBehind(c.m, asPod(old), asPod(new)) {
			c.loop.queue.Add(s)
		}
	case endpointSlicesGVR:
		c.observeSlice(old, new)
	}
}

// observeSlice wakes the Service of a slice that somebody else has changed.
func (c *endpointSlices) observeSlice(old, new apiserver.Object) {
	switch {
	case new == nil:
		key := serviceOf(old)
		was, known := c.written[key][old.GetUID()]
		if !managedSlice(old) || !known {
			return
		}
		delete(c.written[key], old.GetUID())
		if was != sliceDeleted {
			c.loop.queue.AddAfter(key, sliceDelay)
		}
	case old != nil && serviceOf(old) != serviceOf(new):
		c.loop.queue.AddAfter(serviceOf(new), sliceDelay)
		c.loop.queue.AddAfter(serviceOf(old), sliceDelay)
	case old != nil && managedSlice(old) != managedSlice(new), managedSlice(new) && c.foreign(new):
		c.loop.queue.AddAfter(serviceOf(new), sliceDelay)
	}
}

// foreign reports whether a slice is not as the controller has written it.
func (c *endpointSlices) foreign(o apiserver.Object) bool {
	n, known := c.written[serviceOf(o)][o.GetUID()]
	return !known || o.GetGeneration() > n
}

func managedSlice(o apiserver.Object) bool {
	return o.GetLabels()[discoveryv1.LabelManagedBy] == sliceManager
}

func serviceOf(slice apiserver.Object) reconcile.Request {
	return request(slice.GetNamespace(), slice.GetLabels()[discoveryv1.LabelServiceName])
}

func (c *endpointSlices) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s, found := cached[*corev1.Service](c.m, servicesGVR, req.Namespace, req.Name)
	if !found {
		delete(c.triggers, req)
		delete(c.written, req)
		return reconcile.Result{}, nil
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName || s.Spec.Selector == nil {
		return reconcile.Result{}, nil
	}
	var have []*discoveryv1.EndpointSlice
	for _, slice := range cachedList[*discoveryv1.EndpointSlice](c.m, endpointSlicesGVR, req.Namespace) {
		if managedSlice(slice) && serviceOf(slice) == req && slice.DeletionTimestamp == nil {
			have = append(have, slice)
		}
	}
	if c.stale(req, have) {
		return reconcile.Result{}, fmt.Errorf("slices of service %s: the cache is out of date", req)
	}
	if err := c.sync(ctx, s, have); err != nil {
		c.events.warning(s, serviceKind, "FailedToUpdateEndpointSlices", "Error updating Endpoint Slices for Service %s/%s: %v", s.Namespace, s.Name, err)
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, nil
}

// stale reports whether the cache is older than what the controller has written.
func (c *endpointSlices) stale(service reconcile.Request, have []*discoveryv1.EndpointSlice) bool {
	seen := map[types.UID]bool{}
	for _, slice := range have {
		seen[slice.UID] = true
		if n, known := c.written[service][slice.UID]; known && (n == sliceDeleted || n > slice.Generation) {
			return true
		}
	}
	for uid, n := range c.written[service] {
		if n != sliceDeleted && !seen[uid] {
			return true
		}
	}
	return false
}

// sync makes the slices of a Service what they should be, for each family of
// addresses.
func (c *endpointSlices) sync(ctx context.Context, s *corev1.Service, have []*discoveryv1.EndpointSlice) error {
	pods := selectedPods(c.m, s)
	trigger := c.triggers.last(s, pods)
	byType := map[discoveryv1.AddressType][]*discoveryv1.EndpointSlice{}
	for _, slice := range have {
		byType[slice.AddressType] = append(byType[slice.AddressType], slice)
	}
	var errs []error
	for _, t := range addressTypes(s) {
		plan := &slicePlan{m: c.m, service: s, addresses: t}
		errs = append(errs, plan.make(pods, byType[t])...)
		if err := c.carryOut(ctx, plan, trigger); err != nil {
			errs = append(errs, err)
		}
		delete(byType, t)
	}
	for _, t := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN} {
		for _, slice := range byType[t] {
			if err := c.drop(ctx, s, slice); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func addressTypes(s *corev1.Service) []discoveryv1.AddressType {
	var types []discoveryv1.AddressType
	for _, f := range s.Spec.IPFamilies {
		if f == corev1.IPv6Protocol {
			types = append(types, discoveryv1.AddressTypeIPv6)
		} else {
			types = append(types, discoveryv1.AddressTypeIPv4)
		}
	}
	if types == nil {
		types = []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4}
	}
	return types
}

// carryOut writes what has been planned. A slice that is to go is given to one that is
// to come, so that there is never a moment without.
func (c *endpointSlices) carryOut(ctx context.Context, p *slicePlan, trigger time.Time) error {
	var drop []*discoveryv1.EndpointSlice
	for _, old := range p.drop {
		if n := len(p.create); n > 0 && ownedByService(old, p.service) {
			slice := p.create[n-1]
			slice.Name = old.Name
			p.create = p.create[:n-1]
			p.update = append(p.update, slice)
			continue
		}
		drop = append(drop, old)
	}
	if p.service.DeletionTimestamp == nil {
		for _, slice := range p.create {
			slice.Annotations = annotateTrigger(slice.Annotations, trigger)
			made, err := c.m.create(ctx, endpointSlicesGVR, slice)
			if terminating(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("failed to create EndpointSlice for Service %s/%s: %w", p.service.Namespace, p.service.Name, err)
			}
			c.wrote(p.service, made)
		}
	}
	for _, slice := range p.update {
		slice.Annotations = annotateTrigger(slice.Annotations, trigger)
		name := slice.Name
		made, err := c.m.update(ctx, endpointSlicesGVR, "", slice)
		if err != nil {
			return fmt.Errorf("failed to update %s EndpointSlice for Service %s/%s: %w", name, p.service.Namespace, p.service.Name, err)
		}
		c.wrote(p.service, made)
	}
	for _, slice := range drop {
		if err := c.drop(ctx, p.service, slice); err != nil {
			return err
		}
	}
	return nil
}

func (c *endpointSlices) drop(ctx context.Context, s *corev1.Service, slice *discoveryv1.EndpointSlice) error {
	if err := c.m.delete(ctx, endpointSlicesGVR, slice.Namespace, slice.Name, nil); err != nil {
		return fmt.Errorf("failed to delete %s EndpointSlice for Service %s/%s: %w", slice.Name, s.Namespace, s.Name, err)
	}
	c.generations(s)[slice.UID] = sliceDeleted
	return nil
}

func (c *endpointSlices) wrote(s *corev1.Service, slice apiserver.Object) {
	c.generations(s)[slice.GetUID()] = slice.GetGeneration()
}

func (c *endpointSlices) generations(s *corev1.Service) sliceGenerations {
	if c.written[keyOf(s)] == nil {
		c.written[keyOf(s)] = sliceGenerations{}
	}
	return c.written[keyOf(s)]
}

func ownedByService(o apiserver.Object, s *corev1.Service) bool {
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == s.UID && ref.Kind == "Service" && ref.APIVersion == "v1" {
			return true
		}
	}
	return false
}

func newSlice(s *corev1.Service, t discoveryv1.AddressType, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, GenerateName: namePrefix(s.Name), Labels: sliceLabels(s),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, serviceKind)},
		},
		AddressType: t, Ports: ports, Endpoints: []discoveryv1.Endpoint{},
	}
}
