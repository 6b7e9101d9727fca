package encryption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// The plugin of a KMS key may die for good: whoever keeps the key has lost it, or has
// been switched off too early. An API server with a dead plugin is not ready, its health
// check being one for all plugins; so nothing would ever be rolled out again, not even
// the way out. Key therefore gives such a key up, if the policy wants another: it says
// so in the policy's status, since while objects cannot be encrypted no Secret can be
// written.
//
// Then agents let API servers be ready without plugins (see package nodeagent), and the
// controllers look after the plugins of other keys themselves. No object is written with
// the key any more, another is made in its place though its cycle is not over, and the
// key is dropped once all is rewritten with a later one. Until then it is read: if the
// plugin comes back nothing is lost, and the key is taken back.

// PluginPatience is how long the KMS plugin of a key may be dead wherever it runs before
// the key is given up, if the policy wants another.
const PluginPatience = 30 * time.Minute

// Reasons of events.
const (
	// EventKeyGivenUp tells that a key is given up: what was encrypted with it is lost,
	// unless its plugin comes back.
	EventKeyGivenUp = "EncryptionKeyGivenUp"

	// EventKeyTakenBack tells that the plugin of such a key is well again.
	EventKeyTakenBack = "EncryptionKeyTakenBack"
)

// ReasonPluginDead is that of the condition [v1alpha1.KeysGivenUp].
const ReasonPluginDead = "KMSPluginDead"

// reasonPluginDead is why a key is made in place of one that was given up.
const reasonPluginDead = "kms-plugin-dead"

var errOldPluginDead = errors.New("no key is made in its place, for the plugin of another key is not well either, and what is encrypted with both would be lost: bring one back")

// deadWatch remembers since when plugins are dead, by the ids of their keys, on the
// monotonic clock.
type deadWatch map[uint64]time.Duration

// givenUp are the ids of the keys that are given up.
func givenUp(policy *v1alpha1.EncryptionPolicy) []uint64 {
	var ids []uint64
	for _, id := range policy.Status.GivenUpKeys {
		ids = append(ids, uint64(id))
	}
	return ids
}

// watchPlugins gives up the keys whose plugins have been dead for too long, takes back
// those whose plugins are well again, and reports whether there were such. It is only
// looked at what nodes report if there may be something to see; v is nil while API
// servers differ.
func (k *keyController) watchPlugins(ctx context.Context, policy *v1alpha1.EncryptionPolicy, v *view, wanted state.Mode) (changed bool, err error) {
	if k.Reports == nil {
		return false, nil
	}
	keys, given, blind := []state.Key(nil), givenUp(policy), false
	if v != nil {
		keys = v.keys
	} else if stored, err := k.storedKeys(ctx); err == nil {
		keys = valid(stored)
	} else if blind = wanted != state.KMS; !blind {
		return false, err // the newest may be the one that is waited for
	}
	outages := k.waitedFor(policy, keys, wanted)
	if !blind && !suspicious(v, keys, outages) && len(given) == 0 {
		k.dead = nil
		return false, nil
	}
	states, err := k.Reports.NodeReports(ctx)
	if err != nil {
		return false, fmt.Errorf("read the reports of nodes: %w", err)
	}
	next, err := k.judgePlugins(states, given, outages)
	if err != nil {
		return false, err
	}
	next = slices.DeleteFunc(next, func(id uint64) bool { return v != nil && isForgotten(v, id) })
	if slices.Equal(next, given) {
		return false, nil
	}
	return true, k.giveUp(ctx, policy, given, next)
}

// waitedFor is the id of the newest key, if its plugin is the one that the policy wants:
// an outage of that is waited for. Zero stands for none.
func (k *keyController) waitedFor(policy *v1alpha1.EncryptionPolicy, keys []state.Key, wanted state.Mode) uint64 {
	if len(keys) == 0 || wanted != state.KMS || !sameIdentity(&keys[0], policy) {
		return 0
	}
	return keys[0].ID
}

// suspicious reports whether there may be a plugin that nobody waits for.
func suspicious(v *view, keys []state.Key, waitedFor uint64) bool {
	if v != nil {
		keys = append(v.current.ReadKeys(), v.desired.ReadKeys()...) // nodes may run plugins of what comes next
	}
	return slices.ContainsFunc(keys, func(k state.Key) bool { return k.Mode == state.KMS && k.ID != waitedFor })
}

// isForgotten reports whether nothing tells of a key any more.
func isForgotten(v *view, id uint64) bool {
	has := func(k state.Key) bool { return k.ID == id }
	return !slices.ContainsFunc(v.keys, has) && !slices.ContainsFunc(v.current.ReadKeys(), has)
}

