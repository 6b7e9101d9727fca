package encryption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// EpochAnnotation is the epoch of the leader that wrote a configuration.
const EpochAnnotation = keysecret.Domain + "/leader-epoch"

// HashAnnotation is the hash of what State has written, by which that is told from what
// somebody has edited.
const HashAnnotation = keysecret.Domain + "/config-hash"

var errLaterLeader = errors.New("a later leader has written it")

// NewStateController returns the controller that writes the managed configuration:
// what API servers should load next.
//
// Ours: it writes only over what it has seen before it looked at anything else, and
// never over what a later leader wrote; so a leader who was away for a while cannot
// bring back a configuration that cannot read what is stored. It waits until the
// policy's status remembers the ids of all keys. Keys are dropped only if no other
// configuration is on its way. Where API servers have lost their configuration and
// write as it comes, it forgets what was migrated, so that all is rewritten. A
// resource that is to be encrypted no longer stays in the configuration until it is
// decrypted, and what it was migrated to is forgotten, for it may come back. If
// nothing is to be encrypted any more, the last configuration stays.
func NewStateController(c *Component) kube.Controller {
	s := &stateController{c}
	r := &reconciler{Component: c, name: "EncryptionState", degraded: v1alpha1.StateDegraded, sync: s.sync}
	return r.controller()
}

type stateController struct{ *Component }

func (s *stateController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	stored, err := s.managedSecret(ctx)
	if err != nil {
		return err
	}
	v, err := s.look(ctx, policy)
	if err != nil {
		return err
	}
	if v == nil {
		out.after = ConvergenceRetry
		return s.reemit(ctx, stored)
	}
	if v.deployed == nil && len(v.keys) == 0 {
		return nil // Key begins
	}
	if len(v.desired) == 0 {
		return nil // API servers would refuse it
	}
	if forgot, err := s.forget(ctx, v); err != nil || forgot {
		return err
	}
	if int64(v.highestID()) > policy.Status.HighestKeyID {
		return nil // Key remembers it first, which wakes us
	}
	if v.phase == state.Pruning && !v.latest(policy) { // one of before may be loaded yet
		out.after = ConvergenceRetry
		return nil
	}
	if v.phase == state.Pruning && stored != nil {
		on, err := s.Configs.Decode(stored)
		switch _, byRevision := config.ParseRevision(v.deployed.Name); {
		case err != nil, on.Equal(v.current), on.Equal(v.desired):
		case byRevision: // it is no revision yet, so it is taken back before anything is dropped
			v.desired = v.current
		default:
			out.after = ConvergenceRetry
			return nil
		}
	}
	return s.write(ctx, stored, v)
}

// latest reports whether API servers run the last revision that was cut, if they run
// revisions.
func (v *view) latest(policy *v1alpha1.EncryptionPolicy) bool {
	if v.deployed == nil {
		return true
	}
	n, ok := config.ParseRevision(v.deployed.Name)
	return !ok || n == policy.Status.LatestRevision
}

// forget makes keys forget what is no longer so, and reports whether there was
// something; see [state.Outdated].
func (s *stateController) forget(ctx context.Context, v *view) (forgot bool, err error) {
	for i := range v.stored {
		k := &v.stored[i]
		if k.err != nil {
			continue
		}
		migrated, decrypted := state.Outdated(k.key, v.current, v.grs)
		if len(migrated) == 0 && len(decrypted) == 0 {
			continue
		}
		next := k.key
		next.Migrated.Resources = less(next.Migrated.Resources, migrated)
		next.Decrypted = less(next.Decrypted, decrypted)
		o := k.secret.DeepCopy()
		if err := errors.Join(keysecret.SetMigrated(o, next.Migrated), keysecret.SetDecrypted(o, next.Decrypted)); err != nil {
			return forgot, fmt.Errorf("forget what key %d was migrated for: %w", k.key.ID, err)
		}
		if err := s.Live.Update(ctx, o); err != nil {
			return forgot, fmt.Errorf("forget in Secret %s/%s what was migrated: %w", o.Namespace, o.Name, err)
		}
		forgot = true
	}
	return forgot, nil
}

// less returns grs without others.
func less(grs, others []schema.GroupResource) []schema.GroupResource {
	return slices.DeleteFunc(slices.Clone(grs), func(gr schema.GroupResource) bool { return slices.Contains(others, gr) })
}

// managedSecret returns the managed configuration; nil if there is none.
func (c *Component) managedSecret(ctx context.Context) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	err := c.Live.Get(ctx, c.managed(), s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", c.managed(), err)
	}
	return s, nil
}

