package controllermanager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var quotasGVR = corev1.SchemeGroupVersion.WithResource("resourcequotas")

// quotas keeps the status of resource quotas: what is allowed, and what is used.
type quotas struct {
	m    *Manager
	loop *Loop
}

// quotaResync is how often usage is counted anew although nothing was seen to
// change.
const quotaResync = 5 * time.Minute

func newQuotas(m *Manager) controller {
	c := &quotas{m: m}
	c.loop = &Loop{Name: ResourceQuotas, Workers: 5, Reconcile: c.reconcile}
	return c
}

func (c *quotas) loops() []*Loop { return []*Loop{c.loop} }

func (c *quotas) watches(r *apiserver.Resource) bool { return r.Namespaced && r.Plural != "events" }

func (c *quotas) observe(r *resource, old, new apiserver.Object) {
	switch {
	case r.gvr == quotasGVR:
		if new == nil {
			return
		}
		q := new.(*corev1.ResourceQuota)
		if old == nil || !equality.Semantic.DeepEqual(old.(*corev1.ResourceQuota).Spec.Hard, q.Spec.Hard) {
			c.loop.add(q.Namespace, q.Name)
		}
	case old != nil && (new == nil || c.frees(r, old, new)):
		for _, q := range c.m.opts.Cache.List(quotasGVR, old.GetNamespace()) {
			c.loop.add(q.GetNamespace(), q.GetName())
		}
	}
}

// frees reports whether an update may have changed what the object uses.
func (c *quotas) frees(r *resource, old, new apiserver.Object) bool {
	switch r.gvr {
	case podsGVR:
		return !finished(old.(*corev1.Pod)) && finished(new.(*corev1.Pod))
	case servicesGVR, claimsGVR:
		return !equality.Semantic.DeepEqual(c.m.opts.Usage(r.gvr, old), c.m.opts.Usage(r.gvr, new))
	}
	return false
}

func (c *quotas) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	q, found := cached[*corev1.ResourceQuota](c.m, quotasGVR, req.Namespace, req.Name)
	if !found {
		return reconcile.Result{}, nil
	}
	status := corev1.ResourceQuotaStatus{Hard: q.Spec.Hard.DeepCopy(), Used: c.used(q)}
	if !equality.Semantic.DeepEqual(status, q.Status) {
		next := q.DeepCopy()
		next.Status = status
		if _, err := c.m.update(ctx, quotasGVR, "status", next); err != nil {
			return reconcile.Result{}, fmt.Errorf("update status of quota %s/%s: %w", q.Namespace, q.Name, err)
		}
	}
	return reconcile.Result{RequeueAfter: quotaResync}, nil
}

// used counts what the objects of the quota's namespace use of what it limits. What
// nobody can count keeps its value.
func (c *quotas) used(q *corev1.ResourceQuota) corev1.ResourceList {
	used := corev1.ResourceList{}
	for name := range q.Spec.Hard {
		if was, ok := q.Status.Used[name]; ok {
			used[name] = was
		}
	}
	for _, r := range c.m.sorted {
		if r.watched && c.watches(&r.Resource) {
			c.count(r, q, used)
		}
	}
	return used
}

// count adds to used what the objects of one resource count.
func (c *quotas) count(r *resource, q *corev1.ResourceQuota, used corev1.ResourceList) {
	names := slices.Sorted(maps.Keys(q.Spec.Hard))
	names = slices.DeleteFunc(names, func(name corev1.ResourceName) bool { return !measures(r, name) })
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		used[name] = resource0
	}
	for _, o := range c.m.opts.Cache.List(r.gvr, q.Namespace) {
		usage := c.m.opts.Usage(r.gvr, o)
		if p, ok := o.(*corev1.Pod); ok && c.ended(p) {
			usage = corev1.ResourceList{countPods: usage[countPods]}
		}
		for _, name := range names {
			if n, counts := usage[name]; counts {
				sum := used[name].DeepCopy()
				sum.Add(n)
				used[name] = sum
			}
		}
	}
}

const countPods corev1.ResourceName = "count/pods"

// ended reports whether a pod uses nothing any more.
func (c *quotas) ended(p *corev1.Pod) bool {
	if finished(p) {
		return true
	}
	if p.DeletionTimestamp == nil || p.DeletionGracePeriodSeconds == nil {
		return false
	}
	grace := time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
	return c.m.opts.Clock.Now().After(p.DeletionTimestamp.Add(grace))
}

var resource0 = *apiresource.NewQuantity(0, apiresource.DecimalSI)

// measures reports whether objects of a resource count for what a quota limits.
func measures(r *resource, name corev1.ResourceName) bool {
	text := string(name)
	if text == "count/"+r.gvr.GroupResource().String() || r.Group == "" && text == r.Plural {
		return true
	}
	switch r.gvr {
	case podsGVR:
		return name == corev1.ResourceCPU || name == corev1.ResourceMemory || strings.HasPrefix(text, "limits.") ||
			strings.HasPrefix(text, "requests.") && name != corev1.ResourceRequestsStorage
	case servicesGVR:
		return name == corev1.ResourceServicesNodePorts || name == corev1.ResourceServicesLoadBalancers
	case claimsGVR:
		return name == corev1.ResourceRequestsStorage
	}
	return false
}

var (
	servicesGVR = corev1.SchemeGroupVersion.WithResource("services")
	claimsGVR   = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
)
