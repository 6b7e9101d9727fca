package provingground

import (
	"context"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// volumeBugs are controllers of storage that let go of what is in use.
func volumeBugs() []Bug {
	return []Bug{
		{
			ID: "rabbitmq-653", Link: "https://github.com/rabbitmq/cluster-operator/issues/653", Class: "S",
			Title: "The StatefulSet is deleted because volumes seem to have the wrong size",
			Why: `To make volumes larger the operator deletes the StatefulSet, resizes the claims, and makes it anew; it does so
whenever the size in the spec is not that of the StatefulSet. Back from a restart it reads the spec from a stale
cache: the size is smaller, which is not the same either, and the StatefulSet goes. Repair, as the thread proposes:
volumes only grow, so only a larger size counts.`,
			Property: "what-fits-stays", Meaning: "A StatefulSet whose volumes have the size that the user wants is not deleted.",
			processes: []string{operatorProcess},
			build: func(g *ground) scenarios.Check {
				g.follow(databases, nil)
				g.follow(statefulSets, func(c change) {
					db := g.database(g.have(databases, "rabbit"))
					if c.gone != nil && db != nil && c.gone.GetAnnotations()["storage"] == strconv.Itoa(db.Spec.Storage) {
						g.breach("the StatefulSet with %d GiB is deleted, and as many are wanted", db.Spec.Storage)
					}
				})
				g.manage(operatorProcess, []client.Object{&appsv1.StatefulSet{}}, resize)
				return scenarios.Check{Always: g.unbroken}
			},
		},
		{
			ID: "kubernetes-115297", Link: "https://github.com/kubernetes/kubernetes/issues/115297", Class: "CN",
			Title: "A disk in use is detached when the cluster moves to CSI",
			Why: `The attach/detach controller starts with CSI migration switched on, before the CSI driver is installed on the node.
For the Pod's volume it gets an error, and goes on without it: the volume is not in the desired state, so it is
detached, mounted as it is. "Unfortunately the disk was in use during this detach and got corrupted." Repair: while a
volume of a node cannot be told nothing is detached from it. (Attachments, gate and driver are ConfigMaps here.)`,
			Property: "mounted-disks-stay", Meaning: "A disk is never detached from a node on which a Pod has it mounted.",
			processes: []string{operatorProcess},
			build:     (*ground).attaches,
		},
		{
			ID: "cloudnative-pg-10403", Link: "https://github.com/cloudnative-pg/cloudnative-pg/issues/10403", Class: "IS",
			Title: "In a failover the old primary keeps its label",
			Why: `A failover makes another Pod the primary and takes the label from the old one, at best effort: if that write fails the
failover goes on all the same. Both bear the label, and the service sends writes to both. Repair: nobody becomes the
primary before the label is known to be gone.`,
			Property: "one-primary", Meaning: "At most one Pod bears the label of the primary: what is written to another is lost.",
			processes: []string{operatorProcess},
			build: func(g *ground) scenarios.Check {
				primary := func(o apiserver.Object) bool { return o.GetLabels()["role"] == "primary" }
				g.follow(pods, func(change) {
					if n := g.count(pods, primary); n > 1 {
						g.breach("%d pods bear the label of the primary", n)
					}
				})
				g.manage(operatorProcess, nil, failOver)
				return scenarios.Check{Always: g.unbroken}
			},
		},
	}
}

func resize(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	var set appsv1.StatefulSet
	err := o.live.Get(ctx, client.ObjectKeyFromObject(db), &set)
	if client.IgnoreNotFound(err) != nil {
		return 0, err
	}
	if err != nil {
		fresh := called(newStatefulSet(db, "").(*appsv1.StatefulSet), db, db.Name)
		fresh.Annotations = map[string]string{"storage": strconv.Itoa(db.Spec.Storage)}
		return 0, o.make(ctx, fresh)
	}
	size, err := strconv.Atoi(set.Annotations["storage"])
	if err != nil {
		return 0, err
	}
	if db.Spec.Storage == size || db.Spec.Storage < size && o.fixed {
		return 0, nil
	}
	err = o.drop(ctx, &set, sameObject(&set))
	if apierrors.IsConflict(err) {
		err = nil // it is another one
	}
	return recheck, err
}

// attaches is a controller that attaches disks; it reads the gate as it starts.
func (g *ground) attaches() scenarios.Check {
	g.follow(pods, nil)
	g.follow(configMaps, func(c change) {
		if c.gone != nil && c.gone.GetName() == "attachment" && g.have(pods, "web") != nil {
			g.breach("the disk is detached, and the pod web has it mounted")
		}
	})
	g.world.ControlPlane().Process(cluster.ProcessSpec{Name: operatorProcess, Main: func(ctx context.Context, env *cluster.Env) {
		migrated, begun := false, false
		for env.Clock.Sleep(ctx, time.Second) == nil {
			if !begun {
				there, err := exists(ctx, env, newConfigMap(), "migration")
				if migrated, begun = there, err == nil; err != nil {
					continue
				}
			}
			if err := attach(ctx, env, migrated, g.fixed); err != nil {
				env.Log.V(1).Info("cannot attach", "err", err.Error())
			}
		}
	}})
	return scenarios.Check{Always: g.unbroken}
}

// exists asks the API server whether an object is there.
func exists(ctx context.Context, env *cluster.Env, o client.Object, name string) (bool, error) {
	err := env.Kube.Get(ctx, types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// attach attaches the disk that a Pod wants and detaches the one that none does.
func attach(ctx context.Context, env *cluster.Env, migrated, careful bool) error {
	wanted, err := exists(ctx, env, &corev1.Pod{}, "web")
	if err != nil {
		return err
	}
	if migrated {
		driver, err := exists(ctx, env, newConfigMap(), "driver")
		if err != nil {
			return err
		}
		if !driver && careful {
			return nil // nobody can tell
		}
		wanted = wanted && driver
	}
	attachment := newConfigMap()
	attachment.Namespace, attachment.Name = metav1.NamespaceDefault, "attachment"
	if wanted {
		err = env.Kube.Create(ctx, attachment)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	return client.IgnoreNotFound(env.Kube.Delete(ctx, attachment))
}

// failOver lets the Pod that the spec names be the primary. It reads no cache.
func failOver(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	var list corev1.PodList
	if err := o.live.List(ctx, &list, client.InNamespace(db.Namespace)); err != nil {
		return 0, err
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Name == db.Spec.Config || pod.Labels["role"] != "primary" {
			continue
		}
		pod.Labels["role"] = "replica"
		if err := o.Update(ctx, pod); err != nil && o.fixed {
			return 0, err
		}
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Name != db.Spec.Config || pod.Labels["role"] == "primary" {
			continue
		}
		metav1.SetMetaDataLabel(&pod.ObjectMeta, "role", "primary")
		return 0, o.Update(ctx, pod)
	}
	return 0, nil
}
