package cloak

import (
	"maps"
	"slices"

	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
)

// View is what CEL sees as cloak.
type View struct {
	Pods  []PodView  `cel:"pods"`
	Nodes []NodeView `cel:"nodes"`
	Told  []string   `cel:"told"` // the reasons of all events
}

// PodView is one workload.
type PodView struct {
	Name       string `cel:"name"`
	Running    bool   `cel:"running"`
	Refused    int    `cel:"refused"`    // creations
	Exchanges  int    `cel:"exchanges"`  // all that it has sent
	Arrived    int    `cel:"arrived"`    // with all values in place
	InARow     int    `cel:"inARow"`     // of those, the latest, since one did not or reached no server
	Withheld   int    `cel:"withheld"`   // with a placeholder left
	Unresolved int    `cel:"unresolved"` // not sent, for want of an address
	Unreached  int    `cel:"unreached"`  // not sent, since there was no server at the address
}

// NodeView is one node.
type NodeView struct {
	Name      string `cel:"name"`
	Entries   int    `cel:"entries"`  // placeholders that are swapped
	Hosts     int    `cel:"hosts"`    // with virtual IPs
	Retained  int    `cel:"retained"` // of hosts that nobody needs
	Released  int    `cel:"released"` // in quarantine
	Trusted   int    `cel:"trusted"`  // DNS servers
	Programs  int    `cel:"programs"` // attached to networks of Pods
	Connected bool   `cel:"connected"`
	Dropped   int    `cel:"dropped"` // plugins that were late
}

func view(s *State) View {
	v := View{Pods: make([]PodView, len(s.works)), Nodes: make([]NodeView, len(s.nodes)), Told: slices.Sorted(maps.Keys(s.told))}
	for i, w := range s.works {
		v.Pods[i] = PodView{
			Name: w.config.Name, Running: w.run != nil, Refused: w.refused, Exchanges: w.exchanges,
			Arrived: w.arrived, InARow: w.inARow, Withheld: w.withheld, Unresolved: w.unresolved, Unreached: w.unreached,
		}
	}
	for i, n := range s.nodes {
		is := NodeView{
			Name: n.name, Entries: len(n.kernel.Loaded()), Trusted: len(n.kernel.Trusted()), Programs: len(n.kernel.Programs()),
			Connected: n.runtime.Connected(), Dropped: n.runtime.Dropped,
		}
		for _, row := range n.kernel.Rows() {
			switch row.State {
			case virtualip.Used:
				is.Hosts++
			case virtualip.Retained:
				is.Retained++
			case virtualip.Quarantined:
				is.Released++
			}
		}
		v.Nodes[i] = is
	}
	return v
}
