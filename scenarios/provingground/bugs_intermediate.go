package provingground

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// intermediateBugs are operators that do not find their way on from between two writes.
func intermediateBugs() []Bug {
	all := append(certificateBugs(), teardownBug(), startingBug())
	for i := range all {
		all[i].Class, all[i].processes = "I", []string{operatorProcess}
	}
	return all
}

func certificateBugs() []Bug {
	const property = "all-certificates-exist"
	const meaning = "Once all is calm every certificate exists: a database that waits for one never starts."
	return []Bug{
		{
			ID: "percona-mongodb-578", Link: "https://jira.percona.com/browse/K8SPSMDB-578",
			Title:    "After a crash between two Secrets the second is never made",
			Property: property, Meaning: meaning,
			Why: `After the list of Sieve's bugs (mongodb-intermediate-1): the operator makes the Secret ssl and then ssl-internal,
and does both only if ssl does not exist. It crashes in between: from then on ssl exists, so all is taken to
exist. Repair: each Secret is looked for by itself.`,
			build: func(g *ground) scenarios.Check { return g.guardedByTheFirst("ssl", "ssl-internal") },
		},
		{
			ID: "percona-mongodb-579", Link: "https://jira.percona.com/browse/K8SPSMDB-579",
			Title:    "After a crash behind the issuer the certificates are never asked for",
			Property: property, Meaning: meaning,
			Why: `After the list of Sieve's bugs (mongodb-intermediate-2): as percona-mongodb-578 on the way by cert-manager. Issuer and two
certificates are made if the issuer does not exist; a crash behind it leaves the rest out for ever. (They are
Secrets here.) Repair: each is looked for by itself.`,
			build: func(g *ground) scenarios.Check { return g.guardedByTheFirst("issuer", "tls", "tls-internal") },
		},
	}
}

// guardedByTheFirst makes several Secrets if the first does not exist.
func (g *ground) guardedByTheFirst(names ...string) scenarios.Check {
	g.follow(secrets, nil)
	g.manage(operatorProcess, []client.Object{newSecret()}, func(ctx context.Context, o *op, db *Database) (time.Duration, error) {
		for i, name := range names {
			there, err := o.find(ctx, newSecret(), db, name)
			if err != nil {
				return 0, err
			}
			if there && i == 0 && !o.fixed {
				return 0, nil
			}
			if there {
				continue
			}
			if err := o.make(ctx, called(newSecret(), db, name)); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
	return scenarios.Check{Eventually: g.all(secrets, names...), Within: patience}
}

func teardownBug() Bug {
	return Bug{
		ID: "percona-xtradb-979", Link: "https://jira.percona.com/browse/K8SPXC-979",
		Title:    "A teardown that was interrupted never ends",
		Property: "deletions-end", Meaning: "Once all is calm a deleted database is gone with its parts: one that stays Terminating needs a person.",
		Why: `After the list of Sieve's bugs (xtradb-intermediate-3; the mechanism is inferred there): the finalizer takes the
StatefulSet away, then the Secret, then itself. It crashes behind the first step. When it comes back it looks the
StatefulSet up, does not find it, and gives up with that error each time. Repair: what is gone is done.`,
		build: func(g *ground) scenarios.Check {
			g.follow(databases, nil)
			g.follow(secrets, nil)
			g.manage(operatorProcess, []client.Object{&appsv1.StatefulSet{}, newSecret()}, tearDown)
			return scenarios.Check{Within: patience, Eventually: func() error {
				if left := g.count(databases, nil) + g.count(secrets, nil); left > 0 {
					return fmt.Errorf("objects left behind: %d", left)
				}
				return nil
			}}
		},
	}
}

func tearDown(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	set := newStatefulSet(db, "").(*appsv1.StatefulSet)
	if db.DeletionTimestamp == nil {
		if !slices.Contains(db.Finalizers, finalizer) {
			db.Finalizers = append(db.Finalizers, finalizer)
			return 0, o.Update(ctx, db)
		}
		if err := o.make(ctx, called(set, db, db.Name)); err != nil {
			return 0, err
		}
		return 0, o.make(ctx, called(newSecret(), db, db.Name))
	}
	err := o.live.Get(ctx, client.ObjectKeyFromObject(db), set)
	if o.fixed {
		err = client.IgnoreNotFound(err)
	}
	if err != nil {
		return 0, err
	}
	if err := o.drop(ctx, called(set, db, db.Name)); err != nil {
		return 0, err
	}
	if err := o.drop(ctx, called(newSecret(), db, db.Name)); err != nil {
		return 0, err
	}
	db.Finalizers = slices.DeleteFunc(db.Finalizers, func(f string) bool { return f == finalizer })
	return 0, client.IgnoreNotFound(o.Update(ctx, db))
}

// stateLabel says how far a member has come.
const stateLabel = "provingground.seedbed.dev/state"

func startingBug() Bug {
	return Bug{
		ID: "cass-operator-1362", Link: "https://k8ssandra.atlassian.net/browse/K8SSAND-1362",
		Title:    "A member that is marked as starting is never started",
		Property: "members-start", Meaning: "Once all is calm every member runs: a label that says Starting, and nobody who starts, is a lock without an owner.",
		Why: `After the list of Sieve's bugs (cass-intermediate-2): the operator labels a Pod Starting and then asks the
process in it to start. It crashes in between. When it comes back it sees a member that is starting and waits for
it. (The request is a write of the Pod's status here.) Repair: whoever is starting and does not run is asked again.`,
		build: func(g *ground) scenarios.Check {
			g.follow(pods, nil)
			g.manage(operatorProcess, []client.Object{&corev1.Pod{}}, startMember)
			return scenarios.Check{Within: patience, Eventually: func() error {
				if pod, _ := g.have(pods, "cass").(*corev1.Pod); pod == nil || pod.Status.Phase != corev1.PodRunning {
					return fmt.Errorf("the member does not run")
				}
				return nil
			}}
		},
	}
}

func startMember(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	var pod corev1.Pod
	there, err := o.find(ctx, &pod, db, db.Name)
	switch {
	case err != nil:
		return 0, err
	case !there:
		return 0, o.make(ctx, called(shortPod(), db, db.Name))
	case pod.Labels[stateLabel] == "Started":
		return 0, nil
	case pod.Labels[stateLabel] == "Starting" && pod.Status.Phase != corev1.PodRunning && !o.fixed:
		return recheck, nil // somebody is about to start it
	case pod.Labels[stateLabel] == "":
		pod.Labels[stateLabel] = "Starting"
		if err := o.Update(ctx, &pod); err != nil {
			return 0, err
		}
	}
	if pod.Status.Phase != corev1.PodRunning {
		pod.Status.Phase = corev1.PodRunning
		if err := o.Status().Update(ctx, &pod); err != nil {
			return 0, err
		}
	}
	pod.Labels[stateLabel] = "Started"
	return 0, o.Update(ctx, &pod)
}
