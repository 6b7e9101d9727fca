package encryption

import (
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// syncs are those of a controller.
type syncs struct {
	second time.Duration // that count and failed are of
	count  int
	failed int

	hour    time.Duration // that resting is of
	resting int           // of them, while there was nothing to do
}

// Most syncs of a controller within a second. The pauses after failures begin at five
// milliseconds and double; events of a whole rollout may come at once.
const (
	failuresMax = 20
	syncsMax    = 400
)

// reconciled counts a reconcile.
func (s *State) reconciled(name string, err error) {
	c := s.syncs[name]
	if c == nil {
		c = &syncs{}
		s.syncs[name] = c
	}
	now := s.world.Engine().Elapsed()
	if second := now.Truncate(time.Second); second != c.second {
		c.second, c.count, c.failed = second, 0, 0
	}
	s.restingSync(name, c, now)
	c.count++
	if err != nil {
		c.failed++
	}
	if c.failed > failuresMax || c.count > syncsMax {
		s.breaks(quiet, fmt.Errorf("%s has run %d times within a second, and failed %d times", name, c.count, c.failed))
	}
}

// restingSyncs is how often a controller may look within an hour in which nothing
// happens: once a minute.
const restingSyncs = 61

// restingSync counts what a controller does while there is nothing to do.
func (s *State) restingSync(name string, c *syncs, now time.Duration) {
	switch {
	case !s.watchesRest, now-s.busy <= restful:
		c.hour, c.resting = now, 0
		return
	case now-c.hour >= time.Hour:
		c.hour, c.resting = now, 0
	}
	if c.resting++; c.resting > restingSyncs {
		s.breaks(quiet, fmt.Errorf("%s has looked %d times within %s, in which there was nothing to do", name, c.resting, (now-c.hour).Round(time.Second)))
	}
}

// restful is how long all must have been done before nothing may be written.
const restful = 20 * time.Minute

// rest notes until when there was something to do.
func (s *State) rest() error {
	// Who waits for a plugin looks after it all the time.
	if len(s.kms.faults) > 0 && s.usesKMS() || s.policyIsMet() != nil || s.policy.Spec.Type == v1alpha1.TypeKMS || s.policy.Spec.ManagementState != v1alpha1.Managed {
		s.disturbed()
	}
	return nil
}

// usesKMS reports whether some API server needs KMS plugins.
func (s *State) usesKMS() bool {
	return slices.ContainsFunc(s.nodes, func(n *node) bool { return n.server.usesKMS() })
}

// disturbed notes that there is something to do.
func (s *State) disturbed() { s.busy = s.world.Engine().Elapsed() }

// judgeRest judges a write of the controllers, which they should not make while there
// is nothing to do. What is what they write.
func (s *State) judgeRest(what string) {
	if s.watchesRest && s.world.Engine().Elapsed()-s.busy > restful {
		s.breaks(quiet, fmt.Errorf("%s is written, and everything had been done for %s", what, s.world.Engine().Elapsed()-s.busy))
	}
}

// leads notes that a leadership begins.
func (s *State) leads(env *cluster.Env, epoch int64) {
	s.count.leaders++
	s.leader, s.leaderStart, s.leadsSince = env.Process, env.Incarnation, s.world.Engine().Elapsed()
	s.disturbed()
	env.Event("leads", "", uint64(epoch), "leads the controllers from now on")
}

// judgeEncrypted judges what the condition Encrypted says, once what the policy asks
// for is known to everybody.
func (s *State) judgeEncrypted() error {
	now := s.world.Engine().Elapsed()
	if s.cannotLook() {
		s.blind = now
	}
	if s.condition(v1alpha1.Encrypted).Status != "True" || now-max(s.policy.asked, s.differed, s.blind) < settled {
		return nil
	}
	for _, r := range s.policy.Spec.Resources {
		gr := groupResource(r)
		for _, n := range s.nodes {
			if n.server.answers() && s.inventories[gr] != nil && !writer(find(n.server.loaded(), gr)).Exists() {
				return fmt.Errorf("the API server on %s writes %s as it comes", n.name, gr)
			}
		}
		for _, o := range s.stored(gr) {
			if o.plain() {
				return fmt.Errorf("%s is %s", s.example(gr, o), o.how())
			}
		}
	}
	return nil
}

// cannotLook reports whether the condition stays as it is, whatever is so: while API
// servers differ, while reading goes wrong, and while nobody is to do anything. That an
// API server is not ready is no excuse for ever: dead-plugins-are-left-behind ends it.
func (s *State) cannotLook() bool {
	if s.policy.Spec.ManagementState != v1alpha1.Managed {
		return true
	}
	if c := s.condition(v1alpha1.StateDegraded); c.Status == "True" && c.Reason == "Error" {
		return true
	}
	for _, n := range s.nodes {
		if !n.ready || n.draining || !n.server.answers() || n.server.revision != s.nodes[0].server.revision {
			return true
		}
	}
	return false
}

// settled is how long nothing may have changed before the condition Encrypted must be
// right: the next look of the controllers, be it that their leader has to be replaced.
const settled = 10 * time.Minute
