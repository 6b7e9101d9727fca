package cluster

import (
	"maps"
	"slices"
)

// count remembers that a kind of fault has struck.
func (f *faults) count(kind string) {
	if f.strikes == nil {
		f.strikes = map[string]int{}
	}
	f.strikes[kind]++
}

// Struck lists the kinds of fault that have struck at least once, sorted by
// name: what a run has really been through, rather than what it was set up for.
func (c *Cluster) Struck() []string { return slices.Sorted(maps.Keys(c.faults.strikes)) }

// Strikes is how often faults of one kind have struck.
func (c *Cluster) Strikes(kind string) int { return c.faults.strikes[kind] }
