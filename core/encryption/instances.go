package encryption

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// NewInstancesController returns the controller that says in the policy's status what
// each API server runs, by what nodes report. It is for people: nothing is decided by
// it. What has not changed is not written again, so observedAt is when something was
// first seen.
func NewInstancesController(c *Component) kube.Controller {
	i := &instancesController{c}
	r := &reconciler{Component: c, name: "EncryptionInstances", sync: i.sync}
	return r.controller()
}

type instancesController struct{ *Component }

func (i *instancesController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	if i.Reports == nil {
		return nil
	}
	states, err := i.Reports.NodeReports(ctx)
	if err != nil {
		return fmt.Errorf("read the reports of nodes: %w", err)
	}
	before := map[string]*v1alpha1.Instance{}
	for j := range policy.Status.Instances {
		before[policy.Status.Instances[j].Name] = &policy.Status.Instances[j]
	}
	now := metav1.NewTime(i.Clock.Now()).Rfc3339Copy()
	out.instances = make([]v1alpha1.Instance, len(states))
	for j := range states {
		next := instance(&states[j])
		next.ObservedAt = &now
		if was := before[next.Name]; was != nil && sameInstance(was, &next) {
			next.ObservedAt = was.ObservedAt
		}
		out.instances[j] = next
	}
	return nil
}

// instance is what a node reports of its API server.
func instance(s *v1alpha1.EncryptionNodeState) v1alpha1.Instance {
	next := v1alpha1.Instance{
		Name: s.Name, Node: s.Name, Revision: s.Status.RunningRevision,
		ConfigHash: cmp.Or(s.Status.LoadedHash, s.Status.FileHash),
	}
	for k := range s.Status.Plugins {
		if p := &s.Status.Plugins[k]; p.KEKID != "" {
			if next.KEKIDs == nil {
				next.KEKIDs = map[string]string{}
			}
			next.KEKIDs[p.KeyID] = p.KEKID
		}
	}
	return next
}

// sameInstance reports whether two differ in the time of observation alone.
func sameInstance(a, b *v1alpha1.Instance) bool {
	return a.Node == b.Node && a.Revision == b.Revision && a.ConfigHash == b.ConfigHash && maps.Equal(a.KEKIDs, b.KEKIDs)
}

// instancesForm returns what out says of instances as it is applied, and whether the
// policy says otherwise.
func instancesForm(policy *v1alpha1.EncryptionPolicy, out *outcome) (forms []any, changed bool, err error) {
	changed = len(out.instances) != len(policy.Status.Instances)
	for j := range out.instances {
		next := &out.instances[j]
		changed = changed || !seen(policy.Status.Instances, next)
		form, err := runtime.DefaultUnstructuredConverter.ToUnstructured(next)
		if err != nil {
			return nil, false, fmt.Errorf("encode the instance %s: %w", next.Name, err)
		}
		forms = append(forms, form)
	}
	return forms, changed, nil
}

// seen reports whether the very instance is among those that the policy has.
func seen(have []v1alpha1.Instance, i *v1alpha1.Instance) bool {
	return slices.ContainsFunc(have, func(o v1alpha1.Instance) bool {
		return o.Name == i.Name && sameInstance(&o, i) && o.ObservedAt.Equal(i.ObservedAt)
	})
}
