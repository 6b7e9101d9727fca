package provingground

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// onceMadeBugs are controllers that make or count something twice, since their cache
// does not show that they have done it.
func onceMadeBugs() []Bug {
	all := []Bug{
		{
			ID: "cluster-api-13649", Link: "https://github.com/kubernetes-sigs/cluster-api/issues/13649",
			Title: "Several MachineSets are made for one template",
			Why: `The controller looks in its cache for the MachineSet of the present template, makes one under a random name if there
is none, and then waits for the cache to show it. The wait times out, the error lets the reconcile be tried again, and
the cache still does not show it: another one is made. The thread got three from one change. (MachineSets are
ConfigMaps here.) Repair: the name follows from the template.`,
			Property: "one-set-per-template", Meaning: "There is at most one set per template: two of them run the machines twice.",
			build: func(g *ground) scenarios.Check {
				g.atMostOne(configMaps, func(o apiserver.Object) string { return o.GetLabels()["template"] })
				g.manage(operatorProcess, []client.Object{newConfigMap()}, setPerTemplate)
				return scenarios.Check{Always: g.unbroken}
			},
		},
		{
			ID: "argo-workflows-13986", Link: "https://github.com/argoproj/argo-workflows/issues/13986",
			Title: "A step of a workflow runs twice",
			Why: `After its title, and pull request 14532: the controller works on a workflow that its informer shows as it was before
the controller's own last write, finds the step not yet started, and makes a second Pod for it. Repair: the name
of the Pod follows from the step, so that the second creation fails.`,
			Property: "one-pod-per-step", Meaning: "Each step of a workflow has one Pod: what it does outside is not done twice.",
			build: func(g *ground) scenarios.Check {
				g.atMostOne(pods, func(o apiserver.Object) string { return o.GetLabels()["step"] })
				g.manage(operatorProcess, nil, runStep)
				return scenarios.Check{Always: g.unbroken}
			},
		},
		{
			ID: "kubernetes-105200", Link: "https://github.com/kubernetes/kubernetes/issues/105200",
			Title: "A finished Pod is counted twice",
			Why: `The Job controller writes the UID of a finished Pod into the status, takes the finalizer off the Pod, and then
raises the counter and removes the UID. The update of the Job arrives before that of the Pod: the Pod seems to have
its finalizer still, and is counted once more. Repair: the controller remembers whose finalizer it has taken off
until the cache shows it.`,
			Property: "pods-are-counted-once", Meaning: "A Job never counts more Pods as succeeded than have: it would be complete before its work is done.",
			build: func(g *ground) scenarios.Check {
				g.follow(databases, func(c change) {
					if db := g.database(c.now); db != nil && db.Status.Succeeded > 3 {
						g.breach("%d pods are counted, and there were 3", db.Status.Succeeded)
					}
				})
				counted := map[*op]map[types.UID]bool{}
				g.manage(operatorProcess, []client.Object{&corev1.Pod{}}, func(ctx context.Context, o *op, db *Database) (time.Duration, error) {
					if counted[o] == nil {
						counted[o] = map[types.UID]bool{}
					}
					return countSucceeded(ctx, o, db, counted[o])
				})
				return scenarios.Check{Always: g.unbroken}
			},
		},
	}
	for i := range all {
		all[i].Class, all[i].processes = "S", []string{operatorProcess}
	}
	all[2].Class = "SI"
	return all
}

// atMostOne demands that no two objects have the same mark.
func (g *ground) atMostOne(resource groupResource, mark func(apiserver.Object) string) {
	g.follow(resource, func(c change) {
		if c.now == nil {
			return
		}
		if n := g.count(resource, func(o apiserver.Object) bool { return mark(o) == mark(c.now) }); n > 1 {
			g.breach("%d %s are there for %s", n, resource.Resource, mark(c.now))
		}
	})
}

var errNotShown = errors.New("the cache does not show what was made in time")

func setPerTemplate(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	find := func() (int, error) {
		var list corev1.ConfigMapList
		err := o.List(ctx, &list, client.InNamespace(db.Namespace), client.MatchingLabels{"template": db.Spec.Config})
		return len(list.Items), err
	}
	if n, err := find(); err != nil || n > 0 {
		return 0, err
	}
	set := called(newConfigMap(), db, "")
	set.Labels["template"] = db.Spec.Config
	if set.GenerateName = db.Name + "-"; o.fixed {
		set.GenerateName, set.Name = "", db.Name+"-"+db.Spec.Config
	}
	if err := o.make(ctx, set); err != nil {
		return 0, err
	}
	for range 10 {
		if n, err := find(); err != nil || n > 0 {
			return 0, err
		}
		if err := o.env.Clock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, errNotShown
}

func runStep(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	if db.Status.Phase == db.Spec.Config {
		return 0, nil // the step runs
	}
	pod := called(shortPod(), db, "")
	pod.Labels["step"] = db.Spec.Config
	if pod.GenerateName = db.Name + "-"; o.fixed {
		pod.GenerateName, pod.Name = "", db.Name+"-"+db.Spec.Config
	}
	if err := o.make(ctx, pod); err != nil {
		return 0, err
	}
	return 0, o.note(ctx, db, func(s *DatabaseStatus) { s.Phase = db.Spec.Config })
}

// tracking is the finalizer of Pods that are to be counted.
const tracking = "provingground.seedbed.dev/tracking"

func countSucceeded(ctx context.Context, o *op, db *Database, counted map[types.UID]bool) (time.Duration, error) {
	for _, name := range memberNames(db) {
		pod := called(shortPod(), db, name)
		pod.Finalizers = []string{tracking}
		if err := o.make(ctx, pod); err != nil {
			return 0, err
		}
	}
	var list corev1.PodList
	if err := o.List(ctx, &list, client.InNamespace(db.Namespace), client.MatchingLabels{ownerLabel: db.Name}); err != nil {
		return 0, err
	}
	var finished []*corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		tracked := slices.Contains(pod.Finalizers, tracking)
		if tracked && !(o.fixed && counted[pod.UID]) && !slices.Contains(db.Status.Pending, string(pod.UID)) {
			finished = append(finished, pod)
		}
	}
	if len(finished) > 0 {
		err := o.note(ctx, db, func(s *DatabaseStatus) {
			for _, pod := range finished {
				s.Pending = append(s.Pending, string(pod.UID))
			}
		})
		if err != nil {
			return 0, err
		}
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if !slices.Contains(db.Status.Pending, string(pod.UID)) {
			continue
		}
		untracked := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := client.IgnoreNotFound(o.Patch(ctx, pod, untracked)); err != nil {
			return 0, fmt.Errorf("let go of pod %s: %w", pod.Name, err)
		}
		counted[pod.UID] = true
	}
	if len(db.Status.Pending) == 0 {
		return 0, nil
	}
	return 0, o.note(ctx, db, func(s *DatabaseStatus) {
		s.Succeeded += len(s.Pending)
		s.Pending = nil
	})
}
