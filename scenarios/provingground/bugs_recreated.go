package provingground

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/scenarios"
)

const (
	liveDataStays = "live-data-stays"
	whyLiveData   = "What an operator has made is not deleted while the spec has wanted it ever since: it holds the data of a database that is in use."
)

// recreatedBugs are operators that clean up, in a finalizer, everything that bears the
// name of the object being deleted.
func recreatedBugs() []Bug {
	withClaims := func(b Bug) Bug {
		b.build = func(g *ground) scenarios.Check {
			return g.cleansByName(members{child: newClaim, list: claimList}, claims)
		}
		return b
	}
	all := []Bug{
		withClaims(Bug{
			ID: "zookeeper-312", Link: "https://github.com/pravega/zookeeper-operator/issues/312",
			Title: "The claims of a new cluster are deleted for an old one of the same name",
			Why: `A cluster is deleted and made again under its name. Then the operator restarts, and reaches an API server
whose watch cache still shows the first cluster with its deletionTimestamp. It runs the finalizer of the dead
cluster once more, and that lists claims by name and namespace: it deletes the claims of the new cluster.
Repair: a claim bears the UID of its cluster, and only those of the UID being deleted go.`,
		}),
		withClaims(Bug{
			ID: "percona-xtradb-716", Link: "https://jira.percona.com/browse/K8SPXC-716",
			Title: "The claims of a recreated database are deleted by a stale finalizer",
			Why: `After Sieve's reproduction notes (recreate, time travel; the claim datadir-…-pxc-0 is deleted twice): the
operator, back from a restart, sees the deletion of the database before, whose finalizer deletes claims by name.
Repair: by UID.`,
		}),
		withClaims(Bug{
			ID: "cass-operator-118", Link: "https://github.com/k8ssandra/cass-operator/issues/118",
			Title: "The claims of a recreated datacenter are deleted by a stale finalizer",
			Why: `Also K8SSAND-559, at first datastax/cass-operator 412. A stale event says that the datacenter has a deletion
timestamp; listPVCs lists claims by name and namespace instead of UID, so the claim of the datacenter that has
been made since goes. Repair, as the thread proposes: label each claim with the UID.`,
		}),
		withClaims(Bug{
			ID: "casskop-316", Link: "https://github.com/Orange-OpenSource/casskop/issues/316",
			Title: "The claims of a recreated Cassandra cluster are deleted by a stale finalizer",
			Why: `After Sieve's reproduction notes (recreate, time travel; the claim data-…-rack1-0 is deleted by a run that
should not): as zookeeper-312, in another operator that deletes claims by label.`,
		}),
		{
			ID: "rabbitmq-648", Link: "https://github.com/rabbitmq/cluster-operator/issues/648",
			Title: "The StatefulSet of a recreated cluster is deleted by a stale finalizer",
			Why: `prepareForDeletion deletes the StatefulSet by its name. The operator restarts onto an API server whose cache
stopped when the former cluster of that name was being deleted, believes that this one is, and deletes its
StatefulSet. Repair, as the thread proposes: the StatefulSet bears the UID of the cluster, which is checked first.`,
			build: func(g *ground) scenarios.Check {
				return g.cleansByName(members{child: newStatefulSet, list: statefulSetList}, statefulSets)
			},
		},
	}
	for i := range all {
		all[i].Class, all[i].Property, all[i].Meaning = "S", liveDataStays, whyLiveData
		all[i].processes = []string{operatorProcess, kubeletProcess, protectionProcess}
	}
	return all
}

// cleansByName is an operator whose finalizer goes by names unless it is repaired.
func (g *ground) cleansByName(m members, children schema.GroupVersionResource) scenarios.Check {
	m.names, m.pods, m.allowed = memberNames, true, always
	if g.fixed {
		m.allowed, m.guarded = ofThisUID, true
	}
	g.operator(m)
	g.judgeDeletions(children, func(db *Database, name string) bool { return slices.Contains(memberNames(db), name) })
	return scenarios.Check{Always: g.unbroken}
}
