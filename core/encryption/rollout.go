package encryption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// EventRevisionCut is the reason of the event that tells that there is a new revision.
const EventRevisionCut = "EncryptionRevisionCut"

// NewRolloutController returns the controller that cuts a revision of the managed
// configuration whenever that has changed: a Secret that nobody changes any more, for
// nodes to load. Where the managed configuration is gone, none is cut: API servers
// without a configuration could not read what is encrypted. Nor is one cut of what
// somebody has written there by hand: it has to be the step that follows what all API
// servers run.
//
// A revision that was deleted while it was the latest is followed by one more, for
// nobody knows any more what is in it.
//
// Where the latest revision writes with a key that is given up, the next is one that nodes
// make by themselves; see fallback.go.
//
// It says in the policy's status which revision is the latest, and which is the first
// that nodes may still load: one that reads what is written now, and writes what is
// read now. Once all API servers run the latest, it must write what they write: else a
// node that comes back with the disk of before would undo what is rewritten, and nobody
// would notice. Older ones are deleted.
func NewRolloutController(c *Component) kube.Controller {
	o := &rolloutController{c}
	r := &reconciler{Component: c, name: "EncryptionRollout", degraded: v1alpha1.RolloutDegraded, sync: o.sync}
	return r.controller()
}

type rolloutController struct{ *Component }

// revision is what the policy's status says of revisions.
type revision struct{ latest, safe int64 }

func revisionOf(policy *v1alpha1.EncryptionPolicy) revision {
	return revision{policy.Status.LatestRevision, policy.Status.MinSafeRevision}
}

// storedRevision is the Secret of a revision.
type storedRevision struct {
	number int64
	secret *corev1.Secret
}

var errTaken = errors.New("the revision is there already, with another content")

func (o *rolloutController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	out.revision, out.fallback = ptr.To(revisionOf(policy)), policy.Status.Fallback
	if pending, err := o.fallBack(ctx, policy, out); err != nil || pending {
		return err
	}
	managed, err := o.managedSecret(ctx)
	if err != nil || managed == nil || managed.DeletionTimestamp != nil {
		return err
	}
	if _, err := o.Configs.Decode(managed); err != nil {
		return err // API servers could not load it
	}
	stored, err := o.revisions(ctx)
	if err != nil {
		return err
	}
	latest := policy.Status.LatestRevision
	if len(stored) > 0 {
		latest = max(latest, stored[len(stored)-1].number)
	}
	if isGone(stored, latest) || !maps.EqualFunc(stored[len(stored)-1].secret.Data, managed.Data, slices.Equal) {
		next, err := o.isNext(ctx, policy, managed, stored, latest)
		if err != nil || !next {
			out.after = ConvergenceRetry
			return err
		}
		latest++
		cut, err := o.cut(ctx, managed, latest)
		if err != nil {
			return err
		}
		stored = append(stored, storedRevision{latest, cut})
	}
	safe, err := o.firstSafe(ctx, policy, stored)
	if err != nil {
		return err
	}
	*out.revision = revision{latest, max(policy.Status.MinSafeRevision, safe)}
	if *out.revision != revisionOf(policy) {
		return nil // nodes refuse the old ones before they are deleted
	}
	return o.deleteBefore(ctx, stored, out.revision.safe)
}

// isNext reports whether the managed configuration is what should follow now. While API
// servers differ, that is what they are about to load, with KMS plugins that are run
// differently. Stored are the revisions that there are; if the latest is not among
// them, what State has written last takes its place.
func (o *rolloutController) isNext(ctx context.Context, policy *v1alpha1.EncryptionPolicy, managed *corev1.Secret, stored []storedRevision, latest int64) (bool, error) {
	v, err := o.look(ctx, policy)
	if err != nil {
		return false, err
	}
	var want *corev1.Secret
	switch {
	case v != nil:
		want, err = o.wanted(managed, v)
	case isGone(stored, latest):
		return managed.Annotations[HashAnnotation] == config.FileHash(managed.Data[config.Configuration]), nil
	case len(stored) > 0 && slices.Equal(stored[len(stored)-1].secret.Data[config.Configuration], managed.Data[config.Configuration]):
		want, err = o.refreshed(ctx, managed)
	}
	return err == nil && want != nil && maps.EqualFunc(managed.Data, want.Data, slices.Equal), err
}

// isGone reports whether the latest revision is not among those that there are.
func isGone(stored []storedRevision, latest int64) bool {
	return len(stored) == 0 || stored[len(stored)-1].number < latest
}

