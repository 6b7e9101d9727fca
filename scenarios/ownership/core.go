package ownership

import (
	"errors"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// judgeCore starts the controllers anew, so that they have to learn the garden from the API
// servers that are left. They have converged when nothing is left to collect.
func judgeCore(w *scenarios.World, s *State, _ *cluster.Core) scenarios.CoreCheck {
	return scenarios.CoreCheck{
		Begin: func() {
			for _, p := range w.ControlPlane().Processes() {
				p.Restart(0)
			}
		},
		Converged: func() error {
			return errors.Join(s.dependentsGone(), s.deletionsEnded(), s.namespacesEnded())
		},
	}
}
