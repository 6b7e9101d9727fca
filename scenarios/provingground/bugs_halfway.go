package provingground

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// halfwayBugs are operators that write what they do and then, apart from it, what they
// have done.
func halfwayBugs() []Bug {
	all := []Bug{
		{
			ID: "casskop-370", Link: "https://github.com/Orange-OpenSource/casskop/issues/370",
			Title: "A member's claim stays for ever, and no request is handled any more",
			Why: `While a member is decommissioned, the status says so. The operator takes the Pod away and writes only at the end
of the round that it is now finalizing. It crashes in between. The status still says that the member is being
decommissioned, its Pod cannot be found, and the operator returns that error for ever: the claim is never deleted
and no later request is handled. Repair: a Pod that is gone means that this step is done.`,
			processes: []string{protectionProcess},
			Property:  "scaling-down-ends", Meaning: "Once all is calm no claim of a member is left that was taken away, and nothing is under way.",
			build: func(g *ground) scenarios.Check {
				g.follow(claims, nil)
				g.follow(databases, nil)
				g.protection()
				g.manage(operatorProcess, []client.Object{&corev1.Pod{}}, decommission)
				return scenarios.Check{Within: patience, Eventually: func() error {
					db := g.database(g.have(databases, "cass"))
					if n := g.count(claims, nil); n != 1 || db == nil || db.Status.Phase != "" {
						return fmt.Errorf("claims: %d", n)
					}
					return nil
				}}
			},
		},
		{
			ID: "nifikop-49", Link: "https://github.com/konpyutaika/nifikop/issues/49", Class: "IC",
			Title: "Members run an old configuration for ever",
			Why: `The operator writes the new configuration into the ConfigMap, then ConfigOutOfSync into the status, and restarts
the Pods of a status that says so. It crashes between the two writes: the ConfigMap is as it should be, the status
says nothing, and the Pods are never restarted. Repair: what a Pod was started with is compared with what is
wanted.`,
			Property: "members-run-the-configuration", Meaning: "Once all is calm every member runs the configuration that the user wants.",
			build: func(g *ground) scenarios.Check {
				g.follow(pods, nil)
				g.manage(operatorProcess, []client.Object{newConfigMap(), &corev1.Pod{}}, reconfigure)
				return scenarios.Check{Within: patience, Eventually: func() error {
					pod := g.have(pods, "nifi")
					if pod == nil || pod.GetAnnotations()["config"] != "v3" {
						return fmt.Errorf("the member does not run the configuration v3")
					}
					return nil
				}}
			},
		},
		upscaleBug(),
	}
	for i := range all {
		if all[i].Class == "" {
			all[i].Class = "I"
		}
		all[i].processes = append(all[i].processes, operatorProcess)
	}
	return all
}

func upscaleBug() Bug {
	return Bug{
		ID: "nifikop-79", Link: "https://github.com/konpyutaika/nifikop/issues/79",
		Title: "A cluster cannot be scaled down any more",
		Why: `In one round the operator makes a Pod, writes ConfigInSync into the status, and then GracefulUpscaleSucceeded.
It crashes between the last two. Since the Pod exists the round is never repeated, and when the user scales down,
only members whose upscale has succeeded are taken away: never this one. Sieve's paper gives the window as 0.7 ms
of a run of 440 s. Repair: the second write is made up for whenever it is missing.`,
		Property: "members-follow-the-spec", Meaning: "Once all is calm there are as many members as the user wants.",
		build: func(g *ground) scenarios.Check {
			g.follow(pods, nil)
			g.manage(operatorProcess, []client.Object{&corev1.Pod{}}, upscale)
			return scenarios.Check{Within: patience, Eventually: func() error {
				if n := g.count(pods, func(o apiserver.Object) bool { return o.GetDeletionTimestamp() == nil }); n != 0 {
					return fmt.Errorf("members: %d, and none is wanted", n)
				}
				return nil
			}}
		},
	}
}

