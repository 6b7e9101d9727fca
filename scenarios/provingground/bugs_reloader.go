package provingground

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// reloaderBugs are controllers that restart workloads when a Secret of theirs changes,
// and know of changes only by the events that they get. A workload is a ConfigMap of
// the Secret's name here.
func reloaderBugs() []Bug {
	return []Bug{
		{
			ID: "reloader-701", Link: "https://github.com/stakater/Reloader/issues/701", Class: "CU",
			Title: "Of many workloads whose Secrets change, one is not restarted",
			Why: `Also 675. All Secrets change at the same time, and of 18 workloads sometimes 17 are restarted. (The thread does not
settle why; after the list of the project, a change in a gap is lost.) Here the controller compares a Secret with what
it has seen of it before: after its own restart it has seen nothing, and what has changed meanwhile goes unnoticed.
Repair: it is compared with what the workload was started with.`,
			Property: "workloads-run-their-secret", Meaning: "Once all is calm each workload runs what its Secret says.",
			processes: []string{operatorProcess},
			build: func(g *ground) scenarios.Check {
				g.reloads(false)
				return scenarios.Check{Within: patience, Eventually: func() error { return g.runTheirSecrets() }}
			},
		},
		{
			ID: "reloader-166", Link: "https://github.com/stakater/Reloader/issues/166", Class: "CU",
			Title: "After its own restart the controller restarts everything",
			Why: `The node of the controller fails and it is started elsewhere. It takes the first list of Secrets, which comes as
creations, for changes, and restarts workloads whose Secrets are as they were for weeks. Repair: a Secret is
compared with what the workload was started with.`,
			Property: "no-restart-without-a-change", Meaning: "No workload is restarted whose Secret is what it runs already.",
			processes: []string{operatorProcess},
			build: func(g *ground) scenarios.Check {
				g.reloads(true)
				return scenarios.Check{Always: g.unbroken}
			},
		},
	}
}

// reloads is the controller; eager, it takes what it sees first for a change.
func (g *ground) reloads(eager bool) {
	g.follow(secrets, nil)
	g.follow(configMaps, func(c change) {
		if c.old == nil || c.now == nil {
			return
		}
		was, is := c.old.GetAnnotations(), c.now.GetAnnotations()
		if was["restarts"] != is["restarts"] && was["runs"] == is["runs"] {
			g.breach("%s is restarted and runs %s as before", c.now.GetName(), is["runs"])
		}
	})
	g.controller(operatorProcess, []kube.Watch{{Object: newSecret()}}, func(env *cluster.Env) reconcile.Func {
		seen := map[string]string{}
		return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var secret corev1.Secret
			if err := env.Client.Get(ctx, req.NamespacedName, &secret); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			value := string(secret.Data["value"])
			before, known := seen[secret.Name]
			if !g.fixed && before == value && known || !g.fixed && !known && !eager {
				seen[secret.Name] = value
				return reconcile.Result{}, nil
			}
			if err := restart(ctx, env, &secret, value, g.fixed); err != nil {
				return reconcile.Result{}, err
			}
			seen[secret.Name] = value
			return reconcile.Result{}, nil
		}
	})
}

// restart lets the workload of a Secret run its value.
func restart(ctx context.Context, env *cluster.Env, secret *corev1.Secret, value string, compare bool) error {
	var workload corev1.ConfigMap
	if err := env.Kube.Get(ctx, client.ObjectKeyFromObject(secret), &workload); err != nil {
		return client.IgnoreNotFound(err)
	}
	if compare && workload.Annotations["runs"] == value {
		return nil
	}
	restarts, err := strconv.Atoi(workload.Annotations["restarts"])
	if err != nil {
		restarts = 0 // it was never restarted
	}
	metav1.SetMetaDataAnnotation(&workload.ObjectMeta, "restarts", strconv.Itoa(restarts+1))
	metav1.SetMetaDataAnnotation(&workload.ObjectMeta, "runs", value)
	return env.Kube.Update(ctx, &workload)
}

// runTheirSecrets demands that each workload runs what its Secret says.
func (g *ground) runTheirSecrets() error {
	for _, name := range []string{"a", "b", "c"} {
		secret, _ := g.have(secrets, name).(*corev1.Secret)
		workload := g.have(configMaps, name)
		if secret != nil && workload != nil && workload.GetAnnotations()["runs"] != string(secret.Data["value"]) {
			return errOld(name)
		}
	}
	return nil
}

// errOld names a workload that runs what its Secret said before.
type errOld string

func (e errOld) Error() string {
	return "the workload " + string(e) + " does not run what its secret says"
}
