package sim_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// Tickets is an ordinary controller-runtime reconciler: it gives each ConfigMap
// with the label "ticket" the next number of a pool.
type Tickets struct{ client.Client }

func (t *Tickets) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var ticket, pool corev1.ConfigMap
	if err := t.Get(ctx, req.NamespacedName, &ticket); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if ticket.Data["number"] != "" {
		return reconcile.Result{}, nil
	}
	if err := t.Get(ctx, client.ObjectKey{Namespace: "default", Name: "pool"}, &pool); err != nil {
		return reconcile.Result{}, err
	}
	next, err := strconv.Atoi(pool.Data["next"])
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	pool.Data["next"] = strconv.Itoa(next + 1)
	pool.ResourceVersion = "" // BUG: "gets rid of all those conflicts"
	if err := t.Update(ctx, &pool); err != nil {
		return reconcile.Result{}, err
	}
	ticket.Data = map[string]string{"number": strconv.Itoa(next)}
	return reconcile.Result{}, t.Update(ctx, &ticket)
}

// tickets is the world in which Tickets is tested: a manager that runs it, a
// pool, and three tickets that turn up at the same time.
func tickets(w *sim.World) {
	w.Create(configMap("pool", nil, map[string]string{"next": "1"}))
	w.ControlPlane().Process(cluster.ProcessSpec{
		Name: "manager",
		Main: func(ctx context.Context, env *cluster.Env) {
			_ = env.Run(ctx, kube.Controller{
				Name:       "tickets",
				Reconciler: &Tickets{env.Client},
				Watches: []kube.Watch{
					{Object: &corev1.ConfigMap{}, Selector: labels.SelectorFromSet(labels.Set{"ticket": "yes"})},
					{Object: &corev1.ConfigMap{}, Namespace: "default", Name: "pool", Requests: nothing},
				},
			})
		},
	})
	for _, name := range []string{"ann", "bob", "cid"} {
		w.At(time.Second, func() {
			w.Story("a user creates ticket %s", name)
			w.Create(configMap(name, map[string]string{"ticket": "yes"}, nil))
		})
	}
	w.Always("numbers are unique", "two customers would be served at once", func() error {
		var list corev1.ConfigMapList
		w.Must(w.Admin().List(context.Background(), &list))
		seen := map[string]string{}
		for _, cm := range list.Items {
			n := cm.Data["number"]
			if other := seen[n]; n != "" && other != "" {
				return fmt.Errorf("%s and %s both have number %s", other, cm.Name, n)
			}
			seen[n] = cm.Name
		}
		return nil
	})
}

func nothing(context.Context, client.Object) []reconcile.Request { return nil }

func configMap(name string, labels, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Data:       data,
	}
}

// A reconciler with a lost update is caught, and the history that shows it is
// made as small as it gets.
func Example() {
	report, err := sim.Run(sim.Options{
		Name:      "tickets",
		Cluster:   cluster.Config{Profile: sim.Calm()},
		Horizon:   time.Minute,
		Workers:   1,
		Artifacts: sim.NoArtifacts,
	}, tickets)
	if err != nil {
		fmt.Println("the engine failed:", err)
		return
	}
	message, _, _ := strings.Cut(report.Failure.String(), "\nfound at seed")
	fmt.Print(message)
	fmt.Println("choices that are not the simplest:", len(report.Failure.Small.Schedule.Picks))
	// Output:
	// property broken: numbers are unique
	//   it means: two customers would be served at once
	//   seen after 0:01.001600 of virtual time: ann and bob both have number 1
	//
	// what happened:
	//    0:00.000000  manager             starts
	//    0:00.000200  manager             watch configmaps -> ok
	//    0:00.000200  manager             watch configmaps/default -> ok
	//    0:00.000400  manager             its cache holds the list of configmaps: 0
	//    0:00.000400  manager             its cache holds the list of configmaps/default/pool: 1
	//    0:01.000000                      a user creates ticket ann
	//    0:01.000000                      a user creates ticket bob
	//    0:01.000000                      a user creates ticket cid
	//    0:01.000200  manager             its cache sees the creation of configmaps/default/ann
	//    0:01.000200  manager             its cache sees the creation of configmaps/default/bob
	//    0:01.000200  manager             its cache sees the creation of configmaps/default/cid
	//    0:01.000400  manager             update configmaps/default/pool -> ok
	//    0:01.000800  manager             update configmaps/default/ann -> ok
	//    0:01.001000  manager             its cache sees the update of configmaps/default/ann
	//    0:01.001000  manager             its cache sees the update of configmaps/default/pool
	//    0:01.001200  manager             update configmaps/default/pool -> ok
	//    0:01.001600  manager             update configmaps/default/bob -> ok
	//    0:01.001600  numbers are unique  property broken: numbers are unique: ann and bob both have number 1
	// choices that are not the simplest: 1
}
