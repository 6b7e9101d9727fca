package encryption

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// ReasonKeyInvalid is that of the condition [v1alpha1.KeyDegraded] while a Secret that
// should hold a key does not.
const ReasonKeyInvalid = "KeyInvalid"

// DefaultRotationInterval is how long a key writes if the policy does not say.
const DefaultRotationInterval = 7 * 24 * time.Hour

// Reasons of events.
const (
	EventKeyCreated      = "EncryptionKeyCreated"
	EventKeyCreateFailed = "EncryptionKeyCreateFailed"
)

// NewKeyController returns the controller that makes keys: when the policy asks for
// another mode, for a reason, when a key is old, or when its Secret is gone. It makes
// none before the cycle of the last is over.
//
// Ours: a key whose KMS plugin is dead for [PluginPatience] is given up, and followed by
// another before its cycle is over, if the policy wants another; see deadplugin.go. While there is a key that State has not
// taken up yet, none is made, whatever is missing. Ids are never used again, not even
// those of Secrets that hold no key or are gone; the policy's status remembers the
// highest. A Secret that holds no key is passed over, and told of in the condition.
func NewKeyController(c *Component) kube.Controller {
	k := &keyController{Component: c}
	r := &reconciler{Component: c, name: "EncryptionKey", degraded: v1alpha1.KeyDegraded, sync: k.sync}
	return r.controller()
}

type keyController struct {
	*Component
	dead deadWatch
}

var errModeUnknown = errors.New("unknown encryption type")

// mode is the mode of new keys by the policy.
func mode(policy *v1alpha1.EncryptionPolicy) (state.Mode, error) {
	switch t := policy.Spec.Type; t {
	case v1alpha1.TypeUnset:
		return state.Identity, nil
	case v1alpha1.TypeIdentity, v1alpha1.TypeAESCBC, v1alpha1.TypeAESGCM, v1alpha1.TypeKMS:
		return state.Mode(t), nil
	default:
		return "", fmt.Errorf("%w: spec.type of EncryptionPolicy %s is %q, expected identity, aescbc, aesgcm or KMS", errModeUnknown, policy.Name, t)
	}
}

func (k *keyController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	out.highestKey = policy.Status.HighestKeyID
	wanted, err := mode(policy)
	if err != nil {
		return err
	}
	v, err := k.look(ctx, policy)
	if err != nil { // which may be since a plugin is dead
		_, stuck := k.watchPlugins(ctx, policy, nil, wanted)
		return errors.Join(err, stuck)
	}
	changed, stuck := k.watchPlugins(ctx, policy, v, wanted)
	if v == nil {
		out.after = ConvergenceRetry
		if wanted == state.KMS && k.UpdatePlugins && !changed {
			return errors.Join(stuck, k.rescue(ctx, policy))
		}
	}
	if v == nil || stuck != nil || changed {
		return stuck
	}
	out.highestKey = max(out.highestKey, int64(v.highestID()))
	out.degraded = spoilt(v)
	if wanted == state.Identity && v.deployed == nil && len(v.stored) == 0 {
		return k.withdraw(ctx, policy) // encryption does not begin by accident
	}
	reason, err := k.neededFor(policy, wanted, v)
	if err != nil {
		return err
	}
	if reason == "" && wanted == state.KMS && k.UpdatePlugins {
		if busy, err := k.update(ctx, policy, v, out); err != nil || busy {
			return err
		}
	}
	if reason == "" || wanted != state.KMS {
		if err := k.withdraw(ctx, policy); err != nil {
			return err
		}
	}
	if reason == "" {
		return nil
	}
	key := state.Key{
		ID: uint64(out.highestKey) + 1, Mode: wanted,
		InternalReason: reason, ExternalReason: policy.Spec.Rotation.Reason,
	}
	if wanted == state.KMS {
		s, err := k.snapshot(ctx, policy)
		if err != nil {
			return err
		}
		approved, err := k.approved(ctx, policy, s.hash)
		if err != nil {
			return err
		}
		if !approved {
			out.after = PreflightPoll
			return nil
		}
		key.KMS = s.data
	}
	return k.create(ctx, key)
}

