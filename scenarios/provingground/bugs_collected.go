package provingground

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// collectedBugs are controllers that take away what they think nobody needs.
func collectedBugs() []Bug {
	return []Bug{
		{
			ID: "kubernetes-72192", Link: "https://github.com/kubernetes/kubernetes/issues/72192", Class: "W",
			Title: "One wrong owner reference lets the garbage collector delete what refers to the owner rightly",
			Why: `Also crossplane 895. An object refers to its owner by the right UID and a wrong kind. When the collector restarts it
builds its graph anew, in the order in which its watches happen to deliver. If it meets that object first it looks
the owner up under the wrong kind, does not find it, and takes all that has an owner of this UID for garbage: objects
whose reference is right go as well. "With probability around 50 %" at each restart. Repair: only those go whose
reference says the same.`,
			Property: "live-owners-keep", Meaning: "Nothing is deleted whose owner lives and is referred to rightly.",
			processes: []string{collectorProcess},
			build:     (*ground).collects,
		},
		{
			ID: "cilium-19877", Link: "https://github.com/cilium/cilium/issues/19877", Class: "SN",
			Title: "An identity is collected while an endpoint begins to use it",
			Why: `After its title, and pull request 19936: the operator collects identities that no endpoint uses, in two rounds: it
marks them, and deletes those that are still unused at the next. An agent on another node finds the identity,
takes it, and makes its endpoint; the operator does not see that in time. Repair here: agents write into an
identity that they use it, and a deletion is bound to the revision that says that nobody does.`,
			Property: "identities-in-use-exist", Meaning: "Once an endpoint is made its identity exists: without it the traffic of the Pod has no policy.",
			processes: []string{collectorProcess, "agent"},
			build:     (*ground).collectsIdentities,
		},
		{
			ID: "cdi-1408", Link: "https://github.com/kubevirt/containerized-data-importer/pull/1408", Class: "S",
			Title: "A lock that is being deleted is taken for a valid one and never made again",
			Why: `A CDI object is deleted and made again while the ConfigMap that serves as its lock is still being deleted, since the
control plane is slow. The operator finds a ConfigMap, takes it for valid, and writes that it is deploying. Then the
ConfigMap goes, and the way things are checked nobody makes another. Repair: one with a deletionTimestamp is no lock.`,
			Property: "the-lock-exists", Meaning: "Once all is calm the lock exists: without it nothing is deployed.",
			processes: []string{operatorProcess, collectorProcess},
			build: func(g *ground) scenarios.Check {
				g.follow(configMaps, nil)
				g.letsGo()
				g.manage(operatorProcess, []client.Object{newConfigMap()}, lockOnce)
				return scenarios.Check{Eventually: g.all(configMaps, "lock"), Within: patience}
			},
		},
		{
			ID: "external-dns-2858", Link: "https://github.com/kubernetes-sigs/external-dns/issues/2858", Class: "PL",
			Title: "A list that fails is taken for an empty one, and all records are deleted",
			Why: `Also 414, 3997 and 5603; after the list of the project. Records are made for the objects of several sources and
deleted if no source asks for them. The list of one source fails, the error is logged, and it counts as empty:
all its records go. (Records are ConfigMaps here.) Repair: nothing is decided while a source is unknown.`,
			Property: "records-of-live-sources-stay", Meaning: "No record is deleted whose source exists: its name would not resolve any more.",
			processes: []string{operatorProcess},
			build:     (*ground).keepsRecords,
		},
	}
}

// collectorProcess is the process of a controller that deletes what is not needed.
const collectorProcess = "collector"

