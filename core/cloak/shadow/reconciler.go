package shadow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// attempts is how often one reconcile tries when others write at the same time.
const attempts = 4

// SecretReconciler keeps the shadow of each Secret.
type SecretReconciler struct {
	// Cache is read first, and for the shadows of others. It must have synced.
	Cache kube.Reader

	// Live writes, and reads again after another agent was faster.
	Live kube.Kube

	// Entropy is what placeholders are drawn from.
	Entropy io.Reader

	Recorder cloak.Recorder
	Log      logr.Logger
}

// errOrphan is returned when the shadow of a deleted Secret is still there: to take it over
// would give the new Secret's values to Pods of the old one.
var errOrphan = errors.New("it belongs to a Secret that had this name before")

// Reconcile brings the shadow of one Secret to what section 2.2 of the specification
// says:
//
//  1. no Secret: nothing; the shadow is garbage collected;
//  2. not enabled, or being deleted: no shadow, if it is ours;
//  3. a value that no placeholder can stand in for: no shadow at all, so that the webhook
//     refuses Pods, in place of half of them being protected;
//  4. otherwise what [Plan] says, bound to the versions that were read.
//
// A foreign Secret in the shadow's place is left alone, and the condition says so. One that
// belongs to a Secret of the same name that is gone is deleted first, as the garbage
// collector would: that may miss it, if its watch broke while the name changed hands.
func (r *SecretReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	reader := r.Cache
	var err error
	for range attempts {
		err = r.attempt(ctx, reader, req.NamespacedName)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) && !errors.Is(err, errOrphan) {
			break
		}
		reader = r.Live
	}
	if err != nil {
		err = fmt.Errorf("shadow of Secret %s: %w", req.NamespacedName, err)
	}
	return reconcile.Result{}, err
}

// attempt reads both once. The shadow is read first: what is written is bound to its
// version, so it cannot replace a shadow that somebody has made for a newer Secret.
func (r *SecretReconciler) attempt(ctx context.Context, reader kube.Reader, name types.NamespacedName) error {
	current, err := get(ctx, reader, types.NamespacedName{Namespace: name.Namespace, Name: NameOf(name.Name)})
	if err != nil {
		return err
	}
	original, err := get(ctx, reader, name)
	if err != nil || original == nil {
		return err
	}
	if !original.DeletionTimestamp.IsZero() {
		return r.remove(ctx, original, current)
	}
	if !protected.Enabled(original) {
		if err := r.remove(ctx, original, current); err != nil {
			return err
		}
		return r.tell(ctx, original, nil)
	}
	report := protected.Inspect(original)
	switch {
	case len(report.Values) > 0:
		if err := r.remove(ctx, original, current); err != nil {
			return err
		}
		return r.tell(ctx, original, defective(report.Defects()))
	case current != nil && !Owned(current, original):
		return r.foreign(ctx, original, current)
	case len(original.Data) == 0 && current == nil:
		return r.tell(ctx, original, &Condition{Status: "False", Reason: "NoData", Message: "there is nothing to protect"})
	}
	if err := r.write(ctx, original, current); err != nil {
		return err
	}
	return r.tell(ctx, original, conditionOf(report))
}

func get(ctx context.Context, reader kube.Reader, name types.NamespacedName) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	if err := reader.Get(ctx, name, s); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return s, nil
}

// remove deletes the shadow, this very object as it was read, if it is ours.
func (r *SecretReconciler) remove(ctx context.Context, original, current *corev1.Secret) error {
	if current == nil || !Owned(current, original) || !current.DeletionTimestamp.IsZero() {
		return nil
	}
	err := r.Live.Delete(ctx, current, client.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion})
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	r.Log.Info("Deleted shadow", "secret", client.ObjectKeyFromObject(original))
	return nil
}

// foreign deals with a Secret in the place of the shadow.
func (r *SecretReconciler) foreign(ctx context.Context, original, current *corev1.Secret) error {
	if orphaned(current, original) {
		return r.removeOrphan(ctx, original, current)
	}
	return r.tell(ctx, original, &Condition{Status: "False", Reason: "ShadowConflict", Message: fmt.Sprintf(
		"there is a Secret %s that is not the shadow of this one; it is left alone, and Pods that refer to this one are refused until it is deleted", current.Name)})
}

