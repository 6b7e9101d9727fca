package encryption

import (
	"context"
	"errors"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// Key and KMSPreflight talk by two conditions. Key says in Required which
// configuration of a plugin it wants to make a key for, by its hash; KMSPreflight
// says in Succeeded which it has tried, and how that went. Nobody else writes
// either. So a key is made only of what was tried, however often the policy changes
// meanwhile.
//
// Ours: both carry the number of the attempt as their observedGeneration. What was
// found out weeks ago, before the plugin was out of use, is no answer to an attempt
// of today.

// PreflightPoll is how long Key and KMSPreflight wait for each other, and for the
// workload.
const PreflightPoll = 30 * time.Second

// Reasons of the conditions.
const (
	ReasonRequired    = "Required"
	ReasonNotRequired = "NotRequired"
	ReasonSucceeded   = "Succeeded"
	ReasonFailed      = "Failed"
	ReasonRunning     = "Running"
)

var errPreflightFailed = errors.New("the KMS plugin failed its check; correct spec.kms or what it refers to")

// attempt is what one try of a plugin is about.
type attempt struct {
	hash   string
	number int64
}

// String returns the form in which workloads carry an attempt.
func (a attempt) String() string { return fmt.Sprintf("%s.%d", a.hash, a.number) }

// required returns the attempt that Key asks for; false if it asks for none.
func required(policy *v1alpha1.EncryptionPolicy) (attempt, bool) {
	c := apimeta.FindStatusCondition(policy.Status.Conditions, v1alpha1.KMSPreflightRequired)
	if c == nil || c.Status != metav1.ConditionTrue {
		return attempt{}, false
	}
	return attempt{c.Message, c.ObservedGeneration}, true
}

// verdict returns how an attempt went; Unknown if that is not known.
func verdict(policy *v1alpha1.EncryptionPolicy, a attempt) metav1.ConditionStatus {
	c := apimeta.FindStatusCondition(policy.Status.Conditions, v1alpha1.KMSPreflightSucceeded)
	if c == nil || c.Message != a.hash || c.ObservedGeneration != a.number {
		return metav1.ConditionUnknown
	}
	return c.Status
}

// approved reports whether the plugin with that hash has been tried with success,
// and asks for it if not.
func (k *keyController) approved(ctx context.Context, policy *v1alpha1.EncryptionPolicy, hash string) (bool, error) {
	asked, ok := required(policy)
	if !ok || asked.hash != hash {
		next := attempt{hash, 1}
		if before := apimeta.FindStatusCondition(policy.Status.Conditions, v1alpha1.KMSPreflightRequired); before != nil {
			next.number = before.ObservedGeneration + 1
		}
		return false, k.require(ctx, policy, metav1.ConditionTrue, ReasonRequired, next)
	}
	switch verdict(policy, asked) {
	case metav1.ConditionTrue:
		return true, nil
	case metav1.ConditionFalse:
		return false, errPreflightFailed
	default:
		return false, nil
	}
}

// withdraw says that no plugin needs to be tried, if it was said that one does.
func (k *keyController) withdraw(ctx context.Context, policy *v1alpha1.EncryptionPolicy) error {
	c := apimeta.FindStatusCondition(policy.Status.Conditions, v1alpha1.KMSPreflightRequired)
	if c == nil || c.Status == metav1.ConditionFalse {
		return nil
	}
	return k.require(ctx, policy, metav1.ConditionFalse, ReasonNotRequired, attempt{"", c.ObservedGeneration})
}

func (k *keyController) require(ctx context.Context, policy *v1alpha1.EncryptionPolicy, status metav1.ConditionStatus, reason string, a attempt) error {
	out := &outcome{conditions: []metav1.Condition{{
		Type: v1alpha1.KMSPreflightRequired, Status: status, Reason: reason, Message: a.hash, ObservedGeneration: a.number,
	}}}
	return k.applyStatus(ctx, policy, k.Name+"-"+v1alpha1.KMSPreflightRequired, out)
}
