package provingground

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// groupResource is short for what it stands for.
type groupResource = schema.GroupVersionResource

// Resources that grounds follow.
var (
	databases    = groupVersion.WithResource("databases")
	pods         = corev1.SchemeGroupVersion.WithResource("pods")
	claims       = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	configMaps   = corev1.SchemeGroupVersion.WithResource("configmaps")
	secrets      = corev1.SchemeGroupVersion.WithResource("secrets")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

// ground is what one bug plays on in one run.
type ground struct {
	world    *scenarios.World
	fixed    bool
	check    scenarios.Check
	observer *apiserver.Server

	objects map[string]apiserver.Object // as they are in the store, by "resource/namespace/name"
	follows map[groupResource]bool
	broken  error // the first thing seen that must not be

	done     []func() error      // what a repaired controller must have done in the end
	machines map[string]*machine // of kubelets under test
	program  *string             // in the slot of the data plane
}

func newGround(w *scenarios.World, fixed bool) *ground {
	return &ground{
		world: w, fixed: fixed, objects: map[string]apiserver.Object{}, follows: map[groupResource]bool{},
		observer: apiserver.NewServer(w.Cluster.Store(), "observer"),
	}
}

// breach notes that something has happened that must not.
func (g *ground) breach(format string, args ...any) {
	if g.broken == nil {
		g.broken = fmt.Errorf(format, args...)
		g.world.Engine().Touch()
	}
}

// unbroken is the check of what is judged as it happens.
func (g *ground) unbroken() error { return g.broken }

// change is what happened to an object in the store: old is nil when it was made, and
// now when it is gone, with gone as it was last.
type change struct{ old, now, gone apiserver.Object }

// follow calls see with each change of the objects of a resource, as it happens, and
// remembers the objects. It sees everything, through an API server that nobody else
// uses and that never lags.
func (g *ground) follow(resource groupResource, see func(change)) {
	g.follows[resource] = true
	stream, err := g.observer.OpenWatch(context.Background(), &apiserver.Request{Verb: apiserver.WatchVerb, Resource: resource})
	g.world.Must(err)
	stream.OnReady(func() {
		for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
			if ev.Object == nil || ev.Type == watch.Bookmark {
				continue
			}
			key := key(resource, ev.Object.GetNamespace(), ev.Object.GetName())
			c := change{old: g.objects[key], now: ev.Object}
			if g.objects[key] = ev.Object; ev.Type == watch.Deleted {
				c.now, c.gone = nil, ev.Object
				delete(g.objects, key)
			}
			if see != nil {
				see(c)
			}
		}
	})
}

func key(resource groupResource, namespace, name string) string {
	return resource.Resource + "/" + namespace + "/" + name
}

// database is an object of the store as a Database, or nil if there is none: the store
// does not know the type.
func (g *ground) database(o apiserver.Object) *Database {
	switch o := o.(type) {
	case *Database:
		return o
	case *unstructured.Unstructured:
		db := &Database{}
		g.world.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, db))
		return db
	}
	return nil
}

// controller is a process of the control plane that runs one reconciler, made anew in
// each incarnation.
func (g *ground) controller(name string, watches []kube.Watch, start func(env *cluster.Env) reconcile.Func) {
	g.world.ControlPlane().Process(cluster.ProcessSpec{Name: name, Main: func(ctx context.Context, env *cluster.Env) {
		// It ends when the process does.
		_ = env.Run(ctx, kube.Controller{Name: name, Reconciler: start(env), Watches: watches})
	}})
}

// owned maps an object to the request for what the label says that it belongs to.
func owned(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[ownerLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// Labels of what operators make.
const (
	ownerLabel = "provingground.seedbed.dev/database"     // the name of the Database
	uidLabel   = "provingground.seedbed.dev/database-uid" // its UID
)

// revision is when an object was last written.
func revision(o client.Object) uint64 {
	n, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("resource version of %s: %v", o.GetName(), err)) // the store's own
	}
	return n
}
