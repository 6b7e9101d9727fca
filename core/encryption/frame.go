package encryption

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Periods.
const (
	// Resync is how long a controller that nothing happens to waits before it looks
	// again. Credentials are not watched: a change of them is found by this.
	Resync = time.Minute

	// ConvergenceRetry is asked for while API servers differ.
	ConvergenceRetry = 2 * time.Minute
)

// reasonAsExpected is that of a condition of which there is nothing to say; one
// without a reason is not allowed.
const reasonAsExpected = "AsExpected"

// reconciler is a controller inside of the frame.
type reconciler struct {
	*Component
	name     string // such as EncryptionKey
	degraded string // the condition
	owned    []string
	sync     func(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error

	said map[string]said // by the type of the condition
}

// outcome is what a sync says beside its error.
type outcome struct {
	after      time.Duration
	conditions []metav1.Condition
	highestKey int64 // zero to leave it
	revision   *revision
	instances  []v1alpha1.Instance // nil to leave them
	givenUp    *[]int64            // nil to leave them
	fallback   *v1alpha1.Fallback  // goes with revision
	untouched  bool                // conditions stay as they are

	// degraded is what is wrong though the sync went as it should.
	degraded *problem
}

// problem is the reason and message of a condition that says that something is
// wrong.
type problem struct{ reason, message string }

// set adds a condition.
func (o *outcome) set(kind string, status metav1.ConditionStatus, reason, message string) {
	o.conditions = append(o.conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

func (r *reconciler) controller(more ...kube.Watch) kube.Controller {
	return kube.Controller{
		Name: r.name, Reconciler: r, Watches: r.watches(more...), Start: []reconcile.Request{request},
	}
}

// manager is the field manager of the controller's conditions.
func (r *reconciler) manager() string { return r.Name + "-" + r.name }

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	policy := &v1alpha1.EncryptionPolicy{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyName}, policy)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{RequeueAfter: Resync}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("get EncryptionPolicy %s: %w", v1alpha1.PolicyName, err)
	}
	run, err := r.mayRun(ctx, policy)
	if err != nil {
		return reconcile.Result{}, err
	}
	var out outcome
	if run {
		err = r.sync(ctx, policy, &out)
	}
	if statusErr := r.report(ctx, policy, &out, err); statusErr != nil {
		return reconcile.Result{}, statusErr
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if out.after == 0 || out.after > Resync {
		out.after = Resync
	}
	return reconcile.Result{RequeueAfter: out.after}, nil
}

// mayRun reports whether the controller should do anything.
func (r *reconciler) mayRun(ctx context.Context, policy *v1alpha1.EncryptionPolicy) (bool, error) {
	run, err := r.Provider.ShouldRunEncryptionControllers()
	if err != nil {
		return false, fmt.Errorf("ask whether encryption controllers should run: %w", err)
	}
	if !run || policy.Spec.ManagementState == v1alpha1.Unmanaged || policy.Spec.ManagementState == v1alpha1.Removed {
		return false, nil
	}
	return r.everEncrypted(ctx, policy)
}

// everEncrypted reports whether encryption was ever asked for. Once it was, it
// stays so: what was left behind says it.
func (r *reconciler) everEncrypted(ctx context.Context, policy *v1alpha1.EncryptionPolicy) (bool, error) {
	if t := policy.Spec.Type; t != v1alpha1.TypeUnset && t != v1alpha1.TypeIdentity {
		return true, nil
	}
	switch err := r.Cached.Get(ctx, r.managed(), &corev1.Secret{}); {
	case err == nil:
		return true, nil
	case !apierrors.IsNotFound(err):
		return false, fmt.Errorf("get Secret %s: %w", r.managed(), err)
	}
	keys := &corev1.SecretList{}
	if err := r.Cached.List(ctx, keys, client.InNamespace(r.Namespace), r.keySelector()); err != nil {
		return false, fmt.Errorf("list key Secrets in %s: %w", r.Namespace, err)
	}
	return len(keys.Items) > 0, nil
}

// report writes the conditions of the controller.
func (r *reconciler) report(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome, err error) error {
	if out.untouched {
		return nil
	}
	if err != nil {
		out.degraded = &problem{"Error", err.Error()}
	}
	switch {
	case r.degraded == "":
	case out.degraded == nil:
		out.set(r.degraded, metav1.ConditionFalse, reasonAsExpected, "")
	default:
		out.set(r.degraded, metav1.ConditionTrue, out.degraded.reason, out.degraded.message)
	}
	for _, kind := range r.owned { // an apply without them would delete them
		if !has(out.conditions, kind) {
			out.set(kind, metav1.ConditionFalse, reasonAsExpected, "")
		}
	}
	r.yield(policy, out)
	if err := r.applyStatus(ctx, policy, r.manager(), out); err != nil {
		return err
	}
	r.remember(policy, out)
	return nil
}

func has(conditions []metav1.Condition, kind string) bool {
	for i := range conditions {
		if conditions[i].Type == kind {
			return true
		}
	}
	return false
}