// removeOrphan deletes a shadow whose owner is gone, and returns errOrphan, so that it is
// looked at again. What was read may be older than the shadow: only if the Secret is as
// read now as well, its name is that of the shadow's owner no more.
func (r *SecretReconciler) removeOrphan(ctx context.Context, original, current *corev1.Secret) error {
	live, err := get(ctx, r.Live, client.ObjectKeyFromObject(original))
	if err != nil {
		return err
	}
	if live == nil || live.UID != original.UID {
		return errOrphan
	}
	err = r.Live.Delete(ctx, current, client.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion})
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	r.Log.Info("Deleted shadow of a Secret that is gone", "secret", client.ObjectKeyFromObject(original))
	return errOrphan
}

// write creates or updates the shadow, unless it is as it should be.
func (r *SecretReconciler) write(ctx context.Context, original, current *corev1.Secret) error {
	var shadows corev1.SecretList
	if err := r.Cache.List(ctx, &shadows, client.MatchingLabels{cloak.LabelManaged: "true"}); err != nil {
		return fmt.Errorf("list shadows: %w", err)
	}
	planned, replaced, err := Plan(original, current, NewIndex(shadows.Items), r.Entropy)
	if err != nil {
		return err
	}
	switch {
	case current == nil:
		return r.create(ctx, original, planned)
	case equality.Semantic.DeepEqual(planned, current):
		return nil
	}
	if err := r.Live.Update(ctx, planned); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	r.Log.Info("Updated shadow", "secret", client.ObjectKeyFromObject(original), "replaced", replaced)
	if len(replaced) > 0 {
		r.Recorder.Event(original, corev1.EventTypeNormal, "PlaceholderReplaced", fmt.Sprintf(
			"keys %q have new placeholders; a Pod that has one of before in its environment needs a restart", replaced))
	}
	return nil
}

// create makes the first shadow of a Secret. Who holds the real values is read before,
// since what fails after it is not tried again: once there is a shadow, no Pod gets them.
func (r *SecretReconciler) create(ctx context.Context, original, planned *corev1.Secret) error {
	holders, err := r.holders(ctx, original)
	if err != nil {
		return err
	}
	if err := r.Live.Create(ctx, planned); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	r.Log.Info("Created shadow", "secret", client.ObjectKeyFromObject(original), "keys", slices.Sorted(maps.Keys(planned.Data)))
	r.warnOfHolders(original, holders)
	return nil
}

// Controller returns what keeps all shadows for as long as it is driven.
func (r *SecretReconciler) Controller() kube.Controller {
	return kube.Controller{
		Name:       "cloak-secret",
		Reconciler: r,
		Watches:    []kube.Watch{{Object: &corev1.Secret{}, Requests: r.requests}},
	}
}

// requests maps a Secret to those whose shadows may have to change: itself, the one that
// it is or looks like the shadow of, and those whose shadows share a lookup key with it.
func (r *SecretReconciler) requests(ctx context.Context, obj client.Object) []reconcile.Request {
	s, ok := obj.(*corev1.Secret)
	if !ok {
		return nil
	}
	names := []types.NamespacedName{client.ObjectKeyFromObject(s)}
	if owner, ok := OwnerName(s.Name); ok {
		names = append(names, types.NamespacedName{Namespace: s.Namespace, Name: owner})
	}
	if Managed(s) {
		names = append(names, r.sharing(ctx, s)...)
	}
	var requests []reconcile.Request
	for _, name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: name})
	}
	return requests
}

// sharing returns the owners of shadows that hold a lookup key which s holds too.
func (r *SecretReconciler) sharing(ctx context.Context, s *corev1.Secret) (owners []types.NamespacedName) {
	var shadows corev1.SecretList
	if err := r.Cache.List(ctx, &shadows, client.MatchingLabels{cloak.LabelManaged: "true"}); err != nil {
		// The data plane loads none of those that share a key, and its next sync says so.
		r.Log.Error(err, "Could not look for shared placeholders", "secret", client.ObjectKeyFromObject(s))
		return nil
	}
	all := NewIndex(shadows.Items)
	mine := NewIndex([]corev1.Secret{*s})
	seen := map[types.NamespacedName]bool{}
	for k := range mine {
		for _, h := range all.Others(k, client.ObjectKeyFromObject(s)) {
			seen[h.Shadow] = true
		}
	}
	for name := range seen {
		owner, _ := OwnerName(name.Name)
		owners = append(owners, types.NamespacedName{Namespace: name.Namespace, Name: owner})
	}
	slices.SortFunc(owners, func(a, b types.NamespacedName) int { return compare(a, b) })
	return owners
}

func compare(a, b types.NamespacedName) int {
	switch x, y := a.String(), b.String(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