// write brings the managed configuration to what is desired. Stored is what it was
// before anything else was read.
func (s *stateController) write(ctx context.Context, stored *corev1.Secret, v *view) error {
	want, err := s.wanted(stored, v)
	if err != nil {
		return err
	}
	changed, err := s.store(ctx, stored, want)
	if changed {
		s.tell(v.current, v.desired)
	}
	return err
}

// wanted is what the managed configuration should be. Stored is what it is.
func (c *Component) wanted(stored *corev1.Secret, v *view) (*corev1.Secret, error) {
	var on state.State
	if stored != nil {
		on, _ = c.Configs.Decode(stored) // one that cannot be decoded is written over
	}
	want, err := config.Encode(withNewestPlugins(v.desired, on), c.managed())
	if err != nil {
		return nil, fmt.Errorf("write Secret %s: %w", c.managed(), err)
	}
	want.Annotations[HashAnnotation] = config.FileHash(want.Data[config.Configuration])
	return want, nil
}

// withNewestPlugins returns s with what KMS plugins are run with in on, where that is
// of a later version: the Secret of a key may come from a backup.
func withNewestPlugins(s, on state.State) state.State {
	later := func(k *state.Key) {
		for _, there := range on.ReadKeys() {
			if k.KMS != nil && k.Equal(there) && there.KMS != nil && there.KMS.Version > k.KMS.Version {
				newer := *there.KMS
				newer.Provider = k.KMS.Provider
				k.KMS = &newer
			}
		}
	}
	s = s.Enriched(nil) // a copy
	for i := range s {
		for j := range s[i].Read {
			later(&s[i].Read[j])
		}
		if s[i].Write != nil {
			later(s[i].Write)
		}
	}
	return s
}

// store writes want over stored, and reports whether that made a difference.
func (s *stateController) store(ctx context.Context, stored, want *corev1.Secret) (changed bool, err error) {
	epoch := s.Epoch()
	want.Annotations[EpochAnnotation] = strconv.FormatInt(epoch, 10)
	if stored == nil {
		if err := s.Live.Create(ctx, want); err != nil {
			return false, fmt.Errorf("create Secret %s: %w", s.managed(), err)
		}
		return true, nil
	}
	if before, _ := strconv.ParseInt(stored.Annotations[EpochAnnotation], 10, 64); before > epoch {
		return false, fmt.Errorf("write Secret %s at epoch %d: %w, at epoch %d", s.managed(), epoch, errLaterLeader, before)
	}
	if sameConfig(stored, want) {
		return false, nil
	}
	next := stored.DeepCopy() // with its resourceVersion
	next.Data = want.Data
	next.Finalizers = want.Finalizers
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	maps.Copy(next.Annotations, want.Annotations)
	if err := s.Live.Update(ctx, next); err != nil {
		return false, fmt.Errorf("update Secret %s: %w", s.managed(), err)
	}
	return true, nil
}

// reemit brings what KMS plugins are run with up to date while API servers differ, and
// leaves what API servers load as it is, byte for byte: a plugin that does not start
// would otherwise hold up what repairs it.
func (s *stateController) reemit(ctx context.Context, stored *corev1.Secret) error {
	want, err := s.refreshed(ctx, stored)
	if err != nil || want == nil {
		return err
	}
	_, err = s.store(ctx, stored, want)
	return err
}

// refreshed is the stored configuration with what KMS plugins are run with as the
// Secrets of keys have it; nil if there is no such thing.
func (c *Component) refreshed(ctx context.Context, stored *corev1.Secret) (*corev1.Secret, error) {
	if stored == nil || !c.UpdatePlugins {
		return nil, nil
	}
	on, err := c.Configs.Decode(stored)
	if err != nil || on == nil {
		return nil, err
	}
	keys, err := c.storedKeys(ctx)
	if err != nil {
		return nil, err
	}
	want, err := config.Encode(withNewestPlugins(on.Enriched(valid(keys)), on), c.managed())
	if err != nil {
		return nil, fmt.Errorf("write Secret %s: %w", c.managed(), err)
	}
	want.Data[config.Configuration] = stored.Data[config.Configuration]
	want.Annotations[HashAnnotation] = stored.Annotations[HashAnnotation]
	return want, nil
}

// sameConfig reports whether two Secrets hold the same. A higher epoch alone is no
// reason to write.
func sameConfig(a, b *corev1.Secret) bool {
	return reflect.DeepEqual(a.Data, b.Data) && reflect.DeepEqual(a.Finalizers, b.Finalizers) &&
		a.Annotations[keysecret.Description] == b.Annotations[keysecret.Description] && a.Annotations[HashAnnotation] == b.Annotations[HashAnnotation]
}
