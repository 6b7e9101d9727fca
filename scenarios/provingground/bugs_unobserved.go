package provingground

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// unobservedBugs are operators whose end depends on what they have seen on the way. Where
// it cannot be said which end is right, two operators that know nothing of each other
// are told the same, and both have to end up the same.
func unobservedBugs() []Bug {
	const pathProperty = "the-end-does-not-depend-on-the-way"
	const pathMeaning = "Two databases for which users did the same end up the same: what an operator happens to see of it must not matter."
	twins := []string{"left", "right"}
	all := []Bug{
		{
			ID: "percona-xtradb-918", Link: "https://jira.percona.com/browse/K8SPXC-918",
			Title: "Which claims are left depends on which sizes the operator has seen",
			Why: `After the list of Sieve's bugs (xtradb-unobserved-1; the mechanism is inferred there): a cluster goes from 3
members to 5 and back. Claims are made for the size that is seen and never deleted, so there are 5 if the operator
was awake and 3 if it was not. Neither end is wrong as such; that it depends is. Repair: claims follow the size.`,
			Property: pathProperty, Meaning: pathMeaning, processes: append([]string{protectionProcess}, twins...),
			build: func(g *ground) scenarios.Check {
				g.protection()
				return g.twins(claims, []client.Object{newClaim(nil, "")}, claimsForSize)
			},
		},
		{
			ID: "rabbitmq-758", Link: "https://github.com/rabbitmq/cluster-operator/issues/758",
			Title: "The size depends on which sizes the operator has seen",
			Why: `Scaling down is not supported: the operator refuses it. A user asks for 3 members and, soon after, for fewer. If
the operator was slow it never saw the 3, there is nothing to refuse, and the smaller size comes about; if it was
quick, there are 3. Repair here: the size follows the last spec, whatever came before.`,
			Property: pathProperty, Meaning: pathMeaning, processes: twins,
			build: func(g *ground) scenarios.Check {
				return g.twins(statefulSets, []client.Object{&appsv1.StatefulSet{}}, refusesToShrink)
			},
		},
		{
			ID: "casskop-342", Link: "https://github.com/Orange-OpenSource/casskop/issues/342",
			Title: "A member stays because two steps down were seen as one",
			Why: `After the list of Sieve's bugs (cassandra, nodesPerRacks from 2 to 1 to 0 with the 1 unseen; the thread was not
read): more members stay than if each step had been seen. Here the operator takes one member away for each change
of the size that it notices. Repair: it goes on until there are as many as are wanted.`,
			Property: "members-follow-the-spec", Meaning: "Once all is calm there are as many members as the user wants.",
			processes: []string{operatorProcess},
			build: func(g *ground) scenarios.Check {
				g.follow(pods, nil)
				g.manage(operatorProcess, []client.Object{&corev1.Pod{}}, oneMemberPerChange)
				return scenarios.Check{Within: patience, Eventually: func() error {
					if n := g.count(pods, nil); n != 0 {
						return fmt.Errorf("members: %d, and none is wanted", n)
					}
					return nil
				}}
			},
		},
		leakedClaimBug(),
	}
	for i := range all {
		all[i].Class = "U"
	}
	return all
}

func leakedClaimBug() Bug {
	return Bug{
		ID: "instaclustr-398", Link: "https://github.com/instaclustr/cassandra-operator/issues/398",
		Title: "A claim is leaked because the end of its Pod was not seen",
		Why: `When the datacenter is scaled down, the operator deletes the claims of Pods that have a deletionTimestamp in its
cache. The Pod may be gone before it has looked: then nothing tells of the claim any more. Repair: claims are
listed, and those go that no member needs.`,
		Property: "no-claim-is-leaked", Meaning: "Once all is calm there are no claims but those of members: a leaked one costs money and holds old data for whoever gets its name.",
		processes: []string{operatorProcess, kubeletProcess, protectionProcess},
		build: func(g *ground) scenarios.Check {
			g.follow(claims, nil)
			g.kubelet()
			g.protection()
			g.manage(operatorProcess, []client.Object{&corev1.Pod{}, newClaim(nil, "")}, claimsOfDyingPods)
			return scenarios.Check{Within: patience, Eventually: func() error {
				if n := g.count(claims, nil); n != 1 {
					return fmt.Errorf("claims: %d, and there is one member", n)
				}
				return nil
			}}
		},
	}
}

