package sim

import "github.com/seedbed-sim/seedbed/sim/cluster"

// Calm, Stormy, Swarm and Races are the presets of package sim/cluster.
var (
	Calm   = cluster.Calm
	Stormy = cluster.Stormy
	Swarm  = cluster.Swarm
	Races  = cluster.Races
)
