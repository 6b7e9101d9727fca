package gossipkeys

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// coreTime is how long the agents of a core may take to find each other: a start, two
// rounds of joins with peers that do not answer, and what is on its way meanwhile.
const coreTime = 4 * time.Minute

// judgeCore gives the agents of a core something to do: some of them, or all, start anew
// among peers that are gone. It has converged when they hold what the Secret holds and list
// each other; whether they still list those outside is up to them.
func judgeCore(w *scenarios.World, s *State, core *cluster.Core) scenarios.CoreCheck {
	return scenarios.CoreCheck{
		Begin: func() {
			draw := w.Engine().Stream("core", "agents")
			all := draw.Intn(2) > 0
			for _, n := range core.Nodes {
				if all || draw.Intn(2) > 0 {
					w.Cluster.Process(n.Name() + "/agent").Restart(0)
				}
			}
		},
		Converged: func() error { return s.coreConverged(core) },
	}
}

func (s *State) coreConverged(core *cluster.Core) error {
	last := s.history.last()
	provided := slices.ContainsFunc(core.Nodes, func(n *cluster.Node) bool {
		return slices.ContainsFunc(n.Processes(), func(p *cluster.Process) bool { return strings.Contains(p.Name(), "/controller-") })
	})
	switch {
	case provided && (!last.exists || len(last.data) == 0):
		return errors.New("there is no key in the Secret")
	case last.keys == nil:
		return nil // nobody can know the keys
	}
	for _, node := range core.Nodes {
		n := s.byName[node.Name()]
		switch {
		case !n.up():
			return fmt.Errorf("%s is not in the gossip cluster", n.name)
		case !n.delivered.Equal(last.keys):
			return fmt.Errorf("%s was last delivered %v, but the Secret holds %v", n.name, s.ledger.namesOf(n.delivered), s.ledger.namesOf(last.keys))
		}
		members := n.agent.Members()
		for _, peer := range core.Nodes {
			if !slices.Contains(members, peer.Name()) {
				return fmt.Errorf("%s does not list %s, but %v", n.name, peer.Name(), members)
			}
		}
	}
	return nil
}