// twins are two operators, each with a Database of its own name.
func (g *ground) twins(resource groupResource, made []client.Object, do func(ctx context.Context, o *op, db *Database) (time.Duration, error)) scenarios.Check {
	g.follow(resource, nil)
	size := func(name string) int {
		if set, ok := g.have(resource, name).(*appsv1.StatefulSet); ok {
			return int(*set.Spec.Replicas)
		}
		return g.count(resource, func(o apiserver.Object) bool { return o.GetLabels()[ownerLabel] == name })
	}
	for _, name := range []string{"left", "right"} {
		g.manage(name, made, func(ctx context.Context, o *op, db *Database) (time.Duration, error) {
			if db.Name != name {
				return 0, nil
			}
			return do(ctx, o, db)
		})
	}
	return scenarios.Check{Within: patience, Eventually: func() error {
		if l, r := size("left"), size("right"); l != r {
			return fmt.Errorf("left has come to %d, right to %d", l, r)
		}
		return nil
	}}
}

func claimsForSize(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	for _, name := range memberNames(db) {
		if err := o.make(ctx, called(newClaim(db, ""), db, name)); err != nil {
			return 0, err
		}
	}
	if !o.fixed {
		return 0, nil
	}
	return o.dropExtraClaims(ctx, db)
}

// dropExtraClaims deletes the claims of members that the spec does not want.
func (o *op) dropExtraClaims(ctx context.Context, db *Database) (time.Duration, error) {
	var list corev1.PersistentVolumeClaimList
	if err := o.List(ctx, &list, client.InNamespace(db.Namespace), client.MatchingLabels{ownerLabel: db.Name}); err != nil {
		return 0, err
	}
	for i := range list.Items {
		if ordinal(list.Items[i].Name) < db.Spec.Replicas {
			continue
		}
		if err := o.drop(ctx, &list.Items[i]); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func refusesToShrink(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	var set appsv1.StatefulSet
	there, err := o.find(ctx, &set, db, db.Name)
	if err != nil {
		return 0, err
	}
	size := int32(db.Spec.Replicas)
	if !there {
		fresh := called(newStatefulSet(db, "").(*appsv1.StatefulSet), db, db.Name)
		fresh.Spec.Replicas = &size
		return 0, o.make(ctx, fresh)
	}
	if size == *set.Spec.Replicas || size < *set.Spec.Replicas && !o.fixed {
		return 0, nil
	}
	set.Spec.Replicas = &size
	return 0, o.Update(ctx, &set)
}

// oneMemberPerChange keeps in the status which size it has seen last.
func oneMemberPerChange(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	var list corev1.PodList
	if err := o.List(ctx, &list, client.InNamespace(db.Namespace), client.MatchingLabels{ownerLabel: db.Name}); err != nil {
		return 0, err
	}
	changed := db.Status.Replicas != db.Spec.Replicas
	switch extra := len(list.Items) - db.Spec.Replicas; {
	case extra > 0 && (changed || o.fixed):
		if err := o.drop(ctx, &list.Items[len(list.Items)-1]); err != nil {
			return 0, err
		}
	case extra < 0:
		for _, name := range memberNames(db) {
			if err := o.make(ctx, called(shortPod(), db, name)); err != nil {
				return 0, err
			}
		}
	}
	if !changed {
		return 0, nil
	}
	return 0, o.note(ctx, db, func(s *DatabaseStatus) { s.Replicas = db.Spec.Replicas })
}

func claimsOfDyingPods(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	for _, name := range memberNames(db) {
		if err := o.make(ctx, called(newClaim(db, ""), db, name)); err != nil {
			return 0, err
		}
		if err := o.make(ctx, called(newPod(name, nil), db, name)); err != nil {
			return 0, err
		}
	}
	var list corev1.PodList
	if err := o.List(ctx, &list, client.InNamespace(db.Namespace), client.MatchingLabels{ownerLabel: db.Name}); err != nil {
		return 0, err
	}
	for i := range list.Items {
		pod := &list.Items[i]
		switch {
		case pod.DeletionTimestamp != nil:
			if err := o.drop(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}); err != nil {
				return 0, err
			}
		case ordinal(pod.Name) >= db.Spec.Replicas:
			if err := o.drop(ctx, pod); err != nil {
				return 0, err
			}
		}
	}
	if o.fixed {
		return o.dropExtraClaims(ctx, db)
	}
	return 0, nil
}
