package encryption

import (
	"context"
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

// policyView is the policy as it is stored.
type policyView struct {
	*v1alpha1.EncryptionPolicy

	asked  time.Duration // when its spec changed last
	chosen time.Duration // when its resources did

	chosenBefore []v1alpha1.Resource // its resources until then
}

// managerOf is the field manager of a write.
func managerOf(r *admission.Review) string {
	switch o := r.Options.(type) {
	case *metav1.PatchOptions:
		return o.FieldManager
	case *metav1.UpdateOptions:
		return o.FieldManager
	case *metav1.CreateOptions:
		return o.FieldManager
	}
	return ""
}

// recordPolicy begins to follow the policy.
func (s *State) recordPolicy() error {
	s.policy.EncryptionPolicy = &v1alpha1.EncryptionPolicy{}
	stream, err := s.observer.OpenWatch(context.Background(), &apiserver.Request{
		Verb: apiserver.WatchVerb, Resource: v1alpha1.GroupVersion.WithResource("encryptionpolicies"),
	})
	if err != nil {
		return fmt.Errorf("watch the policy: %w", err)
	}
	stream.OnReady(func() {
		for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
			if u, isObject := ev.Object.(*unstructured.Unstructured); isObject && ev.Type != watch.Deleted {
				s.policyChanged(u)
			}
		}
	})
	return nil
}

func (s *State) policyChanged(u *unstructured.Unstructured) {
	now := &v1alpha1.EncryptionPolicy{}
	s.must(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, now))
	before := s.policy.EncryptionPolicy
	s.policy.EncryptionPolicy = now
	if now.Generation != before.Generation {
		s.policy.asked = s.world.Engine().Elapsed()
		if !slices.Equal(now.Spec.Resources, before.Spec.Resources) {
			s.policy.chosen, s.policy.chosenBefore = s.policy.asked, before.Spec.Resources
		}
	}
	if s.history.writer == controllersUser {
		s.judgeRest("the status of the policy")
	} else {
		s.disturbed()
	}
	s.judgePolicy(before, now)
	for _, c := range now.Status.Conditions {
		if was := apimeta.FindStatusCondition(before.Status.Conditions, c.Type); was == nil || *was != c {
			s.shown("the condition "+c.Type, c.Reason+": "+c.Message)
			s.tell("policy", "%s is %s, %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	s.changed()
}

// condition is a condition of the policy; an empty one if there is none.
func (s *State) condition(kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(s.policy.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}
