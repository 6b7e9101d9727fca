package encryption

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// syncs are those of a controller.
type syncs struct {
	count int
	last  time.Duration
	short int // in a row that followed another at once
}

// reconciled counts a reconcile.
func (s *State) reconciled(name string, _ error) {
	c := s.syncs[name]
	if c == nil {
		c = &syncs{}
		s.syncs[name] = c
	}
	c.count++
	c.last = s.world.Engine().Elapsed()
}

// leads notes that a leadership begins.
func (s *State) leads(env *cluster.Env, epoch int64) {
	s.count.leaders++
	s.leader = env.Process
	env.Event("leads", "", uint64(epoch), "leads the controllers from now on")
}

func (s *State) judgePolicy(_, _ *v1alpha1.EncryptionPolicy) {}

func (s *State) learnConfig(*corev1.Secret) {}
func (s *State) shown(string, string)       {}

// learnKey notes what an id stands for, when it is first seen.
func (s *State) learnKey(secret *corev1.Secret) {
	now := s.history.decoded(secret)
	if now == nil {
		return
	}
	if !s.history.identity[now.ID].Exists() {
		s.history.identity[now.ID] = *now
	}
}
