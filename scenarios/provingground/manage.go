package provingground

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// patience is how long controllers may take once all is calm.
const patience = 3 * time.Minute

// op is one incarnation of an operator.
type op struct {
	client.Client // reads from the cache

	live  client.Client // reads from the API server
	env   *cluster.Env
	fixed bool
}

// manage runs an operator of Databases that watches what it makes. It looks again after
// the time that do returns, unless that is zero.
func (g *ground) manage(process string, made []client.Object, do func(ctx context.Context, o *op, db *Database) (time.Duration, error)) {
	watches := []kube.Watch{{Object: &Database{}}}
	for _, o := range made {
		watches = append(watches, kube.Watch{Object: o, Requests: owned})
	}
	g.controller(process, watches, func(env *cluster.Env) reconcile.Func {
		o := &op{Client: env.Client, live: env.Kube, env: env, fixed: g.fixed}
		return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var db Database
			if err := o.Get(ctx, req.NamespacedName, &db); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			again, err := do(ctx, o, &db)
			return reconcile.Result{RequeueAfter: again}, err
		}
	})
}

// called gives an object that belongs to a Database its name.
func called[O client.Object](o O, db *Database, name string) O {
	o.SetNamespace(db.Namespace)
	o.SetName(name)
	labels := map[string]string{ownerLabel: db.Name, uidLabel: string(db.UID)}
	for k, v := range o.GetLabels() { // the same in any order
		labels[k] = v
	}
	o.SetLabels(labels)
	return o
}

// find reads an object by its name, and reports whether it is there.
func (o *op) find(ctx context.Context, out client.Object, db *Database, name string) (bool, error) {
	err := o.Get(ctx, types.NamespacedName{Namespace: db.Namespace, Name: name}, out)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// make creates an object that may be there already.
func (o *op) make(ctx context.Context, object client.Object) error {
	err := o.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// drop deletes an object that may be gone already.
func (o *op) drop(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return client.IgnoreNotFound(o.Delete(ctx, object, options...))
}

// note writes the status of a Database.
func (o *op) note(ctx context.Context, db *Database, change func(*DatabaseStatus)) error {
	change(&db.Status)
	return o.Status().Update(ctx, db)
}

func newSecret() *corev1.Secret       { return &corev1.Secret{} }
func newConfigMap() *corev1.ConfigMap { return &corev1.ConfigMap{} }

// shortPod is a Pod without a node, which is gone as soon as it is deleted.
func shortPod() *corev1.Pod {
	pod := newPod("", nil)
	pod.Spec.NodeName = ""
	return pod
}

// have is what the store holds under a key of an object in the namespace default, or nil.
func (g *ground) have(resource groupResource, name string) apiserver.Object {
	return g.objects[key(resource, metav1.NamespaceDefault, name)]
}

// count is how many objects of a resource the store holds for which ok is true.
func (g *ground) count(resource groupResource, ok func(apiserver.Object) bool) int {
	n := 0
	prefix := resource.Resource + "/"
	for _, key := range slices.Sorted(maps.Keys(g.objects)) {
		if strings.HasPrefix(key, prefix) && (ok == nil || ok(g.objects[key])) {
			n++
		}
	}
	return n
}

// all demands that each of some objects is there.
func (g *ground) all(resource groupResource, names ...string) func() error {
	return func() error {
		for _, name := range names {
			if g.have(resource, name) == nil {
				return fmt.Errorf("%s %s does not exist", resource.Resource, name)
			}
		}
		return nil
	}
}