// spoilt is the problem of Secrets that should hold keys and do not; nil if there are
// none. They are passed over: nothing hangs on them but what they once encrypted.
func spoilt(v *view) *problem {
	var texts []string
	for i := range v.stored {
		if s := &v.stored[i]; s.err != nil {
			texts = append(texts, fmt.Sprintf("%v; restore Secret %s/%s from a backup, or delete it", s.err, s.secret.Namespace, s.secret.Name))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	slices.Sort(texts)
	return &problem{ReasonKeyInvalid, strings.Join(texts, ". ")}
}

// neededFor returns why a new key is needed; empty if none is.
func (k *keyController) neededFor(policy *v1alpha1.EncryptionPolicy, wanted state.Mode, v *view) (string, error) {
	dead := len(v.keys) > 0 && v.keys[0].GivenUp
	var reasons, short []string
	for i := range v.desired {
		r := &v.desired[i]
		if v.leaves(r.GroupResource) {
			continue
		}
		reason, err := need{wanted, policy, k.Clock.Now(), v.grs, dead, v.current, v.newest()}.newKey(r)
		if err != nil {
			return "", err
		}
		if reason == "" {
			continue
		}
		reasons = append(reasons, r.String()+"-"+reason)
		short = append(short, reason)
	}
	slices.Sort(reasons)
	if len(short) > 1 && len(slices.Compact(short)) == 1 {
		return short[0], nil
	}
	return strings.Join(reasons, ","), nil
}

// need is what the need of a new key depends on.
type need struct {
	wanted state.Mode
	policy *v1alpha1.EncryptionPolicy
	now    time.Time
	all    []schema.GroupResource
	dead   bool // the newest key is given up

	// running is what API servers run: old keys count until they run without them.
	running state.State

	// newest is the Secret of the newest key; nil if there is no key.
	newest *storedKey
}

// awaited reports whether there is a key that a resource is yet to be read with: its
// cycle has not even begun, since steps of other resources come first.
func (n need) awaited(r *state.Resource) bool {
	return n.newest != nil && (len(r.Read) == 0 || n.newest.key.ID > r.Read[0].ID)
}

// newKey returns why a resource needs a new key; empty if it does not.
func (n need) newKey(r *state.Resource) (string, error) {
	if n.awaited(r) {
		return "", nil
	}
	if len(r.Read) == 0 {
		if n.wanted == state.Identity {
			return "", nil
		}
		return "key-does-not-exist", nil
	}
	latest := &r.Read[0]
	backed := backedKeys(r)
	if on := n.running.Find(r.GroupResource); on != nil {
		backed = max(backed, backedKeys(on))
	}
	switch {
	case !latest.Backed:
		return fmt.Sprintf("encryption-config-key-%d-not-backed-by-secret", latest.ID), nil
	case backed > 2: // old keys have yet to be dropped
		return "", nil
	case n.dead:
		return reasonPluginDead, nil
	case !latest.Migrated.HasAll(n.all), latest.KEK.Pending(): // the cycle of the last is not over
		return "", nil
	case latest.Mode != n.wanted:
		return "encryption-mode-changed", nil
	case n.wanted == state.Identity:
		return "", nil
	case n.wanted == state.KMS:
		return n.newKMSKey(latest)
	case n.policy.Spec.Rotation.Reason != "" && n.policy.Spec.Rotation.Reason != latest.ExternalReason:
		return "external-reason-changed", nil
	case n.now.Sub(latest.Migrated.Time) > n.interval():
		return "rotation-interval-has-passed", nil
	default:
		return "", nil
	}
}

// backedKeys is how many of the keys that read a resource Secrets have, but for those
// that are given up.
func backedKeys(r *state.Resource) int {
	backed := 0
	for i := range r.Read {
		if r.Read[i].Backed && !r.Read[i].GivenUp {
			backed++
		}
	}
	return backed
}

// newKMSKey is newKey where the latest key is of a KMS plugin too. Who keeps the key
// rotates it; only another key there makes another one here.
func (n need) newKMSKey(latest *state.Key) (string, error) {
	before, err := identity(latest)
	switch {
	case err != nil:
		return "", err
	case n.policy.Spec.KMS == nil:
		return "", fmt.Errorf("read the KMS plugin of EncryptionPolicy %s: %w", n.policy.Name, errNoKMS)
	case before != n.policy.Spec.KMS.Identity:
		return "kms-provider-changed", nil
	default:
		return "", nil
	}
}

func (n need) interval() time.Duration {
	if d := n.policy.Spec.Rotation.Interval; d != nil && d.Duration > 0 {
		return d.Duration
	}
	return DefaultRotationInterval
}

// create makes the Secret of a key. If another leader has made it meanwhile, theirs
// is as good.
func (k *keyController) create(ctx context.Context, key state.Key) error {
	key.Material = state.NoMaterial()
	if key.Mode == state.AESCBC || key.Mode == state.AESGCM {
		b := make([]byte, state.MaterialSize)
		if _, err := io.ReadFull(k.Entropy, b); err != nil {
			return fmt.Errorf("read entropy for key %d: %w", key.ID, err)
		}
		key.Material = secret.New(b)
	}
	s, err := keysecret.Encode(key, k.Name, k.Namespace)
	if err != nil {
		return err
	}
	err = k.Live.Create(ctx, s)
	switch {
	case apierrors.IsAlreadyExists(err):
		return k.checkExisting(ctx, client.ObjectKeyFromObject(s))
	case err != nil:
		k.Recorder.Event(EventKeyCreateFailed, fmt.Sprintf("Secret %s/%s could not be created", s.Namespace, s.Name))
		return fmt.Errorf("create Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	k.Recorder.Event(EventKeyCreated, fmt.Sprintf("Created Secret %s/%s for: %s", s.Namespace, s.Name, key.InternalReason))
	return nil
}

func (k *keyController) checkExisting(ctx context.Context, name client.ObjectKey) error {
	s := &corev1.Secret{}
	if err := k.Live.Get(ctx, name, s); err != nil {
		return fmt.Errorf("get Secret %s, which exists already: %w", name, err)
	}
	_, err := keysecret.Decode(s)
	return err
}
