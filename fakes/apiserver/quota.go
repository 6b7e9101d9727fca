package apiserver

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

var quotaResource = schema.GroupResource{Resource: "resourcequotas"}

// chargeQuotas books a new object on the resource quotas of its namespace, and
// refuses it if one is exhausted. Only what a quota's status shows is enforced:
// the status is filled in, and usage taken off again, by a controller.
func (c *call) chargeQuotas(obj Object) error {
	if c.ep.Cluster || c.ep.gr == quotaResource {
		return nil
	}
	return c.book(obj, nil)
}

// book books usage, or all that the object uses if that is nil.
func (c *call) book(obj Object, usage corev1.ResourceList) error {
	table := peers{c.store}.tableOf(quotaResource)
	if table.Len() == 0 {
		return nil
	}
	ep, _ := c.store.endpoint(corev1.SchemeGroupVersion.WithResource(quotaResource.Resource))
	for {
		err := c.chargeOnce(ep, obj, usage)
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
}

func (c *call) chargeOnce(ep *endpoint, obj Object, usage corev1.ResourceList) error {
	if usage == nil {
		usage = c.ep.Usage(obj)
	}
	quotas := all[*corev1.ResourceQuota](peers{c.store}.Peers(quotaResource, c.ns))
	next := make([]*corev1.ResourceQuota, len(quotas))
	for i, q := range quotas {
		charged, over := charge(q, usage)
		if over != "" {
			return apierrors.NewForbidden(c.ep.gr, obj.GetName(), fmt.Errorf("exceeded quota: %s, %s", q.Name, over))
		}
		next[i] = charged
	}
	for i, q := range quotas {
		if next[i] == nil || c.dryRun {
			continue
		}
		if err := c.rewrite(ep, store.Key{Namespace: q.Namespace, Name: q.Name}, next[i], q); err != nil {
			return err
		}
	}
	return nil
}

// charge returns the quota with usage added, nil if it does not limit any of it,
// or what is exceeded.
func charge(q *corev1.ResourceQuota, usage corev1.ResourceList) (charged *corev1.ResourceQuota, over string) {
	var names []string
	for name := range usage {
		if _, limited := q.Status.Hard[name]; limited {
			names = append(names, string(name))
		}
	}
	if len(names) == 0 {
		return nil, ""
	}
	sort.Strings(names)
	charged = q.DeepCopy()
	if charged.Status.Used == nil {
		charged.Status.Used = corev1.ResourceList{}
	}
	var requested, used, limited []string
	for _, n := range names {
		name := corev1.ResourceName(n)
		add, was, hard := usage[name], q.Status.Used[name], q.Status.Hard[name]
		sum := was.DeepCopy()
		sum.Add(add)
		charged.Status.Used[name] = sum
		if sum.Cmp(hard) > 0 {
			requested = append(requested, n+"="+add.String())
			used = append(used, n+"="+was.String())
			limited = append(limited, n+"="+hard.String())
		}
	}
	if len(requested) > 0 {
		over = fmt.Sprintf("requested: %s, used: %s, limited: %s", strings.Join(requested, ","), strings.Join(used, ","), strings.Join(limited, ","))
	}
	return charged, over
}
