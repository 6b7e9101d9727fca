package encryption

import (
	"time"

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
