package encryption

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// view is what a controller sees when all API servers run the same.
type view struct {
	// stored are the key Secrets, those without a valid key included.
	stored []storedKey

	// keys are the valid ones of them, the newest first.
	keys []state.Key

	// deployed is the Secret that API servers run; nil if they run none, in which
	// case current is nil too.
	deployed *corev1.Secret
	current  state.State

	desired state.State
	phase   state.Phase

	// grs are the resources that should be encrypted. Current and desired may have
	// more, which are about to leave.
	grs []schema.GroupResource
}

// leaves reports whether a resource should be encrypted no longer.
func (v *view) leaves(gr schema.GroupResource) bool { return !slices.Contains(v.grs, gr) }

// newest returns the Secret of the newest key; nil if there is no key.
func (v *view) newest() *storedKey {
	if len(v.keys) == 0 {
		return nil
	}
	return v.find(v.keys[0])
}

// find returns the Secret that has the very key; nil if none has.
func (v *view) find(k state.Key) *storedKey {
	for i := range v.stored {
		if s := &v.stored[i]; s.err == nil && s.key.Equal(k) {
			return s
		}
	}
	return nil
}

// storedKey is a key Secret.
type storedKey struct {
	secret *corev1.Secret
	key    state.Key
	err    error // why it holds no key
}

// id is the id that the Secret's name has, even if it holds no key; zero if none.
func (s *storedKey) id() uint64 {
	id, _ := state.ParseID(s.secret.Name)
	return id
}

// look works out what is deployed and what should be. It returns nil while API
// servers differ.
//
// Where a key is given up, API servers are ready whatever becomes of KMS plugins; so
// those of the other keys have to be known to be well, as they would be otherwise.
func (c *Component) look(ctx context.Context, policy *v1alpha1.EncryptionPolicy) (*view, error) {
	deployed, converged, err := c.Deployer.DeployedEncryptionConfigSecret(ctx)
	if errors.Is(err, ErrConfigGone) {
		var there bool
		if there, err = c.recoverable(ctx); err != nil {
			return nil, err
		}
		deployed, converged = nil, !there
	}
	if err != nil {
		return nil, fmt.Errorf("find the encryption configuration that API servers run: %w", err)
	}
	if !converged {
		return nil, nil
	}
	v := &view{}
	if deployed != nil {
		if v.current, err = c.Configs.Decode(deployed); err != nil {
			return nil, err
		}
		if v.current != nil {
			v.deployed = deployed
		}
	}
	if v.stored, err = c.storedKeys(ctx); err != nil {
		return nil, err
	}
	for i := range v.stored {
		if s := &v.stored[i]; s.err != nil {
			c.Log.Info("Passed over a key Secret", "reason", s.err.Error())
		}
	}
	given := givenUp(policy)
	v.keys = valid(v.stored)
	for i := range v.keys {
		v.keys[i].GivenUp = slices.Contains(given, v.keys[i].ID)
	}
	v.current = v.current.Enriched(v.keys).WithGivenUp(given)
	if well, err := c.othersAreWell(ctx, v.current); err != nil || !well {
		return nil, err
	}
	if v.grs = c.Provider.EncryptedGRs(); len(v.grs) == 0 {
		v.grs = v.current.Resources() // a configuration without resources is none
	}
	v.desired, v.phase = state.Desired(v.current, v.keys, v.grs)
	return v, nil
}

// recoverable reports whether the managed configuration is there: it is what API
// servers run, or the next to that, and Rollout brings it to them. If it is gone too,
// nobody knows what they run, and all has to be worked out anew from the keys.
func (c *Component) recoverable(ctx context.Context) (bool, error) {
	s, err := c.managedSecret(ctx)
	if err != nil || s == nil {
		return false, err
	}
	on, err := c.Configs.Decode(s)
	return err == nil && len(on) > 0, nil
}

func (c *Component) storedKeys(ctx context.Context) ([]storedKey, error) {
	list := &corev1.SecretList{}
	if err := c.Live.List(ctx, list, client.InNamespace(c.Namespace), c.keySelector()); err != nil {
		return nil, fmt.Errorf("list key Secrets in %s: %w", c.Namespace, err)
	}
	stored := make([]storedKey, len(list.Items))
	for i := range list.Items {
		stored[i].secret = &list.Items[i]
		stored[i].key, stored[i].err = keysecret.Decode(&list.Items[i])
	}
	return stored, nil
}

// valid returns the keys, the newest first.
func valid(stored []storedKey) []state.Key {
	var keys []state.Key
	for i := range stored {
		if stored[i].err == nil {
			keys = append(keys, stored[i].key)
		}
	}
	return state.NewestFirst(keys)
}

// highestID is the highest id that any key has or had, as far as can be seen.
func (v *view) highestID() uint64 {
	var highest uint64
	for i := range v.stored {
		highest = max(highest, v.stored[i].id())
	}
	for _, s := range []state.State{v.current, v.desired} {
		for _, k := range s.ReadKeys() {
			highest = max(highest, k.ID)
		}
	}
	return highest
}