// collects is a garbage collector of ConfigMaps and Secrets that are owned by Databases.
func (g *ground) collects() scenarios.Check {
	g.follow(databases, nil)
	g.follow(configMaps, func(c change) {
		if c.gone == nil {
			return
		}
		for _, ref := range c.gone.GetOwnerReferences() {
			if owner := g.have(databases, ref.Name); owner != nil && owner.GetUID() == ref.UID {
				g.breach("%s is deleted, and its owner %s lives", c.gone.GetName(), ref.Name)
			}
		}
	})
	g.world.Must(g.plant())
	g.world.ControlPlane().Process(cluster.ProcessSpec{Name: collectorProcess, Main: func(ctx context.Context, env *cluster.Env) {
		c := &garbage{kube: env.Client, live: env.Kube, fixed: g.fixed, identity: map[types.UID]coordinates{}}
		// It ends when the process does.
		_ = env.Run(ctx, kube.Controller{Name: collectorProcess, Reconciler: reconcile.Func(c.collect), Watches: []kube.Watch{
			{Object: &Database{}, Requests: c.seen("Database")}, {Object: newConfigMap(), Requests: c.seen("ConfigMap")}, {Object: newSecret(), Requests: c.seen("Secret")},
		}})
	}})
	return scenarios.Check{Always: g.unbroken}
}

// plant makes an owner, an object that refers to it rightly, and one that does not.
func (g *ground) plant() error {
	ctx := context.Background()
	owner := &Database{}
	owner.Namespace, owner.Name = metav1.NamespaceDefault, "owner"
	if err := g.world.Admin().Create(ctx, owner); err != nil {
		return err
	}
	refers := func(o client.Object, name, kind string) error {
		o.SetNamespace(metav1.NamespaceDefault)
		o.SetName(name)
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: groupVersion.String(), Kind: kind, Name: "owner", UID: owner.UID}})
		return g.world.Admin().Create(ctx, o)
	}
	if err := refers(newConfigMap(), "right", "Database"); err != nil {
		return err
	}
	return refers(newSecret(), "wrong", "Secret")
}

// coordinates are where an owner is looked up.
type coordinates struct{ kind, name string }

// garbage is one incarnation of the collector. It knows an owner by where the first
// event that told of it says that it is: its own, or that of an object that it owns.
type garbage struct {
	kube, live client.Client
	fixed      bool
	identity   map[types.UID]coordinates
}

// seen takes in events of a kind and asks for a look at each owner.
func (c *garbage) seen(kind string) func(context.Context, client.Object) []reconcile.Request {
	know := func(uid types.UID, at coordinates) {
		if _, known := c.identity[uid]; !known {
			c.identity[uid] = at
		}
	}
	return func(_ context.Context, o client.Object) []reconcile.Request {
		know(o.GetUID(), coordinates{kind, o.GetName()})
		var requests []reconcile.Request
		for _, ref := range o.GetOwnerReferences() {
			know(ref.UID, coordinates{ref.Kind, ref.Name})
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: string(ref.UID)}})
		}
		return requests
	}
}

// collect deletes what an owner has left behind, if it is gone.
func (c *garbage) collect(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	uid := types.UID(req.Name)
	at := c.identity[uid]
	owner := client.Object(&Database{})
	if at.kind == "Secret" {
		owner = newSecret()
	}
	err := c.live.Get(ctx, types.NamespacedName{Namespace: req.Namespace, Name: at.name}, owner)
	switch {
	case err == nil && owner.GetUID() == uid:
		return reconcile.Result{}, nil
	case err != nil && !apierrors.IsNotFound(err):
		return reconcile.Result{}, err
	}
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.SecretList{}} {
		if err := c.kube.List(ctx, list, client.InNamespace(req.Namespace)); err != nil {
			return reconcile.Result{}, err
		}
		for _, o := range items(list) {
			orphan := slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
				return r.UID == uid && (!c.fixed || at == coordinates{r.Kind, r.Name})
			})
			if !orphan {
				continue
			}
			if err := client.IgnoreNotFound(c.kube.Delete(ctx, o, sameObject(o))); err != nil {
				return reconcile.Result{}, err
			}
		}
	}
	return reconcile.Result{}, nil
}

const markLabel = "provingground.seedbed.dev/marked"

