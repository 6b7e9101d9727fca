package encryption

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// allIsBack is L3: whatever people have deleted is there again, or something as good.
func (s *State) allIsBack() error {
	if s.never() || s.policy.Spec.ManagementState != v1alpha1.Managed {
		return nil
	}
	managed := s.history.last()
	if managed.secret == nil || managed.problem != nil || len(managed.config) == 0 {
		return errors.New("there is no managed configuration")
	}
	if s.history.revisions[s.policy.Status.LatestRevision] == nil {
		return fmt.Errorf("the Secret of revision %d, which is the latest, is gone", s.policy.Status.LatestRevision)
	}
	for _, n := range s.nodes {
		if !n.server.answers() {
			continue
		}
		on := n.server.loaded()
		if !s.history.hasRevision(on) {
			return fmt.Errorf("what the API server on %s runs is in no Secret of a revision", n.name)
		}
		for i := range on {
			if w := on[i].Write; on[i].HasWriteKey() && !contains(s.history.keys(), *w) {
				return fmt.Errorf("the API server on %s writes %s with %s, whose Secret is gone", n.name, on[i].GroupResource, keyName(*w))
			}
		}
	}
	return nil
}

// ours reports whether a key is one that controllers rotate.
func ours(k state.Key) bool { return k.Mode == state.AESCBC || k.Mode == state.AESGCM }

// interval is how long a key writes by the policy.
func (s *State) interval() time.Duration {
	if d := s.policy.Spec.Rotation.Interval; d != nil && d.Duration > 0 {
		return d.Duration
	}
	return encryption.DefaultRotationInterval
}

// leaderTime is the time by the clock of the process that leads.
func (s *State) leaderTime() (time.Time, bool) {
	p := s.leading()
	if p == nil || p.Env() == nil {
		return time.Time{}, false
	}
	return p.Env().Clock.Now(), true
}

// judgeRotation judges, for L4, why a key of ours is made.
func (s *State) judgeRotation(next state.Key) {
	keys := s.history.keys()
	if len(keys) == 0 || !ours(next) {
		return
	}
	last := keys[0]
	if strings.Contains(next.InternalReason, "external-reason-changed") && next.ExternalReason == last.ExternalReason {
		s.breaks(rotations, fmt.Errorf("%s is made for the reason %q, as was %s", keyName(next), next.ExternalReason, keyName(last)))
	}
	now, known := s.leaderTime()
	if !known || !strings.Contains(next.InternalReason, "rotation-interval-has-passed") || s.history.edited[last.ID] {
		return
	}
	// What the leader has seen of the policy may be a moment old.
	if age := now.Sub(last.Migrated.Time); s.world.Engine().Elapsed()-s.policy.asked > staleFor && age <= s.interval() {
		s.breaks(rotations, fmt.Errorf("%s is made as %s is old, which is %s, and may become %s", keyName(next), keyName(last), age, s.interval()))
	}
}

// rotatedInTime is L4: no key of ours becomes older than the policy says, and a look of
// the controllers. While they cannot look, no key is made that could not be rolled out.
func (s *State) rotatedInTime() error {
	keys := s.history.keys()
	now, known := s.leaderTime()
	elapsed := s.world.Engine().Elapsed()
	if s.cannotLook() {
		s.blind = elapsed
	}
	if len(keys) == 0 || !known || !ours(keys[0]) || s.wanted() != keys[0].Mode || elapsed-max(s.busy, s.differed, s.blind, s.leadsSince, s.policy.asked) < settled {
		return nil
	}
	if late := now.Sub(keys[0].Migrated.Time) - s.interval(); late > rotationSlack && !s.history.edited[keys[0].ID] {
		return fmt.Errorf("%s should have been followed by another %s ago", keyName(keys[0]), late.Round(time.Second))
	}
	return nil
}

// rotationSlack is the next look of Key, and the back-off of an attempt that failed.
const rotationSlack = 5 * time.Minute

// reasonIsMet is L4: the newest key is for the reason that the policy gives.
func (s *State) reasonIsMet() error {
	keys, reason := s.history.keys(), s.policy.Spec.Rotation.Reason
	if len(keys) == 0 || reason == "" || s.policy.Spec.ManagementState != v1alpha1.Managed || !ours(keys[0]) || s.wanted() != keys[0].Mode || s.history.edited[keys[0].ID] {
		return nil
	}
	if keys[0].ExternalReason != reason {
		return fmt.Errorf("the policy gives the reason %q, and the newest key, %d, is for %q", reason, keys[0].ID, keys[0].ExternalReason)
	}
	return nil
}
