package gossipkeys

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// keepApplied is the one task that touches the ring. A list that arrives while
// it waits after a failure is tried at once; lists in between are never seen.
func (a *Agent) keepApplied(ctx context.Context) {
	retry := backoff{base: ApplyRetryMin, max: ApplyRetryMax}
	var delay time.Duration // zero: until a list comes
	for a.await(ctx, a.keysCame, delay) {
		err := a.apply(ctx)
		if err == nil {
			retry.reset()
			delay = 0
			continue
		}
		delay = retry.next()
		a.Log.Error(err, "could not apply gossip keys", "retryAfter", delay.String())
	}
}

// apply brings the ring to the latest list, creating the instance for the first.
func (a *Agent) apply(ctx context.Context) error {
	a.mu.Lock()
	want, instance, before := a.Mode.Ring(a.latest), a.instance, a.ring
	if len(want) > 0 && !want.Equal(before) {
		a.ring = nil // until the change is complete there is nothing to report
	}
	a.mu.Unlock()
	if len(want) == 0 || want.Equal(before) {
		return nil
	}
	if instance == nil {
		created, err := a.Gossip.Create(ctx, InstanceOptions{
			Name:           a.Node,
			Keys:           want,
			VerifyIncoming: !a.AcceptPlaintext,
			VerifyOutgoing: !a.SendPlaintext,
			OnEvent:        a.onEvent,
		})
		if err != nil {
			return fmt.Errorf("create gossip instance: %w", err)
		}
		instance = created
	} else if err := ApplyKeys(instance.Keyring(), want); err != nil {
		return err
	}
	now := a.Clock.Now()
	a.mu.Lock()
	a.instance, a.ready = instance, true
	a.ring, a.ringTime = want, now
	a.mu.Unlock()
	a.Log.Info("Applied gossip keys", "keys", want.Fingerprints())
	a.joinDue.Send()
	a.reportDue.Send()
	return nil
}

// keepJoined joins the peers that are not members: when a ring is new, since
// peers that came before were ignored or could not be understood; when a Node
// appears; and once in a while, since two halves of a cluster that have given
// each other up never speak again by themselves.
func (a *Agent) keepJoined(ctx context.Context) {
	for a.await(ctx, a.joinDue, RejoinInterval) {
		a.join(ctx)
	}
}

func (a *Agent) join(ctx context.Context) {
	a.mu.Lock()
	instance := a.instance
	a.mu.Unlock()
	if instance == nil {
		return
	}
	peers, err := a.Peers.Peers(ctx)
	if err != nil {
		a.Log.Error(err, "could not learn who the gossip peers are")
		return
	}
	members := a.Members()
	missing := slices.DeleteFunc(slices.Clone(peers), func(p Peer) bool {
		return p.Name == a.Node || slices.Contains(members, p.Name)
	})
	if len(missing) == 0 {
		return
	}
	joined, err := instance.Join(ctx, missing)
	if err != nil {
		a.Log.Error(err, "could not join all gossip peers", "joined", joined, "missing", len(missing))
	}
}

// peersController wakes keepJoined when there is a Node that is no member.
func (a *Agent) peersController() kube.Controller {
	wake := reconcile.Request{NamespacedName: types.NamespacedName{Name: "peers"}}
	return kube.Controller{
		Name: "gossip-peers",
		Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			a.joinDue.Send()
			return reconcile.Result{}, nil
		}),
		Watches: []kube.Watch{{
			Object: &corev1.Node{},
			Requests: func(_ context.Context, node client.Object) []reconcile.Request {
				if slices.Contains(a.Members(), node.GetName()) {
					return nil
				}
				return []reconcile.Request{wake}
			},
		}},
	}
}

// keepReported reports what the ring holds when that changes, and again once in
// a while in case the report got lost.
func (a *Agent) keepReported(ctx context.Context) {
	retry := backoff{base: ApplyRetryMin, max: ApplyRetryMax}
	delay := RejoinInterval
	for a.await(ctx, a.reportDue, delay) {
		delay = RejoinInterval
		report, ok := a.report()
		if !ok {
			continue
		}
		if err := a.Reporter.Report(ctx, report); err != nil {
			delay = retry.next()
			a.Log.Error(err, "could not report the gossip keys", "retryAfter", delay.String())
			continue
		}
		retry.reset()
	}
}

// report returns what can be said of the ring. While the ring is not at the
// list whose version was heard last, that is nothing: the report made before
// stands until it is.
func (a *Agent) report() (Report, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ring) == 0 {
		return Report{}, false
	}
	if a.versions != nil && !a.Mode.Ring(a.versions).Equal(a.ring) {
		return Report{}, false
	}
	return Report{Version: a.version, Keys: a.ring.Fingerprints(), Time: a.ringTime}, true
}
