package encryption

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// PluginPatience is how long the KMS plugin of a key that is under way may be dead on
// all nodes before it is given up, if the policy wants another key.
const PluginPatience = 30 * time.Minute

// EventKeyGivenUp is the reason of the event that tells that a key is given up: what
// was encrypted with it is lost, unless its plugin comes back.
const EventKeyGivenUp = "EncryptionKeyGivenUp"

// reasonPluginDead is why a key is made in place of one that was given up.
const reasonPluginDead = "kms-plugin-dead"

var errOldPluginDead = errors.New("no key is made in its place, for the plugin of an older key is dead too, and what is encrypted with either would be lost: bring one back")

// deadWatch remembers since when the plugin of the newest key is dead.
type deadWatch struct {
	key   uint64
	since time.Duration // on the monotonic clock
}

// deadPlugin reports whether the newest key is of a plugin that has been dead for so
// long that the key is given up. Only a key that the policy does not want any more is:
// an outage is waited for. What was encrypted with the keys before must still be read.
func (k *keyController) deadPlugin(ctx context.Context, policy *v1alpha1.EncryptionPolicy, v *view, wanted state.Mode) (bool, error) {
	s := v.newest()
	if k.Reports == nil || s == nil || s.key.Mode != state.KMS || s.key.Migrated.HasAll(v.grs) ||
		wanted == state.KMS && sameIdentity(&s.key, policy) {
		k.dead = deadWatch{}
		return false, nil
	}
	reports, err := k.pluginReports(ctx, s.key.ID)
	if err != nil {
		return false, err
	}
	if reports.nodes == 0 || len(reports.sick) < reports.nodes {
		k.dead = deadWatch{}
		return false, nil
	}
	now := k.Clock.Monotonic()
	if k.dead.key != s.key.ID {
		k.dead = deadWatch{s.key.ID, now}
	}
	if now-k.dead.since <= PluginPatience {
		return false, nil
	}
	for _, old := range v.current.ReadKeys() {
		if old.Mode != state.KMS || old.ID == s.key.ID {
			continue
		}
		reports, err := k.pluginReports(ctx, old.ID)
		if err != nil {
			return false, err
		}
		if len(reports.sick) > 0 {
			return false, fmt.Errorf("the plugin of key %d is dead (%s): %w: that of key %d on %q", s.key.ID, reports.why, errOldPluginDead, old.ID, reports.sick)
		}
	}
	return true, nil
}
