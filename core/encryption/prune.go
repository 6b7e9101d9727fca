package encryption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// UnusedKeysKept is how many keys that nothing uses are kept for all that.
const UnusedKeysKept = 10

// EventKeysPruned is the reason of the event that tells that keys were deleted.
const EventKeysPruned = "EncryptionKeysPruned"

// NewPruneController returns the controller that deletes key Secrets that nothing
// uses, but for the newest [UnusedKeysKept].
//
// Ours: a key is in use also if the managed configuration has it, or one that an API
// server may yet be started with; and only the very Secret is deleted that was
// looked at.
func NewPruneController(c *Component) kube.Controller {
	p := &pruneController{c}
	r := &reconciler{Component: c, name: "EncryptionPrune", degraded: v1alpha1.PruneDegraded, sync: p.sync}
	return r.controller()
}

type pruneController struct{ *Component }

func (p *pruneController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	v, err := p.look(ctx, policy)
	if err != nil {
		return err
	}
	if v == nil {
		out.after = ConvergenceRetry
		return nil
	}
	used, err := p.used(ctx, v)
	if err != nil {
		return err
	}
	unused := slices.DeleteFunc(slices.Clone(v.stored), func(s storedKey) bool { return s.err == nil && contains(used, s.key) })
	slices.SortStableFunc(unused, func(a, b storedKey) int { return cmp.Compare(b.id(), a.id()) })
	if len(unused) <= UnusedKeysKept {
		return nil
	}
	var failed []error
	deleted := 0
	for i := range unused[UnusedKeysKept:] {
		if err := p.remove(ctx, unused[UnusedKeysKept+i].secret); err != nil {
			failed = append(failed, err)
			continue
		}
		deleted++
	}
	if deleted > 0 {
		p.Recorder.Event(EventKeysPruned, fmt.Sprintf("Deleted %d encryption keys that nothing uses", deleted))
	}
	return errors.Join(failed...)
}

// used are the keys of all configurations that there are.
func (p *pruneController) used(ctx context.Context, v *view) ([]state.Key, error) {
	used := append(v.desired.ReadKeys(), v.current.ReadKeys()...)
	configs, err := p.Deployer.StartableConfigSecrets(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the configurations that API servers may be started with: %w", err)
	}
	managed, err := p.managedSecret(ctx)
	if err != nil {
		return nil, err
	}
	if managed != nil {
		configs = append(slices.Clone(configs), managed)
	}
	for _, s := range configs {
		on, err := p.Configs.Decode(s)
		if err != nil {
			return nil, err // nobody knows what it uses
		}
		used = append(used, on.ReadKeys()...)
	}
	return used, nil
}

// remove takes off the finalizer and deletes. A Secret that was left between the two
// has no finalizer, and is deleted by the next sync.
func (p *pruneController) remove(ctx context.Context, s *corev1.Secret) error {
	s = s.DeepCopy()
	name := client.ObjectKeyFromObject(s)
	if i := slices.Index(s.Finalizers, keysecret.Finalizer); i >= 0 {
		s.Finalizers = slices.Delete(s.Finalizers, i, i+1)
		err := p.Live.Update(ctx, s)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take the finalizer off Secret %s: %w", name, err)
		}
	}
	err := p.Live.Delete(ctx, s, client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Secret %s: %w", name, err)
	}
	return nil
}

func contains(keys []state.Key, k state.Key) bool { return slices.ContainsFunc(keys, k.Equal) }
