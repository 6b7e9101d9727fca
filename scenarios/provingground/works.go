package provingground

import (
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// worksProperty is demanded of repaired controllers besides the property of their bug:
// one that does nothing any more violates nothing else. The mutants in survivors.txt are
// what it is measured by.
const (
	worksProperty = "the-work-is-done"
	whyItWorks    = "Once all is calm the repaired controller has done all of its work and nothing else: a repair that stops the work repairs nothing."
)

// work says for each bug what that is, by its ID. Where it is not said, the property of the
// bug asks for all that there is to do, or nothing of it can be seen from outside.
var work = map[string]func(g *ground){
	"zookeeper-312":      func(g *ground) { g.worksAs(claims, memberNames); g.worksAs(pods, memberNames) },
	"percona-xtradb-716": func(g *ground) { g.worksAs(claims, memberNames); g.worksAs(pods, memberNames) },
	"cass-operator-118":  func(g *ground) { g.worksAs(claims, memberNames); g.worksAs(pods, memberNames) },
	"casskop-316":        func(g *ground) { g.worksAs(claims, memberNames); g.worksAs(pods, memberNames) },
	// A member that comes back while its claim goes keeps the claim from going: not its bug.
	"zookeeper-314":       func(g *ground) { g.worksAs(pods, memberNames) },
	"rabbitmq-648":        func(g *ground) { g.worksAs(statefulSets, memberNames); g.worksAs(pods, memberNames) },
	"percona-mongodb-433": func(g *ground) { g.worksAs(statefulSets, feature("cfg")); g.worksAs(pods, nobody) },
	"percona-mongodb-438": func(g *ground) { g.worksAs(statefulSets, feature("arbiter")); g.worksAs(pods, nobody) },
	"percona-xtradb-979":  func(g *ground) { g.worksAs(statefulSets, nobody) },

	"cass-operator-1362": (*ground).startedIsTold,
	"casskop-370":        func(g *ground) { g.worksAs(claims, memberNames); g.worksAs(pods, memberNames) },
	"nifikop-49":         (*ground).configured,
	"percona-xtradb-918": func(g *ground) { g.worksAs(claims, memberNames) },
	"rabbitmq-758":       (*ground).sized,
	"instaclustr-398":    func(g *ground) { g.worksAs(claims, memberNames); g.worksAs(pods, memberNames) },

	"grove-122":            (*ground).enough,
	"kubernetes-129795":    (*ground).enough,
	"cluster-api-13649":    func(g *ground) { g.madeFor(configMaps, false) },
	"argo-workflows-13986": func(g *ground) { g.madeFor(pods, true) },
	"kubernetes-105200":    (*ground).allCounted,
	"cilium-19877":         (*ground).identified,
	"cdi-1408":             (*ground).locked,
	"external-dns-2858":    (*ground).recorded,
	"kubernetes-59848":     (*ground).runsAll,
	"kubernetes-37447":     (*ground).jobsAreDone,
	"reloader-166":         func(g *ground) { g.works(g.runTheirSecrets) },
	"rabbitmq-653":         (*ground).roomy,
	"kubernetes-115297":    (*ground).attached,
	"cloudnative-pg-10403": (*ground).failedOver,
	"kubernetes-23731":     (*ground).led,
	"cilium-16561":         (*ground).loaded,
}

func nobody(*Database) []string { return nil }

// works adds what a repaired controller must have done in the end, to be judged by what
// g knows of the resources.
func (g *ground) works(done func() error, resources ...groupResource) {
	for _, r := range resources {
		if !g.follows[r] {
			g.follow(r, nil)
		}
	}
	g.done = append(g.done, done)
}

func (g *ground) workCheck() scenarios.Check {
	if len(g.done) == 0 {
		return scenarios.Check{}
	}
	return scenarios.Check{Within: patience, Eventually: func() error {
		for _, done := range g.done {
			if err := done(); err != nil {
				return err
			}
		}
		return nil
	}}
}

// each are the objects of a resource, in order.
func (g *ground) each(resource groupResource) []apiserver.Object {
	var all []apiserver.Object
	g.count(resource, func(o apiserver.Object) bool { all = append(all, o); return true })
	return all
}

// worksFor is works for each Database that is not being deleted; one that is must be gone.
func (g *ground) worksFor(done func(db *Database) error, resources ...groupResource) {
	g.works(func() error {
		for _, o := range g.each(databases) {
			db := g.database(o)
			if db.DeletionTimestamp != nil {
				return fmt.Errorf("%s is deleted and not gone", db.Name)
			}
			if err := done(db); err != nil {
				return fmt.Errorf("%s: %w", db.Name, err)
			}
		}
		return nil
	}, append(resources, databases)...)
}

// worksAs demands that there are just those objects of a resource that Databases want.
func (g *ground) worksAs(resource groupResource, names func(db *Database) []string) {
	g.works(func() error {
		wanted := map[string]bool{}
		for _, o := range g.each(databases) {
			for _, name := range names(g.database(o)) {
				wanted[name] = true
			}
		}
		for _, o := range g.each(resource) {
			if !wanted[o.GetName()] || o.GetDeletionTimestamp() != nil {
				return fmt.Errorf("nobody wants %s %s, or it is being deleted", resource.Resource, o.GetName())
			}
			delete(wanted, o.GetName())
		}
		if len(wanted) > 0 {
			return fmt.Errorf("%d %s are missing", len(wanted), resource.Resource)
		}
		return nil
	}, databases, resource)
	g.worksFor(func(*Database) error { return nil })
}

// startedIsTold: the operator remembers which member it has started.
func (g *ground) startedIsTold() {
	g.works(func() error {
		if pod := g.have(pods, "cass"); pod == nil || pod.GetLabels()[stateLabel] != "Started" {
			return errors.New("the member is not marked as started")
		}
		return nil
	}, pods)
}

// configured: what the ConfigMap says is what the user wants.
func (g *ground) configured() {
	g.worksFor(func(db *Database) error {
		if o, _ := g.have(configMaps, db.Name).(*corev1.ConfigMap); o == nil || o.Data["config"] != db.Spec.Config {
			return errors.New("its ConfigMap does not say what is wanted")
		}
		return nil
	}, configMaps)
}

// sized: the StatefulSet has as many replicas as the user wants.
func (g *ground) sized() {
	g.worksFor(func(db *Database) error {
		if set, _ := g.have(statefulSets, db.Name).(*appsv1.StatefulSet); set == nil || int(*set.Spec.Replicas) != db.Spec.Replicas {
			return errors.New("its StatefulSet has another size")
		}
		return nil
	}, statefulSets)
}

// enough: there are at least as many Pods as the user wants.
func (g *ground) enough() {
	g.worksFor(func(db *Database) error {
		n := g.count(pods, func(o apiserver.Object) bool { return o.GetDeletionTimestamp() == nil })
		if n < db.Spec.Replicas {
			return fmt.Errorf("only %d pods exist", n)
		}
		return nil
	}, pods)
}

// madeFor: what is made for each version of the configuration is there for the last one.
func (g *ground) madeFor(resource groupResource, toldInStatus bool) {
	g.worksFor(func(db *Database) error {
		if g.have(resource, db.Name+"-"+db.Spec.Config) == nil {
			return fmt.Errorf("nothing is made for %s", db.Spec.Config)
		}
		if toldInStatus && db.Status.Phase != db.Spec.Config {
			return fmt.Errorf("its status says %q", db.Status.Phase)
		}
		return nil
	}, resource)
}

// allCounted: each Pod is counted, and none is held any more.
func (g *ground) allCounted() {
	g.worksFor(func(db *Database) error {
		if db.Status.Succeeded != db.Spec.Replicas || len(db.Status.Pending) > 0 {
			return fmt.Errorf("%d pods are counted, and %d are about to be", db.Status.Succeeded, len(db.Status.Pending))
		}
		if n := g.count(pods, func(o apiserver.Object) bool { return len(o.GetFinalizers()) > 0 }); n > 0 {
			return fmt.Errorf("%d pods are held", n)
		}
		return nil
	}, pods)
}

// identified: endpoints follow the features, and the identity is there while it is used.
func (g *ground) identified() {
	g.worksFor(func(db *Database) error {
		used := false
		for _, name := range []string{"a", "b", "c"} {
			if there := g.have(configMaps, "endpoint-"+name) != nil; there != db.has(name) {
				return fmt.Errorf("the endpoint of %s is there: %t", name, there)
			}
			used = used || db.has(name)
		}
		if there := g.have(secrets, "identity") != nil; there != used {
			return fmt.Errorf("the identity is there: %t", there)
		}
		return nil
	}, configMaps, secrets)
}

// locked: the lock stays, and the status says so.
func (g *ground) locked() {
	g.worksFor(func(db *Database) error {
		if lock := g.have(configMaps, "lock"); lock == nil || lock.GetDeletionTimestamp() != nil || db.Status.Phase != "Deploying" {
			return errors.New("it is not locked for good")
		}
		return nil
	}, configMaps)
}

// recorded: there is a record for each source and for nothing else.
func (g *ground) recorded() {
	g.works(func() error {
		for _, o := range slices.Concat(g.each(secrets), g.each(databases)) {
			if g.have(configMaps, o.GetName()) == nil {
				return fmt.Errorf("%s has no record", o.GetName())
			}
		}
		for _, o := range g.each(configMaps) {
			if g.have(secrets, o.GetName()) == nil && g.have(databases, o.GetName()) == nil {
				return fmt.Errorf("the record %s has no source", o.GetName())
			}
		}
		return nil
	}, secrets, databases, configMaps)
}

// roomy: the volumes are as large as the user wants, or larger.
func (g *ground) roomy() {
	g.worksFor(func(db *Database) error {
		if set := g.have(statefulSets, db.Name); set == nil || set.GetDeletionTimestamp() != nil || ordinal("-"+set.GetAnnotations()["storage"]) < db.Spec.Storage {
			return errors.New("its volumes are too small")
		}
		return nil
	}, statefulSets)
}

// attached: the disk of a Pod is attached once its driver is there.
func (g *ground) attached() {
	g.works(func() error {
		wanted := g.have(pods, "web") != nil && (g.have(configMaps, "migration") == nil || g.have(configMaps, "driver") != nil)
		if wanted && g.have(configMaps, "attachment") == nil {
			return errors.New("the disk is not attached")
		}
		return nil
	}, pods, configMaps)
}

// failedOver: the primary is the Pod that the user names.
func (g *ground) failedOver() {
	g.worksFor(func(db *Database) error {
		if pod := g.have(pods, db.Spec.Config); pod != nil && pod.GetLabels()["role"] != "primary" {
			return fmt.Errorf("%s is not the primary", db.Spec.Config)
		}
		return nil
	}, pods)
}

// led: the leader of the present term has written.
func (g *ground) led() {
	g.works(func() error {
		lease, _ := g.have(configMaps, "lease").(*corev1.ConfigMap)
		work := g.have(configMaps, "work")
		if lease == nil || work == nil || work.GetAnnotations()["term"] != lease.Data["term"] {
			return errors.New("the leader of the present term has not written")
		}
		return nil
	}, configMaps)
}

// runsAll: each Pod runs where it belongs.
func (g *ground) runsAll() {
	g.works(func() error {
		for _, o := range g.each(pods) {
			pod := o.(*corev1.Pod)
			if g.machines[pod.Spec.NodeName].running[pod.Name] != pod.UID {
				return fmt.Errorf("%s does not run", pod.Name)
			}
		}
		return nil
	}, pods)
}

// jobsAreDone: each Pod has ended, and says so.
func (g *ground) jobsAreDone() {
	g.works(func() error {
		for _, o := range g.each(pods) {
			if pod := o.(*corev1.Pod); pod.Status.Phase != corev1.PodSucceeded {
				return fmt.Errorf("%s is not done", pod.Name)
			}
		}
		return nil
	}, pods)
}

// loaded: the program is the one that the user wants.
func (g *ground) loaded() {
	g.worksFor(func(db *Database) error {
		if *g.program != db.Spec.Config {
			return fmt.Errorf("the program is %q, not %q", *g.program, db.Spec.Config)
		}
		return nil
	})
}
