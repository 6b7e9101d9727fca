package provingground

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

const (
	neverTooMany    = "never-too-many"
	whyNeverTooMany = "Of the Pods that a controller was told it has made there are never more than are wanted: they take the place of others, and work is done twice."
	inTheEndEnough  = "in-the-end-enough"
	whyEnough       = "Once all is calm there are as many Pods as are wanted."
)

// replicaBugs are controllers that make Pods under generated names and have to know,
// while their cache lags, which of them they have made already.
func replicaBugs() []Bug {
	all := []Bug{
		{
			ID: "grove-122", Link: "https://github.com/ai-dynamo/grove/issues/122", Class: "S",
			Title: "Too many Pods are made while the cache does not show those just made",
			Why: `Events come in bursts, and each reconcile counts the Pods in its cache and makes what is missing. The cache does
not show yet what the reconcile before has made. (As tidb-operator 4199, kuberay 715 and others.) Repair, as the
thread proposes: expectations; nothing is made until the cache shows all that was.`,
			Property: neverTooMany, Meaning: whyNeverTooMany,
			build: func(g *ground) scenarios.Check {
				return g.neverTooMany(&replicas{expects: g.fixed})
			},
		},
		{
			ID: "kubernetes-129795", Link: "https://github.com/kubernetes/kubernetes/issues/129795", Class: "ST",
			Title: "Too many Pods are made when expectations time out before the cache has caught up",
			Why: `The ReplicaSet controller makes nothing while it waits to see what it has made, but for five minutes at most: then
SatisfiedExpectations is true although nothing was seen. A cache that lags for longer leads to more Pods than are
wanted. (Expectations last 20 s here, as long as caches often lag in the simulated storm.) Repair: when the time is up
the API server itself is asked.`,
			Property: neverTooMany, Meaning: whyNeverTooMany,
			build: func(g *ground) scenarios.Check {
				return g.neverTooMany(&replicas{expects: true, lasts: 20 * time.Second, asks: g.fixed})
			},
		},
		{
			ID: "kubernetes-67662", Link: "https://github.com/kubernetes/kubernetes/issues/67662", Class: "L",
			Title: "A creation that timed out is never tried again",
			Why: `The create request of a Pod is answered with Timeout, for instance because a webhook is away. The controller takes
that to mean that the Pod exists and is being initialised, swallows the error and goes on expecting it. If it was not
created, nobody ever tries again: "these replica sets just sit there". Repair (pull request 86140): the error is
returned, and what was expected is given up.`,
			Property: inTheEndEnough, Meaning: whyEnough,
			build: func(g *ground) scenarios.Check {
				return g.inTheEndEnough(&replicas{expects: true, swallows: !g.fixed})
			},
		},
		{
			ID: "grove-457", Link: "https://github.com/ai-dynamo/grove/issues/457", Class: "S",
			Title: "A Pod is never made again, since the one that was deleted is still expected",
			Why: `The cure for grove-122 has a bug of its own. A Pod is made, and somebody deletes it before the slow controller
reconciles again. Its creation is still expected, and the cache will never show it: it counts as there for ever.
Repair (pull request 458): the deletion ends the expectation. Here, what is expected is looked up in the API server.`,
			Property: inTheEndEnough, Meaning: whyEnough,
			build: func(g *ground) scenarios.Check {
				g.hasty()
				return g.inTheEndEnough(&replicas{expects: true, looksUp: g.fixed})
			},
		},
	}
	for i := range all {
		all[i].processes = []string{operatorProcess}
	}
	all[3].processes = append(all[3].processes, hastyProcess)
	return all
}

// replicas is a controller that keeps a number of Pods.
type replicas struct {
	expects  bool          // it waits to see what it has made
	lasts    time.Duration // for how long; 0: for ever
	asks     bool          // when that is over it asks the API server
	swallows bool          // it takes a timeout for success
	looksUp  bool          // it looks up in the API server what it expects

	made func(name string) // is told of each Pod whose creation was answered
}

// memory is what one incarnation of the controller remembers.
type memory struct {
	expected []string // names of Pods that it has made and not seen; empty for one whose name it does not know
	since    time.Duration
}

func (g *ground) keeps(r *replicas) {
	memories := map[*op]*memory{}
	g.manage(operatorProcess, []client.Object{&corev1.Pod{}}, func(ctx context.Context, o *op, db *Database) (time.Duration, error) {
		if memories[o] == nil {
			memories[o] = &memory{}
		}
		return r.reconcile(ctx, o, db, memories[o])
	})
}

