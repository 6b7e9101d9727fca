package encryption

import (
	"context"
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// applyStatus applies what out says of the policy's status, as the given field
// manager, unless the policy says so already.
func (c *Component) applyStatus(ctx context.Context, policy *v1alpha1.EncryptionPolicy, manager string, out *outcome) error {
	now := metav1.NewTime(c.Clock.Now()).Rfc3339Copy()
	changed := out.highestKey > policy.Status.HighestKeyID || out.revision != nil && *out.revision != revisionOf(policy)
	conditions := make([]any, 0, len(out.conditions))
	for _, want := range out.conditions {
		have := apimeta.FindStatusCondition(policy.Status.Conditions, want.Type)
		want.LastTransitionTime = now
		if have != nil && have.Status == want.Status {
			want.LastTransitionTime = have.LastTransitionTime
		}
		if have == nil || *have != want {
			changed = true
		}
		form, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&want)
		if err != nil {
			return fmt.Errorf("encode the condition %s: %w", want.Type, err)
		}
		conditions = append(conditions, form)
	}
	status := map[string]any{}
	if out.instances != nil {
		forms, others, err := instancesForm(policy, out)
		if err != nil {
			return err
		}
		status["instances"], changed = forms, changed || others
	}
	if out.givenUp != nil {
		status["givenUpKeys"] = numbers(*out.givenUp)
		changed = changed || !slices.Equal(*out.givenUp, policy.Status.GivenUpKeys)
	}
	if !changed {
		return nil
	}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	if highest := max(out.highestKey, policy.Status.HighestKeyID); out.highestKey > 0 {
		status["highestKeyID"] = highest
	}
	if out.revision != nil {
		status["latestRevision"], status["minSafeRevision"] = out.revision.latest, out.revision.safe
		if f := out.fallback; f != nil {
			status["fallback"] = map[string]any{"revision": f.Revision, "of": f.Of, "withoutKeys": numbers(f.WithoutKeys)}
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("EncryptionPolicy"))
	u.SetName(policy.Name)
	err := c.Live.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply the status of EncryptionPolicy %s as %s: %w", policy.Name, manager, err)
	}
	return nil
}

// numbers returns a list in the form that it has in an unstructured object.
func numbers(ns []int64) []any {
	form := make([]any, len(ns))
	for i, n := range ns {
		form[i] = n
	}
	return form
}
