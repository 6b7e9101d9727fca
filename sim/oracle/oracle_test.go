package oracle_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/oracle"
)

const finalizer = "example.com/copies"

// copier keeps a copy of each ConfigMap that has the label original, until that goes.
// What is switched on about it is wrong.
type copier struct {
	client.Client
	env *cluster.Env

	forgetsFinalizer, blindDelete, noOwner, restless, stubborn, fickle, once bool
	begun                                                                    map[string]bool
}

func (c *copier) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	original := &corev1.ConfigMap{}
	err := c.Get(ctx, req.NamespacedName, original)
	name := client.ObjectKey{Namespace: req.Namespace, Name: req.Name + "-copy"}
	switch {
	case err != nil:
		return reconcile.Result{}, client.IgnoreNotFound(err)
	case original.Labels["original"] == "":
		return reconcile.Result{}, nil
	case original.DeletionTimestamp != nil:
		return reconcile.Result{}, c.end(ctx, original, name)
	}
	if controllerutil.AddFinalizer(original, finalizer) {
		if err := c.Update(ctx, original); err != nil {
			return reconcile.Result{}, err
		}
	}
	result, err := c.copy(ctx, original, name)
	if c.restless {
		result.RequeueAfter = 20 * time.Second
	}
	return result, err
}

func (c *copier) end(ctx context.Context, original *corev1.ConfigMap, name client.ObjectKey) error {
	doomed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	if c.blindDelete { // whatever is there by now
		if err := c.env.Clock.Sleep(ctx, 30*time.Second); err != nil {
			return err
		}
	} else if err := c.Get(ctx, name, doomed); client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := client.IgnoreNotFound(c.Delete(ctx, doomed)); err != nil {
		return err
	}
	if c.forgetsFinalizer || !controllerutil.RemoveFinalizer(original, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(c.Update(ctx, original))
}

func (c *copier) copy(ctx context.Context, original *corev1.ConfigMap, name client.ObjectKey) (reconcile.Result, error) {
	there := &corev1.ConfigMap{}
	err := c.Get(ctx, name, there)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	missing := err != nil
	if missing && c.once && c.begun[original.Name] { // it is on its way, surely
		return reconcile.Result{}, nil
	}
	there.Namespace, there.Name = name.Namespace, name.Name
	before := there.DeepCopy()
	there.Data = map[string]string{"text": original.Data["text"]}
	if c.restless {
		there.Data["seen"] = c.env.Clock.Now().String()
	}
	if c.fickle {
		there.Data["text"] = map[string]string{"a": "b"}[before.Data["text"]]
		if there.Data["text"] == "" {
			there.Data["text"] = "a"
		}
	}
	if !c.noOwner {
		there.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: original.Name, UID: original.UID}}
	} else {
		there.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: original.Name, UID: "of-before"}}
	}
	after := reconcile.Result{}
	if c.fickle {
		after.RequeueAfter = time.Second
	}
	if missing {
		c.begun[original.Name] = true
		if c.once {
			_ = c.Create(ctx, there) // the next look will tell
			return after, nil
		}
		return after, c.Create(ctx, there)
	}
	if fmt.Sprint(before.Data, before.OwnerReferences) == fmt.Sprint(there.Data, there.OwnerReferences) {
		if c.stubborn { // whether it was made by somebody else or not
			_ = c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}})
			return reconcile.Result{RequeueAfter: 30 * time.Second}, nil
		}
		return after, nil
	}
	return after, c.Update(ctx, there)
}

