package provingground

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

func leaderBugs() []Bug {
	return []Bug{{
		ID: "kubernetes-23731", Link: "https://github.com/kubernetes/kubernetes/issues/23731", Class: "T",
		Title: "A leader that was paused goes on to write after another has taken over",
		Why: `After the list of the project: of two candidates one leads, by a lease that it renews. It looks whether it leads and
begins its work; then it is paused, by a garbage collection or its machine, for longer than the lease. The other takes
over and writes. The first goes on where it was, and writes over it. Repair: fencing. The new leader writes its term
first, and each write says which state it follows, so that those of the old leader are refused.`,
		Property: "old-leaders-do-not-write", Meaning: "Once a leader has written, none before it does: its work would be undone.",
		processes: []string{"candidate-a", "candidate-b"},
		build:     (*ground).elects,
	}}
}

const (
	leaseLasts  = 15 * time.Second
	leaseRenews = 4 * time.Second
)

// elects are two candidates and what the leader works on.
func (g *ground) elects() scenarios.Check {
	term := func(o client.Object) int {
		n, err := strconv.Atoi(o.GetAnnotations()["term"])
		if err != nil {
			return 0 // nobody has written yet
		}
		return n
	}
	g.follow(configMaps, func(c change) {
		if c.old != nil && c.now != nil && c.now.GetName() == "work" && term(c.now) < term(c.old) {
			g.breach("the leader of term %d writes after that of term %d", term(c.now), term(c.old))
		}
	})
	for _, name := range []string{"candidate-a", "candidate-b"} {
		g.world.ControlPlane().Process(cluster.ProcessSpec{Name: name, Main: func(ctx context.Context, env *cluster.Env) {
			c := &candidate{env: env, me: name + "/" + strconv.Itoa(env.Incarnation), fenced: g.fixed}
			for env.Clock.Sleep(ctx, time.Second) == nil {
				if err := c.live(ctx); err != nil {
					env.Log.V(1).Info("cannot go on", "err", err.Error())
				}
			}
		}})
	}
	return scenarios.Check{Always: g.unbroken}
}

// candidate is one incarnation of a candidate. Times are those of its clock that nobody
// steps.
type candidate struct {
	env    *cluster.Env
	me     string
	fenced bool

	seen    string        // the revision of the lease that it has seen last
	since   time.Duration // and when
	renewed time.Duration
	term    int // that it leads; 0: none
	follows string
}

// live renews or takes the lease, and works if the candidate leads.
func (c *candidate) live(ctx context.Context) error {
	now := c.env.Clock.Monotonic()
	if c.term == 0 || now-c.renewed > leaseRenews {
		if err := c.campaign(ctx, now); err != nil {
			return err
		}
	}
	if c.term == 0 || c.env.Clock.Monotonic()-c.renewed > leaseLasts {
		c.term = 0
		return nil
	}
	return c.work(ctx)
}

func (c *candidate) campaign(ctx context.Context, now time.Duration) error {
	var lease corev1.ConfigMap
	err := c.env.Kube.Get(ctx, types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "lease"}, &lease)
	if err != nil {
		return err
	}
	if lease.ResourceVersion != c.seen {
		c.seen, c.since = lease.ResourceVersion, now
	}
	term, err := strconv.Atoi(lease.Data["term"])
	if err != nil {
		return err
	}
	mine := lease.Data["holder"] == c.me
	if !mine && lease.Data["holder"] != "" && now-c.since < leaseLasts {
		c.term = 0
		return nil
	}
	if !mine {
		term, c.follows = term+1, ""
	}
	lease.Data = map[string]string{"holder": c.me, "term": strconv.Itoa(term), "renewals": lease.Data["renewals"] + "."}
	if err := c.env.Kube.Update(ctx, &lease); err != nil {
		return err
	}
	c.seen, c.since, c.renewed, c.term = lease.ResourceVersion, now, now, term
	return nil
}

// work reads, thinks, and writes.
func (c *candidate) work(ctx context.Context) error {
	var work corev1.ConfigMap
	if err := c.env.Kube.Get(ctx, types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "work"}, &work); err != nil {
		return err
	}
	if c.fenced && c.follows == "" {
		if n, err := strconv.Atoi(work.Annotations["term"]); err == nil && n > c.term {
			c.term = 0
			return nil
		}
	} else if c.fenced {
		work.ResourceVersion = c.follows
	}
	if err := c.env.Clock.Sleep(ctx, 500*time.Millisecond); err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&work.ObjectMeta, "term", strconv.Itoa(c.term))
	if !c.fenced {
		patch := []byte(`{"metadata":{"annotations":{"term":"` + strconv.Itoa(c.term) + `"}}}`)
		return c.env.Kube.Patch(ctx, &work, client.RawPatch(types.MergePatchType, patch))
	}
	err := c.env.Kube.Update(ctx, &work)
	if apierrors.IsConflict(err) {
		c.term, c.follows = 0, ""
		return nil
	}
	if err == nil {
		c.follows = work.ResourceVersion
	}
	return err
}
