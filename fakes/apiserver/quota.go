package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

var quotaResource = schema.GroupResource{Resource: "resourcequotas"}

// chargeQuotas books a new object on the resource quotas of its namespace, and
// refuses it if one is exhausted. Only what a quota's status shows is enforced:
// the status is filled in, and usage taken off again, by a controller.
func (c *call) chargeQuotas(obj Object) error { return c.book(obj, nil) }

// chargeChange books what a changed object uses more than before.
func (c *call) chargeChange(obj, old Object) error {
	if !c.ep.Recounted(obj, old) {
		return nil
	}
	return c.book(obj, old)
}

// book books what obj uses, or uses more than old, which is nil if it is new.
func (c *call) book(obj, old Object) error {
	if c.ep.Cluster || c.ep.gr == quotaResource {
		return nil
	}
	table := peers{c.store}.tableOf(quotaResource)
	if table.Len() == 0 {
		return nil
	}
	ep, _ := c.store.endpoint(corev1.SchemeGroupVersion.WithResource(quotaResource.Resource))
	for {
		err := c.bookOnce(ep, obj, old)
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
}

func (c *call) bookOnce(ep *endpoint, obj, old Object) error {
	refuse := func(format string, args ...any) error {
		return apierrors.NewForbidden(c.ep.gr, obj.GetName(), fmt.Errorf(format, args...))
	}
	var concerned []*corev1.ResourceQuota
	for _, q := range all[*corev1.ResourceQuota](peers{c.store}.Peers(quotaResource, c.ns)) {
		limited := c.limitedBy(q)
		if len(limited) == 0 || !registry.InScope(&q.Spec, obj) {
			continue
		}
		if why := registry.Unspecified(obj, limited); why != "" {
			return refuse("failed quota: %s: %s", q.Name, why)
		}
		if slices.ContainsFunc(limited, func(name corev1.ResourceName) bool { _, ok := q.Status.Used[name]; return !ok }) {
			return refuse("status unknown for quota: %s, resources: %s", q.Name, joined(limited))
		}
		concerned = append(concerned, q)
	}
	next := make([]*corev1.ResourceQuota, len(concerned))
	for i, q := range concerned {
		usage := c.ep.Usage(obj)
		if old != nil && registry.InScope(&q.Spec, old) {
			usage = more(usage, c.ep.Usage(old))
		}
		charged, over := charge(q, usage)
		if over != "" {
			return refuse("exceeded quota: %s, %s", q.Name, over)
		}
		next[i] = charged
	}
	for i, q := range concerned {
		if next[i] == nil || c.dryRun {
			continue
		}
		if err := c.rewriteBooked(ep, next[i], q); err != nil {
			return err
		}
	}
	return nil
}

// rewriteBooked stores the status of a quota, as a request of the server's own would.
func (c *call) rewriteBooked(ep *endpoint, next, q *corev1.ResourceQuota) error {
	k := store.Key{Namespace: q.Namespace, Name: q.Name}
	_, mark, _ := ep.table.Look(k)
	mark = c.store.ledger.Note(apply.Carry(mark, q), apply.Write{Target: ep.target("status"), Name: "kube-apiserver", Live: q, Object: next, Time: c.now()})
	if c.rest.Load() != nil {
		var err error
		if mark.Sealed, err = c.seal(ep, k, next); err != nil {
			return err
		}
	}
	err := ep.table.UpdateMarked(k, next, q, mark)
	c.wrote(ep, err)
	return err
}

// limitedBy are the resources that a quota limits for objects of the kind, sorted.
func (c *call) limitedBy(q *corev1.ResourceQuota) []corev1.ResourceName {
	var out []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
		if c.ep.Counts(name) {
			out = append(out, name)
		}
	}
	return out
}

func joined(names []corev1.ResourceName) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = string(name)
	}
	return strings.Join(out, ",")
}

// more is what usage has more than before.
func more(usage, before corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(usage)) {
		d := usage[name].DeepCopy()
		d.Sub(before[name])
		if d.Sign() > 0 {
			out[name] = d
		}
	}
	return out
}

// charge returns the quota with usage added, nil if it does not limit any of it,
// or what is exceeded.
func charge(q *corev1.ResourceQuota, usage corev1.ResourceList) (charged *corev1.ResourceQuota, over string) {
	var requested, used, limited []string
	for _, name := range slices.Sorted(maps.Keys(usage)) {
		hard, ok := q.Status.Hard[name]
		add := usage[name]
		if !ok || add.Cmp(resource.Quantity{}) == 0 {
			continue
		}
		if charged == nil {
			charged = q.DeepCopy()
		}
		was := q.Status.Used[name]
		sum := was.DeepCopy()
		sum.Add(add)
		charged.Status.Used[name] = sum
		if sum.Cmp(hard) > 0 {
			requested = append(requested, string(name)+"="+add.String())
			used = append(used, string(name)+"="+was.String())
			limited = append(limited, string(name)+"="+hard.String())
		}
	}
	if len(requested) > 0 {
		over = fmt.Sprintf("requested: %s, used: %s, limited: %s", strings.Join(requested, ","), strings.Join(used, ","), strings.Join(limited, ","))
	}
	return charged, over
}
