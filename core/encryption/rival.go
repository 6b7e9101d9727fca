package encryption

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// RivalPause is for how long a controller leaves a condition that somebody has changed
// since it has written it. For a while there may be two leaders, one of which does not
// know yet that it is none, and sees other things than the next: they would write what
// the other has not said for as long as that lasts, and each write wakes everybody.
const RivalPause = 30 * time.Second

// said is what a controller has last written of a condition, and when.
type said struct {
	condition metav1.Condition
	at        time.Time
}

// yield takes back what out says of conditions that a rival has just changed, and lets
// the controller look again when it may say so.
func (r *reconciler) yield(policy *v1alpha1.EncryptionPolicy, out *outcome) {
	now := r.Clock.Now()
	for i := range out.conditions {
		want := &out.conditions[i]
		have := apimeta.FindStatusCondition(policy.Status.Conditions, want.Type)
		before, known := r.said[want.Type]
		if have == nil || sameWords(have, want) {
			continue
		}
		wait := RivalPause - now.Sub(before.at)
		if known && !sameWords(have, &before.condition) && wait > 0 && wait <= RivalPause { // or the clock was set back
			*want = *have
			if out.after == 0 || out.after > wait {
				out.after = wait
			}
		}
	}
}

// remember notes what was written: what out says and the policy did not.
func (r *reconciler) remember(policy *v1alpha1.EncryptionPolicy, out *outcome) {
	for i := range out.conditions {
		want := &out.conditions[i]
		if have := apimeta.FindStatusCondition(policy.Status.Conditions, want.Type); have != nil && sameWords(have, want) {
			continue
		}
		if r.said == nil {
			r.said = map[string]said{}
		}
		r.said[want.Type] = said{*want, r.Clock.Now()}
	}
}

// sameWords reports whether two conditions differ in the time of transition alone.
func sameWords(a, b *metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.ObservedGeneration == b.ObservedGeneration
}