// world is a cluster with a copier; an original comes, another comes and goes, and its
// name is used again.
func world(wrong copier) sim.Build {
	return func(w *sim.World) {
		w.ControlPlane().Process(cluster.ProcessSpec{Name: "copier", Main: func(ctx context.Context, env *cluster.Env) {
			c := wrong
			c.Client, c.env, c.begun = env.Client, env, map[string]bool{}
			_ = env.Run(ctx, kube.Controller{Name: "copies", Reconciler: &c, Watches: []kube.Watch{{Object: &corev1.ConfigMap{}}}})
		}})
		make := func(name, text string) func() {
			return func() {
				w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"original": "yes"}}, Data: map[string]string{"text": text}})
			}
		}
		w.At(time.Second, make("stays", "one"))
		w.At(time.Second, make("goes", "two"))
		w.At(time.Minute, func() {
			w.Must(w.Admin().Delete(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "goes"}}))
		})
		// Somebody cleans up by hand, and makes another under the name of the copy.
		w.At(time.Minute+10*time.Second, func() {
			copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "goes-copy"}}
			if wrong.blindDelete {
				w.Must(client.IgnoreNotFound(w.Admin().Delete(context.Background(), copied)))
				w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "goes-copy"}, Data: map[string]string{"text": "of somebody else"}})
			}
		})
	}
}

func options(profile cluster.Profile) sim.Options {
	profile.CeaseAt = 2 * time.Minute
	return sim.Options{Name: "copies", Horizon: 15 * time.Minute, Seeds: 40, Artifacts: sim.NoArtifacts, Shrink: sim.Budget{Runs: -1}, Cluster: cluster.Config{Profile: profile, Controllers: []string{"garbage-collector-controller"}}}
}

// watched adds all oracles to a build.
func watched(build sim.Build) sim.Build {
	return func(w *sim.World) {
		build(w)
		oracle.All(w, 3*time.Minute)
	}
}

// TestNoFalseAlarms: a controller that does what it should is never accused, be it calm or
// not.
func TestNoFalseAlarms(t *testing.T) {
	for name, profile := range map[string]cluster.Profile{"calm": cluster.Calm(), "stormy": cluster.Stormy(), "races": cluster.Races()} {
		o := options(profile)
		sim.Check(t, o, watched(oracle.EndsAsUndisturbed(o, world(copier{}), nil)))
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestPlantedBugs: each oracle catches a bug that somebody might make.
func TestPlantedBugs(t *testing.T) {
	for property, c := range map[string]struct {
		wrong copier
		says  string
	}{
		"nothing-stays-terminating": {copier{forgetsFinalizer: true}, "configmaps/default/goes has been terminating for "},
		"owners-exist":              {copier{noOwner: true}, "owner ConfigMap stays: what is there under that name is another object"},
		"rests":                     {copier{restless: true}, "copier writes configmaps/default/stays-copy, 2 times since there is nothing to do"},
		"no-errors-at-rest":         {copier{stubborn: true}, "copier: create configmaps/default/stays-copy is answered with 409"},
		"no-fights":                 {copier{fickle: true}, "goes back and forth: 6 times it came back to what it had been, by the writes of copier"},
		"knows-what-it-deletes":     {copier{blindDelete: true}, "copier deletes configmaps/default/goes-copy, "},
		"ends-as-undisturbed":       {copier{once: true}, "the end differs from that of a run without faults"},
	} {
		o := options(cluster.Calm())
		o.Cluster.Controllers = nil
		build := world(c.wrong)
		if property == "ends-as-undisturbed" {
			o = options(cluster.Stormy())
			build = oracle.EndsAsUndisturbed(o, build, nil)
		} else {
			build = watched(build)
		}
		report, err := sim.Run(o, build)
		if err != nil || report.Failure == nil {
			t.Errorf("%s: nothing is found, error %v", property, err)
			continue
		}
		v := report.Failure.First.Violation()
		if v == nil || v.Property != property || !strings.Contains(v.Err.Error(), c.says) {
			t.Errorf("%s: found is %v, want %s", property, report.Failure.First.Err, c.says)
		}
	}
}

// TestStatusOfAnOlderSpec: a Deployment whose controller does not run.
func TestStatusOfAnOlderSpec(t *testing.T) {
	report, err := sim.Run(options(cluster.Calm()), func(w *sim.World) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Generation: 1}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		w.Create(pod)
		pod.Status.ObservedGeneration = 7
		w.Must(w.Admin().Status().Update(context.Background(), pod))
		oracle.StatusIsCurrent(w)
	})
	if err != nil || report.Failure == nil || !strings.Contains(report.Failure.First.Err.Error(), "pods/default/p has generation 1, and its status is about 7") {
		t.Errorf("found is %v, error %v", report.Failure, err)
	}
}
