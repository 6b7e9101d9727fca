package encryption

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// While Secrets are to be encrypted with a key whose plugin is dead, no Secret can be
// written: no key, and no configuration that would do without the dead one. So when such
// a key is given up, the way back does not need one. Rollout says in the policy's status
// that the next revision is the latest without that key, and nodes make it of the copies
// that they have on their disks, each the same. Once an API server runs it, Secrets can be
// written, and agents bring its Secret back as they do with any that is gone.

// EventFallback is the reason of the event that tells that nodes make a revision.
const EventFallback = "EncryptionFallback"

// fallBack announces such a revision if one is needed, and reports whether there is one
// that has no Secret yet: until it has, no other may follow.
func (o *rolloutController) fallBack(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) (pending bool, err error) {
	latest, given := policy.Status.LatestRevision, policy.Status.GivenUpKeys
	announced := policy.Status.Fallback != nil && policy.Status.Fallback.Revision == latest
	if latest == 0 || !announced && len(given) == 0 {
		return false, nil
	}
	cfg := &corev1.Secret{}
	name := client.ObjectKey{Namespace: o.Namespace, Name: config.RevisionName(latest)}
	err = o.Live.Get(ctx, name, cfg)
	switch {
	case apierrors.IsNotFound(err):
		out.after = ConvergenceRetry
		return announced, nil
	case err != nil && announced:
		return true, fmt.Errorf("get Secret %s: %w", name, err)
	case err != nil: // it may be what nobody can read any more; if not, what follows is the same
		o.Log.Info("The latest revision cannot be read, and nodes make another of it", "revision", latest, "reason", err.Error())
	default:
		on, err := o.Configs.Decode(cfg)
		if err != nil {
			return false, err
		}
		if _, falls := on.WithGivenUp(givenUp(policy)).FallBack(); !falls {
			return false, nil
		}
	}
	out.revision.latest = latest + 1
	out.fallback = &v1alpha1.Fallback{Revision: latest + 1, Of: latest, WithoutKeys: given}
	o.Recorder.Event(EventFallback, fmt.Sprintf("Revision %d writes with a key that is given up; nodes make revision %d of it, which does not", latest, latest+1))
	return true, nil
}