// judgePlugins returns the ids of the keys that should be given up, where given are
// those that are.
func (k *keyController) judgePlugins(states []v1alpha1.EncryptionNodeState, given []uint64, waitedFor uint64) ([]uint64, error) {
	ids, now := reportedKeys(states), k.Clock.Monotonic()
	next := slices.Clone(given)
	var due []uint64
	watch := deadWatch{}
	for _, id := range ids {
		r := k.reportsOf(states, id)
		isGiven := slices.Contains(given, id)
		if r.alive() || id == waitedFor {
			next = slices.DeleteFunc(next, func(o uint64) bool { return o == id })
		}
		if isGiven || id == waitedFor || !r.dead() {
			continue
		}
		since, known := k.dead[id]
		if !known {
			since = now
		}
		watch[id] = since
		if now-since > PluginPatience {
			due = append(due, id)
		}
	}
	k.dead = watch
	for _, id := range due {
		if err := k.othersDecrypt(states, ids, next, id); err != nil {
			return nil, err
		}
		next = append(next, id)
	}
	slices.Sort(next)
	return next, nil
}

// othersDecrypt returns an error if the plugin of another key that is not given up is
// not well either, while that of id is dead.
func (k *keyController) othersDecrypt(states []v1alpha1.EncryptionNodeState, ids, given []uint64, id uint64) error {
	for _, other := range ids {
		if other == id || slices.Contains(given, other) {
			continue
		}
		if r := k.reportsOf(states, other); len(r.sick) > 0 {
			mine := k.reportsOf(states, id)
			return fmt.Errorf("the plugin of key %d is dead (%s): %w: that of key %d on %q", id, mine.why, errOldPluginDead, other, r.sick)
		}
	}
	return nil
}

// reportedKeys are the ids of the keys whose plugins nodes report of, in order.
func reportedKeys(states []v1alpha1.EncryptionNodeState) []uint64 {
	var ids []uint64
	for i := range states {
		for j := range states[i].Status.Plugins {
			if id, err := strconv.ParseUint(states[i].Status.Plugins[j].KeyID, 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// giveUp says which keys are given up, and tells people of those that were not, and of
// those that are no longer.
func (k *keyController) giveUp(ctx context.Context, policy *v1alpha1.EncryptionPolicy, before, next []uint64) error {
	ids, names := []int64{}, []string{}
	for _, id := range next {
		ids, names = append(ids, int64(id)), append(names, strconv.FormatUint(id, 10))
	}
	out := &outcome{givenUp: &ids}
	if len(next) > 0 {
		out.set(v1alpha1.KeysGivenUp, metav1.ConditionTrue, ReasonPluginDead, fmt.Sprintf(
			"Key %s: the KMS plugin is dead wherever it runs, and the policy wants another key. What is encrypted with it can be read again if the plugin comes back; the condition %s tells what that is",
			strings.Join(names, ", "), v1alpha1.ObjectsLost))
	} else {
		out.set(v1alpha1.KeysGivenUp, metav1.ConditionFalse, reasonAsExpected, "")
	}
	if err := k.applyStatus(ctx, policy, k.Name+"-"+v1alpha1.KeysGivenUp, out); err != nil {
		return err
	}
	for _, id := range next {
		if !slices.Contains(before, id) {
			k.Recorder.Event(EventKeyGivenUp, fmt.Sprintf("The KMS plugin of key %d is dead; what was encrypted with it is lost unless the plugin comes back", id))
		}
	}
	for _, id := range before {
		if !slices.Contains(next, id) {
			k.Recorder.Event(EventKeyTakenBack, fmt.Sprintf("Key %d is given up no longer", id))
		}
	}
	return nil
}

// othersAreWell reports whether the plugins of all KMS keys but those that are given up
// are well on all nodes, if any is given up of those that API servers run with.
func (c *Component) othersAreWell(ctx context.Context, current state.State) (bool, error) {
	keys := current.ReadKeys()
	if c.Reports == nil || !slices.ContainsFunc(keys, func(k state.Key) bool { return k.GivenUp }) {
		return true, nil
	}
	states, err := c.Reports.NodeReports(ctx)
	if err != nil {
		return false, fmt.Errorf("read the reports of nodes: %w", err)
	}
	for _, k := range keys {
		if k.Mode != state.KMS || k.GivenUp {
			continue
		}
		if r := c.reportsOf(states, k.ID); r.nodes == 0 || r.well < r.nodes {
			c.Log.V(1).Info("A KMS plugin is not known to be well on all nodes", "key", k.ID, "reason", r.why)
			return false, nil
		}
	}
	return true, nil
}