// decommission scales down by one member, in steps that the status tells apart.
func decommission(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	extra := fmt.Sprintf("%s-%d", db.Name, db.Spec.Replicas)
	var pod corev1.Pod
	there, err := o.find(ctx, &pod, db, extra)
	if err != nil {
		return 0, err
	}
	switch db.Status.Phase {
	case "Ongoing":
		if !there && !o.fixed {
			return 0, fmt.Errorf("the pod %s cannot be found", extra)
		}
		if err := o.drop(ctx, called(&corev1.Pod{}, db, extra)); err != nil {
			return 0, err
		}
		return recheck, o.note(ctx, db, func(s *DatabaseStatus) { s.Phase = "Finalizing" })
	case "Finalizing":
		if there {
			return recheck, nil
		}
		if err := o.drop(ctx, called(newClaim(db, ""), db, extra)); err != nil {
			return 0, err
		}
		return 0, o.note(ctx, db, func(s *DatabaseStatus) { s.Phase = "" })
	}
	if there {
		return recheck, o.note(ctx, db, func(s *DatabaseStatus) { s.Phase = "Ongoing" })
	}
	for _, name := range memberNames(db) {
		if err := o.make(ctx, called(newClaim(db, ""), db, name)); err != nil {
			return 0, err
		}
		if err := o.make(ctx, called(shortPod(), db, name)); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// reconfigure brings a configuration to a member by way of a ConfigMap.
func reconfigure(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	config := called(newConfigMap(), db, db.Name)
	config.Data = map[string]string{"config": db.Spec.Config}
	var have corev1.ConfigMap
	there, err := o.find(ctx, &have, db, db.Name)
	switch {
	case err != nil:
		return 0, err
	case !there:
		return recheck, o.make(ctx, config)
	case have.Data["config"] != db.Spec.Config:
		have.Data = config.Data
		if err := o.Update(ctx, &have); err != nil {
			return 0, err
		}
		return recheck, o.note(ctx, db, func(s *DatabaseStatus) { s.Phase = "ConfigOutOfSync" })
	}
	var pod corev1.Pod
	if there, err = o.find(ctx, &pod, db, db.Name); err != nil {
		return 0, err
	}
	if !there {
		if err := o.note(ctx, db, func(s *DatabaseStatus) { s.Phase = "ConfigInSync" }); err != nil {
			return 0, err
		}
		pod := called(shortPod(), db, db.Name)
		pod.Annotations = map[string]string{"config": have.Data["config"]}
		return 0, o.make(ctx, pod)
	}
	if db.Status.Phase == "ConfigOutOfSync" || o.fixed && pod.Annotations["config"] != have.Data["config"] {
		return recheck, o.drop(ctx, &pod)
	}
	return 0, nil
}

// upscale makes a member, and takes it away again if its making has succeeded.
func upscale(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	const inSync, succeeded = "ConfigInSync", "GracefulUpscaleSucceeded"
	var pod corev1.Pod
	there, err := o.find(ctx, &pod, db, db.Name+"-0")
	if err != nil {
		return 0, err
	}
	add := func(state string) error {
		if slices.Contains(db.Status.Pending, state) {
			return nil
		}
		return o.note(ctx, db, func(s *DatabaseStatus) { s.Pending = append(s.Pending, state) })
	}
	if o.fixed && there && !slices.Contains(db.Status.Pending, succeeded) {
		return recheck, add(succeeded)
	}
	if db.Spec.Replicas == 0 {
		if there && slices.Contains(db.Status.Pending, succeeded) {
			return recheck, o.drop(ctx, &pod)
		}
		return recheck, nil
	}
	if there {
		return 0, nil
	}
	if err := o.make(ctx, called(shortPod(), db, db.Name+"-0")); err != nil {
		return 0, err
	}
	if err := add(inSync); err != nil {
		return 0, err
	}
	return 0, add(succeeded)
}