// revisions returns the stored revisions, the oldest first.
func (o *rolloutController) revisions(ctx context.Context) ([]storedRevision, error) {
	list := &corev1.SecretList{}
	if err := o.Live.List(ctx, list, client.InNamespace(o.Namespace)); err != nil {
		return nil, fmt.Errorf("list Secrets in %s: %w", o.Namespace, err)
	}
	var stored []storedRevision
	for i := range list.Items {
		s := &list.Items[i]
		if n, ok := config.ParseRevision(s.Name); ok {
			stored = append(stored, storedRevision{n, s})
		}
	}
	slices.SortFunc(stored, func(a, b storedRevision) int { return cmp.Compare(a.number, b.number) })
	return stored, nil
}

// cut stores a revision. If another leader has cut it meanwhile, theirs is as good.
func (o *rolloutController) cut(ctx context.Context, managed *corev1.Secret, number int64) (*corev1.Secret, error) {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: config.RevisionName(number), Annotations: managed.Annotations},
		Immutable:  ptr.To(true), Type: managed.Type, Data: managed.Data,
	}
	name := client.ObjectKeyFromObject(s)
	err := o.Live.Create(ctx, s)
	switch {
	case apierrors.IsAlreadyExists(err):
		there := &corev1.Secret{}
		if err := o.Live.Get(ctx, name, there); err != nil {
			return nil, fmt.Errorf("get Secret %s, which exists already: %w", name, err)
		}
		if !maps.EqualFunc(there.Data, managed.Data, slices.Equal) {
			return nil, fmt.Errorf("create Secret %s: %w", name, errTaken)
		}
		return there, nil
	case err != nil:
		return nil, fmt.Errorf("create Secret %s: %w", name, err)
	}
	o.Recorder.Event(EventRevisionCut, fmt.Sprintf("Revision %d of the encryption configuration is to be rolled out", number))
	return s, nil
}

// firstSafe returns the first of the revisions that nodes may load.
func (o *rolloutController) firstSafe(ctx context.Context, policy *v1alpha1.EncryptionPolicy, stored []storedRevision) (int64, error) {
	last := stored[len(stored)-1]
	safe, err := o.firstThat(stored, compatible)
	if err != nil {
		return 0, err
	}
	alike, err := o.firstThat(stored, writesAlike)
	if err != nil || alike <= safe {
		return safe, err
	}
	v, err := o.look(ctx, policy)
	if err != nil || v == nil || v.deployed == nil || v.deployed.Name != last.secret.Name {
		return safe, err
	}
	return alike, nil
}

// firstThat returns the first of the revisions from which on all get along with the
// last.
func (o *rolloutController) firstThat(stored []storedRevision, fits func(a, last state.State) bool) (int64, error) {
	last := stored[len(stored)-1]
	want, err := o.Configs.Decode(last.secret)
	if err != nil {
		return 0, err
	}
	safe := last.number
	for _, r := range slices.Backward(stored[:len(stored)-1]) {
		on, err := o.Configs.Decode(r.secret)
		if err != nil || !fits(on, want) {
			break
		}
		safe = r.number
	}
	return safe, nil
}

// compatible reports whether API servers that run a and b can read what the other
// writes, and a all that b must be able to read.
func compatible(a, b state.State) bool {
	for i := range a { // without an entry, nothing is read that is encrypted
		if b.Find(a[i].GroupResource) == nil && !a[i].Plainly() {
			return false
		}
	}
	for i := range b {
		r := a.Find(b[i].GroupResource)
		if r == nil {
			r = &state.Resource{}
		}
		if w := b[i].Write; w != nil && w.Mode != state.Identity && !contains(r.Read, *w) {
			return false
		}
		if w := r.Write; w != nil && w.Mode != state.Identity && !contains(b[i].Read, *w) {
			return false
		}
	}
	return true
}

// writesAlike reports whether API servers that run a write as those that run b do.
func writesAlike(a, b state.State) bool {
	for _, s := range []state.State{a, b} {
		for i := range s {
			if !writesAlikeFor(s[i].GroupResource, a, b) {
				return false
			}
		}
	}
	return true
}

func writesAlikeFor(gr schema.GroupResource, a, b state.State) bool {
	x, y := writer(a.Find(gr)), writer(b.Find(gr))
	return x == nil && y == nil || x != nil && y != nil && x.Equal(*y)
}

// writer is the key that objects of a resource are encrypted with; nil for none.
func writer(r *state.Resource) *state.Key {
	if r == nil || r.Write == nil || r.Write.Mode == state.Identity {
		return nil
	}
	return r.Write
}

func (o *rolloutController) deleteBefore(ctx context.Context, stored []storedRevision, safe int64) error {
	for _, r := range stored {
		if r.number >= safe {
			break
		}
		err := o.Live.Delete(ctx, r.secret, client.Preconditions{UID: &r.secret.UID})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete Secret %s/%s: %w", r.secret.Namespace, r.secret.Name, err)
		}
	}
	return nil
}