// collectsIdentities is an operator that collects identities, which are Secrets here, and
// an agent that takes them for its endpoints, which are ConfigMaps.
func (g *ground) collectsIdentities() scenarios.Check {
	g.follow(secrets, nil)
	g.follow(configMaps, nil)
	g.manage("agent", nil, takeIdentity)
	g.world.ControlPlane().Process(cluster.ProcessSpec{Name: collectorProcess, Main: func(ctx context.Context, env *cluster.Env) {
		for env.Clock.Sleep(ctx, 10*time.Second) == nil {
			if err := collectIdentities(ctx, env, g.fixed); err != nil {
				env.Log.V(1).Info("cannot collect", "err", err.Error())
			}
		}
	}})
	return scenarios.Check{Always: func() error {
		for _, name := range []string{"a", "b", "c"} {
			endpoint := g.have(configMaps, "endpoint-"+name)
			if endpoint == nil || g.have(secrets, endpoint.GetLabels()["identity"]) != nil {
				continue
			}
			return fmt.Errorf("%s uses an identity that does not exist", endpoint.GetName())
		}
		return nil
	}}
}

// takeIdentity makes an endpoint if the feature of its name is wanted, and takes it
// away otherwise.
func takeIdentity(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	for _, name := range []string{"a", "b", "c"} {
		endpoint := called(newConfigMap(), db, "endpoint-"+name)
		endpoint.Labels["identity"] = "identity"
		there, err := o.find(ctx, newConfigMap(), db, endpoint.Name)
		switch {
		case err != nil:
			return 0, err
		case there && !db.has(name):
			if err = o.drop(ctx, endpoint); err == nil && o.fixed {
				err = o.release(ctx, db, endpoint)
			}
		case !there && db.has(name):
			err = o.useIdentity(ctx, db, endpoint)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// useIdentity makes sure that the identity exists and makes the endpoint.
func (o *op) useIdentity(ctx context.Context, db *Database, endpoint *corev1.ConfigMap) error {
	identity := newSecret()
	err := o.live.Get(ctx, types.NamespacedName{Namespace: db.Namespace, Name: "identity"}, identity)
	switch {
	case apierrors.IsNotFound(err):
		identity = called(newSecret(), db, "identity")
		if o.fixed {
			identity.Annotations = map[string]string{endpoint.Name: "uses it"}
		}
		if err := o.Create(ctx, identity); err != nil {
			return err
		}
	case err != nil:
		return err
	case o.fixed:
		metav1.SetMetaDataAnnotation(&identity.ObjectMeta, endpoint.Name, "uses it")
		if err := o.Update(ctx, identity); err != nil {
			return err
		}
	}
	return o.make(ctx, endpoint)
}

// release says in the identity that an endpoint does not use it any more.
func (o *op) release(ctx context.Context, db *Database, endpoint *corev1.ConfigMap) error {
	identity := newSecret()
	if err := o.live.Get(ctx, types.NamespacedName{Namespace: db.Namespace, Name: "identity"}, identity); err != nil {
		return client.IgnoreNotFound(err)
	}
	delete(identity.Annotations, endpoint.Name)
	return o.Update(ctx, identity)
}

func collectIdentities(ctx context.Context, env *cluster.Env, fixed bool) error {
	var identities corev1.SecretList
	var endpoints corev1.ConfigMapList
	if err := env.Client.List(ctx, &identities); err != nil {
		return err
	}
	if err := env.Client.List(ctx, &endpoints); err != nil {
		return err
	}
	for i := range identities.Items {
		identity := &identities.Items[i]
		used := slices.ContainsFunc(endpoints.Items, func(e corev1.ConfigMap) bool { return e.Labels["identity"] == identity.Name })
		if fixed {
			used = len(identity.Annotations) > 0
		}
		switch _, marked := identity.Labels[markLabel]; {
		case used && marked:
			delete(identity.Labels, markLabel)
			return env.Client.Update(ctx, identity)
		case used:
		case !marked:
			identity.Labels[markLabel] = "true"
			return env.Client.Update(ctx, identity)
		case fixed:
			version := identity.ResourceVersion
			return env.Client.Delete(ctx, identity, client.Preconditions{UID: &identity.UID, ResourceVersion: &version})
		default:
			return env.Client.Delete(ctx, identity)
		}
	}
	return nil
}

// letsGo is a controller that takes the finalizer off ConfigMaps some time after they
// were deleted.
func (g *ground) letsGo() {
	g.controller(collectorProcess, []kube.Watch{{Object: newConfigMap()}}, func(env *cluster.Env) reconcile.Func {
		return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var o corev1.ConfigMap
			if err := env.Client.Get(ctx, req.NamespacedName, &o); err != nil || o.DeletionTimestamp == nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			o.Finalizers = nil
			return reconcile.Result{}, client.IgnoreNotFound(env.Client.Update(ctx, &o))
		}
	})
}

// lockOnce makes the lock of a Database and remembers that it has.
func lockOnce(ctx context.Context, o *op, db *Database) (time.Duration, error) {
	if db.DeletionTimestamp != nil {
		if err := o.drop(ctx, called(newConfigMap(), db, "lock")); err != nil {
			return 0, err
		}
		db.Finalizers = nil
		return 0, client.IgnoreNotFound(o.Update(ctx, db))
	}
	if !slices.Contains(db.Finalizers, finalizer) {
		db.Finalizers = []string{finalizer}
		return 0, o.Update(ctx, db)
	}
	if db.Status.Phase == "Deploying" {
		return 0, nil
	}
	var lock corev1.ConfigMap
	err := o.live.Get(ctx, types.NamespacedName{Namespace: db.Namespace, Name: "lock"}, &lock)
	there := err == nil
	if client.IgnoreNotFound(err) != nil {
		return 0, err
	}
	if there && lock.DeletionTimestamp != nil && o.fixed {
		return recheck, nil
	}
	if !there {
		lock := called(newConfigMap(), db, "lock")
		lock.Finalizers = []string{finalizer}
		if err := o.Create(ctx, lock); err != nil {
			return 0, err
		}
	}
	return 0, o.note(ctx, db, func(s *DatabaseStatus) { s.Phase = "Deploying" })
}

// keepsRecords is a controller that keeps a record for each Secret and each Database.
func (g *ground) keepsRecords() scenarios.Check {
	g.follow(secrets, nil)
	g.follow(databases, nil)
	g.follow(configMaps, func(c change) {
		if c.gone == nil {
			return
		}
		name := c.gone.GetName()
		if g.have(secrets, name) != nil || g.have(databases, name) != nil {
			g.breach("the record of %s is deleted, and %s exists", name, name)
		}
	})
	g.world.ControlPlane().Process(cluster.ProcessSpec{Name: operatorProcess, Main: func(ctx context.Context, env *cluster.Env) {
		for env.Clock.Sleep(ctx, 5*time.Second) == nil {
			if err := syncRecords(ctx, env, g.fixed); err != nil {
				env.Log.V(1).Info("cannot keep records", "err", err.Error())
			}
		}
	}})
	return scenarios.Check{Always: g.unbroken}
}

func syncRecords(ctx context.Context, env *cluster.Env, fixed bool) error {
	wanted := map[string]bool{}
	for _, list := range []client.ObjectList{&corev1.SecretList{}, &DatabaseList{}} {
		if err := env.Kube.List(ctx, list); err != nil {
			if fixed {
				return err
			}
			env.Log.V(1).Info("a source is skipped", "err", err.Error())
			continue
		}
		for _, o := range items(list) {
			wanted[o.GetName()] = true
		}
	}
	var records corev1.ConfigMapList
	if err := env.Kube.List(ctx, &records); err != nil {
		return err
	}
	for i := range records.Items {
		if !wanted[records.Items[i].Name] {
			if err := client.IgnoreNotFound(env.Kube.Delete(ctx, &records.Items[i])); err != nil {
				return err
			}
		}
		delete(wanted, records.Items[i].Name)
	}
	names := make([]string, 0, len(wanted))
	for name := range wanted { // sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		record := newConfigMap()
		record.Namespace, record.Name = metav1.NamespaceDefault, name
		if err := env.Kube.Create(ctx, record); err != nil {
			return err
		}
	}
	return nil
}
