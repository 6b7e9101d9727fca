package encryption

import (
	"context"
	"fmt"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// How a KMS plugin is run, and what it refers to, may change without a new key. The
// change goes into the Secret of the key, and from there with the next configuration
// to the nodes; see Component.UpdatePlugins. Each has a version, which only grows.
//
// While no key is under way, the changed plugin is tried before, like one that a key
// is to be made for. While one is, nothing is tried, and changes wait; but not if the
// very plugin keeps API servers from running the configuration. Then a wrong image or
// a credential that has expired would hold up what repairs it.

// EventPluginUpdated is the reason of the event that tells that the plugin of a key
// is run differently.
const EventPluginUpdated = "EncryptionKMSPluginUpdated"

// update brings the plugin of the newest key to what the policy says, while no key is
// under way, and reports whether there is something to do yet.
func (k *keyController) update(ctx context.Context, policy *v1alpha1.EncryptionPolicy, v *view, out *outcome) (busy bool, err error) {
	s := v.newest()
	if v.phase != state.Settled || s == nil || s.key.KEK.Pending() || !sameIdentity(&s.key, policy) {
		return false, nil
	}
	snap, err := k.snapshot(ctx, policy)
	if err != nil {
		return true, err
	}
	if snap.data.Equal(s.key.KMS) {
		return false, nil
	}
	approved, err := k.approved(ctx, policy, snap.hash)
	if err != nil {
		return true, err
	}
	if !approved {
		out.after = PreflightPoll
		return true, nil
	}
	return true, k.replace(ctx, s, *snap.data)
}

// rescue brings the plugin of the newest key to what the policy says, if it is that
// plugin which keeps API servers from running the same. How API servers use it stays,
// for that is part of what they run.
func (k *keyController) rescue(ctx context.Context, policy *v1alpha1.EncryptionPolicy) error {
	if k.Reports == nil {
		return nil
	}
	stored, err := k.storedKeys(ctx)
	if err != nil {
		return err
	}
	s := (&view{stored: stored, keys: valid(stored)}).newest()
	if s == nil || !sameIdentity(&s.key, policy) {
		return nil
	}
	reports, err := k.pluginReports(ctx, s.key.ID)
	if err != nil || len(reports.sick) == 0 {
		return err
	}
	snap, err := k.snapshot(ctx, policy)
	if err != nil {
		return err
	}
	next := *snap.data
	next.Provider = s.key.KMS.Provider
	if next.Equal(s.key.KMS) {
		return nil
	}
	return k.replace(ctx, s, next)
}

// sameIdentity reports whether a key is for the plugin that the policy wants.
func sameIdentity(key *state.Key, policy *v1alpha1.EncryptionPolicy) bool {
	if key.Mode != state.KMS || policy.Spec.KMS == nil {
		return false
	}
	theirs, err := identity(key)
	return err == nil && theirs == policy.Spec.KMS.Identity
}

// replace writes what a plugin is to be run with into the Secret of its key, if nobody
// else has written that since it was looked at.
func (k *keyController) replace(ctx context.Context, s *storedKey, next state.KMSData) error {
	next.Version = s.key.KMS.Version + 1
	o := s.secret.DeepCopy()
	keysecret.SetKMS(o, &next)
	if err := k.Live.Update(ctx, o); err != nil {
		return fmt.Errorf("change the KMS plugin in Secret %s/%s: %w", o.Namespace, o.Name, err)
	}
	k.Recorder.Event(EventPluginUpdated, fmt.Sprintf("The KMS plugin of key %d is run differently", s.key.ID))
	return nil
}
