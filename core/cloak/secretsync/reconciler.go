package secretsync

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// SecretSyncReconciler keeps the data plane's secrets in step with the cluster's: each
// enabled Secret, and each shadow, that is created, changed or deleted makes it sync.
type SecretSyncReconciler struct { //nolint:revive // the name is that of the public document
	// Sync makes the data plane hold the cluster's current secrets; see [Syncer.Sync]. An
	// error is tried again with backoff.
	Sync func(context.Context) error

	// ResyncPeriod is the time between syncs when nothing changes; zero means
	// cloak.DefaultSecretResyncPeriod.
	ResyncPeriod time.Duration
}

// request is the only one there is, so that a burst of events makes one sync.
var request = reconcile.Request{NamespacedName: types.NamespacedName{Name: "secrets"}}

// Reconcile syncs every secret.
func (r *SecretSyncReconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if err := r.Sync(ctx); err != nil {
		return reconcile.Result{}, err
	}
	period := r.ResyncPeriod
	if period == 0 {
		period = cloak.DefaultSecretResyncPeriod
	}
	return reconcile.Result{RequeueAfter: period}, nil
}

// Controller returns what syncs for as long as it is driven, and once at the start:
// without any Secret there is no event, but virtual IPs of before are to be retired.
func (r *SecretSyncReconciler) Controller() kube.Controller {
	return kube.Controller{
		Name:       "cloak-secret-sync",
		Reconciler: r,
		Watches: []kube.Watch{{Object: &corev1.Secret{}, Requests: func(_ context.Context, obj client.Object) []reconcile.Request {
			// On an update it is asked about the old object too, so a Secret that ceases to
			// be enabled counts.
			if s, ok := obj.(*corev1.Secret); ok && (protected.Enabled(s) || shadow.Managed(s)) {
				return []reconcile.Request{request}
			}
			return nil
		}}},
		Start: []reconcile.Request{request},
	}
}
