package provingground

import (
	"context"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// operatorProcess is the process of the operator under test.
const operatorProcess = "operator"

// finalizer holds a Database until its operator has cleaned up.
const finalizer = "provingground.seedbed.dev/cleanup"

// recheck is when an operator looks again at what it waits for.
const recheck = 2 * time.Second

// members is the part that operators of databases have in common: one Pod and one child
// of another kind, such as its claim, for each member, made and taken away as the spec
// says. What they differ in are the children and how deletions are decided.
type members struct {
	kube    client.Client // reads from the cache
	live    client.Reader // reads from the API server
	child   func(db *Database, name string) client.Object
	list    func() client.ObjectList
	names   func(db *Database) []string // of the children that the spec wants
	pods    bool                        // each child has a Pod, which ends first
	allowed func(ctx context.Context, m *members, db *Database, child client.Object) (bool, error)
	guarded bool // a child is deleted only if it is still the one that was seen

	// blind, if set, are the names of all children that there may be: those that are not
	// wanted are deleted without a look whether they are there.
	blind func(db *Database) []string
}

func (m *members) watches() []kube.Watch {
	watches := []kube.Watch{{Object: &Database{}}, {Object: m.child(&Database{}, ""), Requests: owned}}
	if m.pods {
		watches = append(watches, kube.Watch{Object: &corev1.Pod{}, Requests: owned})
	}
	return watches
}

// run starts the operator.
func (g *ground) operator(m members) {
	if m.pods {
		g.kubelet()
		g.protection()
	}
	g.controller(operatorProcess, m.watches(), func(env *cluster.Env) reconcile.Func {
		m := m
		m.kube, m.live = env.Client, env.Kube
		return m.reconcile
	})
}

func (m *members) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var db Database
	if err := m.kube.Get(ctx, req.NamespacedName, &db); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var wanted []string
	if db.DeletionTimestamp == nil {
		wanted = m.names(&db)
		if !slices.Contains(db.Finalizers, finalizer) {
			db.Finalizers = append(db.Finalizers, finalizer)
			return reconcile.Result{}, m.kube.Update(ctx, &db)
		}
	}
	left, err := m.takeAway(ctx, &db, wanted)
	if err != nil {
		return reconcile.Result{}, err
	}
	if left > 0 {
		return reconcile.Result{RequeueAfter: recheck}, nil
	}
	if db.DeletionTimestamp != nil {
		db.Finalizers = slices.DeleteFunc(db.Finalizers, func(f string) bool { return f == finalizer })
		return reconcile.Result{}, client.IgnoreNotFound(m.kube.Update(ctx, &db))
	}
	return reconcile.Result{}, m.add(ctx, &db, wanted)
}

// takeAway deletes what is not wanted, again and again, and returns how much of it is
// still there: a claim stays until its Pod has ended.
func (m *members) takeAway(ctx context.Context, db *Database, wanted []string) (left int, err error) {
	if m.blind != nil {
		for _, name := range m.blind(db) {
			if slices.Contains(wanted, name) {
				continue
			}
			o := m.child(db, name)
			o.SetNamespace(db.Namespace)
			o.SetName(name)
			if err := m.remove(ctx, o); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
	for _, list := range m.lists() {
		if err := m.kube.List(ctx, list, client.InNamespace(db.Namespace), client.MatchingLabels{ownerLabel: db.Name}); err != nil {
			return 0, err
		}
		for _, o := range items(list) {
			if slices.Contains(wanted, o.GetName()) {
				continue
			}
			ok, err := m.allowed(ctx, m, db, o)
			if err != nil {
				return 0, err
			}
			if !ok {
				continue
			}
			left++
			if err := m.remove(ctx, o); err != nil {
				return 0, err
			}
		}
	}
	return left, nil
}

func (m *members) lists() []client.ObjectList {
	if m.pods {
		return []client.ObjectList{&corev1.PodList{}, m.list()}
	}
	return []client.ObjectList{m.list()}
}

func (m *members) remove(ctx context.Context, o client.Object) error {
	var options []client.DeleteOption
	if m.guarded {
		options = append(options, sameObject(o))
	}
	return client.IgnoreNotFound(m.kube.Delete(ctx, o, options...))
}

// add makes what is missing.
func (m *members) add(ctx context.Context, db *Database, wanted []string) error {
	labels := map[string]string{ownerLabel: db.Name, uidLabel: string(db.UID)}
	for _, name := range wanted {
		objects := []client.Object{m.child(db, name)}
		if m.pods {
			objects = append(objects, newMember(name))
		}
		for _, o := range objects {
			o.SetNamespace(db.Namespace)
			o.SetName(name)
			o.SetLabels(labels)
			if err := m.kube.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
		}
	}
	return nil
}

// always lets each deletion go ahead that the view of the operator asks for.
func always(context.Context, *members, *Database, client.Object) (bool, error) { return true, nil }

// ofThisUID lets go only what was made for the Database of the same UID.
func ofThisUID(_ context.Context, _ *members, db *Database, child client.Object) (bool, error) {
	return child.GetLabels()[uidLabel] == string(db.UID), nil
}

// byLiveSpec asks the API server itself what the spec is at present.
func byLiveSpec(ctx context.Context, m *members, db *Database, child client.Object) (bool, error) {
	var now Database
	err := m.live.Get(ctx, client.ObjectKeyFromObject(db), &now)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return now.DeletionTimestamp != nil || !slices.Contains(m.names(&now), child.GetName()), nil
}

// memberNames are name-0, name-1, … for each replica.
func memberNames(db *Database) []string {
	var names []string
	for i := range db.Spec.Replicas {
		names = append(names, db.Name+"-"+strconv.Itoa(i))
	}
	return names
}

// newClaim is the claim of a member.
func newClaim(*Database, string) client.Object {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: gigabytes(1)},
		},
	}
}