func (g *ground) neverTooMany(r *replicas) scenarios.Check {
	g.follow(databases, nil)
	g.follow(pods, nil)
	known := map[string]bool{}
	r.made = func(name string) {
		known[name] = true
		db := g.database(g.have(databases, "web"))
		n := g.count(pods, func(o apiserver.Object) bool { return known[o.GetName()] })
		if db != nil && n > db.Spec.Replicas {
			g.breach("%d pods exist that the controller was told it has made, and %d are wanted", n, db.Spec.Replicas)
		}
	}
	g.keeps(r)
	return scenarios.Check{Always: g.unbroken}
}

func (g *ground) inTheEndEnough(r *replicas) scenarios.Check {
	g.follow(databases, nil)
	g.follow(pods, nil)
	r.made = func(string) {}
	g.keeps(r)
	return scenarios.Check{Within: patience, Eventually: func() error {
		db := g.database(g.have(databases, "web"))
		if n := g.count(pods, nil); db == nil || n < db.Spec.Replicas {
			return fmt.Errorf("only %d pods exist", n)
		}
		return nil
	}}
}

func (r *replicas) reconcile(ctx context.Context, o *op, db *Database, m *memory) (time.Duration, error) {
	var list corev1.PodList
	if err := o.List(ctx, &list, client.InNamespace(db.Namespace), client.MatchingLabels{ownerLabel: db.Name}); err != nil {
		return 0, err
	}
	if err := r.see(ctx, o, db, &list, m); err != nil {
		return 0, err
	}
	for n := len(list.Items) + len(m.expected); n < db.Spec.Replicas; n++ {
		pod := called(shortPod(), db, "")
		pod.GenerateName = db.Name + "-"
		err := o.Create(ctx, pod)
		switch {
		case err == nil:
			r.made(pod.Name)
			if r.expects {
				m.expected, m.since = append(m.expected, pod.Name), o.env.Clock.Monotonic()
			}
		case apierrors.IsTimeout(err) && r.swallows:
			m.expected, m.since = append(m.expected, ""), o.env.Clock.Monotonic()
		default:
			return 0, err
		}
	}
	if len(m.expected) > 0 {
		return recheck, nil
	}
	return 0, nil
}

// see crosses off what is expected and the cache shows, and gives up what is expected
// for too long.
func (r *replicas) see(ctx context.Context, o *op, db *Database, list *corev1.PodList, m *memory) error {
	shown := map[string]bool{}
	for i := range list.Items {
		shown[list.Items[i].Name] = true
	}
	var still []string
	for _, name := range m.expected {
		if shown[name] {
			continue
		}
		if r.looksUp {
			err := o.live.Get(ctx, types.NamespacedName{Namespace: db.Namespace, Name: name}, &corev1.Pod{})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
		}
		still = append(still, name)
	}
	m.expected = still
	if r.lasts == 0 || len(still) == 0 || o.env.Clock.Monotonic()-m.since < r.lasts {
		return nil
	}
	if !r.asks {
		m.expected = nil
		return nil
	}
	var live corev1.PodList
	if err := o.live.List(ctx, &live, client.InNamespace(db.Namespace), client.MatchingLabels{ownerLabel: db.Name}); err != nil {
		return err
	}
	m.expected = nil
	for i := range live.Items {
		if name := live.Items[i].Name; !shown[name] {
			m.expected = append(m.expected, name)
		}
	}
	m.since = o.env.Clock.Monotonic()
	return nil
}

// hastyProcess is somebody who deletes Pods as soon as they are made, a few times.
const hastyProcess = "user"

func (g *ground) hasty() {
	g.world.ControlPlane().Process(cluster.ProcessSpec{Name: hastyProcess, Main: func(ctx context.Context, env *cluster.Env) {
		for range 6 {
			if env.Clock.Sleep(ctx, 10*time.Second) != nil {
				return
			}
			var list corev1.PodList
			if env.Kube.List(ctx, &list) != nil || len(list.Items) == 0 {
				continue
			}
			pod := &list.Items[len(list.Items)-1]
			// It is tried again later, on another one.
			_ = env.Kube.Delete(ctx, pod)
		}
	}})
}
