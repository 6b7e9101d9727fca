package provingground

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// staleSpecBugs are operators that take away what an old spec does not want.
func staleSpecBugs() []Bug {
	sets := func(name string) func(g *ground) scenarios.Check {
		return func(g *ground) scenarios.Check {
			m := members{child: newStatefulSet, list: statefulSetList, names: feature(name)}
			if !g.fixed {
				m.blind = func(db *Database) []string { return []string{db.Name + "-" + name} }
			}
			return g.followsSpec(m, statefulSets)
		}
	}
	all := []Bug{
		{
			ID: "zookeeper-314", Link: "https://github.com/pravega/zookeeper-operator/issues/314",
			Title: "A member that was scaled up again is deleted, with its claim",
			Why: `A cluster is scaled down and up again. One API server's watch cache has stopped in between. The operator crashes
and comes back to that one: it sees the smaller size, scales the StatefulSet down, and its finalizer deletes the
claim of the member that is back. Repair: before anything is deleted the API server itself is asked, and the
deletion is bound to the object that was seen.`,
			processes: []string{operatorProcess, kubeletProcess, protectionProcess},
			build: func(g *ground) scenarios.Check {
				return g.followsSpec(members{child: newClaim, list: claimList, names: memberNames, pods: true}, claims)
			},
		},
		{
			ID: "percona-mongodb-433", Link: "https://jira.percona.com/browse/K8SPSMDB-433",
			Title: "The config servers are deleted because sharding was off once",
			Why: `After Sieve's reproduction notes (disable and enable sharding, time travel; the StatefulSet …-cfg is deleted
twice): a restarted operator reads spec.sharding.enabled=false from a stale cache, although it is on again, and
deletes the StatefulSet of the config servers. Repair: ask the API server itself before deleting.`,
			build: sets("cfg"),
		},
		{
			ID: "percona-mongodb-438", Link: "https://jira.percona.com/browse/K8SPSMDB-438",
			Title: "The arbiter is deleted because it was off once",
			Why: `After Sieve's reproduction notes (disable and enable the arbiter, time travel; the StatefulSet …-rs0-arbiter is
deleted twice): as percona-mongodb-433, for another part.`,
			build: sets("arbiter"),
		},
	}
	for i := range all {
		all[i].Class, all[i].Property, all[i].Meaning = "S", liveDataStays, whyLiveData
		if all[i].processes == nil {
			all[i].processes = []string{operatorProcess}
		}
	}
	return all
}

// feature is what belongs to a feature that is switched on.
func feature(name string) func(*Database) []string {
	return func(db *Database) []string {
		if db.has(name) {
			return []string{db.Name + "-" + name}
		}
		return nil
	}
}

// followsSpec is an operator that deletes what the spec that it sees does not want.
func (g *ground) followsSpec(m members, children schema.GroupVersionResource) scenarios.Check {
	m.allowed = always
	if g.fixed {
		m.allowed, m.guarded = byLiveSpec, true
	}
	g.operator(m)
	g.judgeDeletions(children, func(db *Database, name string) bool { return slices.Contains(m.names(db), name) })
	return scenarios.Check{Always: g.unbroken}
}
