package gossipkeys

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// GenerationAnnotation on the Secret counts the lists the Rotator wrote to it.
const GenerationAnnotation = "gossipkeys.seedbed.dev/generation"

// SecretWatcher watches the Secret and delivers its keys to one handler.
type SecretWatcher struct {
	settings
	cache   kube.Reader
	watched atomic.Bool
	onKeys  func(Keys)

	// The rest is touched by Reconcile only, which runs once at a time.

	delivered Keys

	// started says that a list from a live read has been accepted, and floor,
	// when not empty, is its resource version, which the cache has yet to
	// reach.
	started bool
	floor   string
}

// NewSecretWatcher returns a watcher of the Secret in namespace. It reads
// through cache, which the controller's watch must feed. Nothing starts before
// Watch.
//
// Options: WithSecret, WithLogger, WithLiveStart, WithVersions.
func NewSecretWatcher(cache kube.Reader, namespace string, opts ...Option) *SecretWatcher {
	return &SecretWatcher{settings: newSettings(namespace, opts), cache: cache}
}

// Watch registers onKeys and returns the controller that calls it, for the
// caller to have driven; driving may begin before Watch's caller goes on, so
// whatever onKeys needs must be ready by now.
//
//  1. onKeys is called for the first valid list found and then for every list
//     that differs from the one delivered last, in its keys or in their order.
//     Edits of anything else deliver nothing.
//  2. A list that does not parse delivers nothing, nor does a deletion: the
//     keys delivered last stay valid.
//  3. Calls come one at a time from the task that reconciles, each with at
//     least one key. onKeys must not block. It may keep the list: keys are
//     immutable, and nobody else has the slice.
//  4. States that nobody saw in between are skipped.
//  5. No call begins once the controller's context has ended.
//
// Watch panics when it is called a second time: the first handler would be
// forgotten without a word.
func (w *SecretWatcher) Watch(onKeys func(keys Keys)) kube.Controller {
	if w.watched.Swap(true) {
		panic("gossipkeys: SecretWatcher.Watch called twice; make one watcher for each handler")
	}
	w.onKeys = onKeys
	return kube.Controller{
		Name:       "gossip-keys-watcher",
		Reconciler: w,
		Watches:    []kube.Watch{{Object: &corev1.Secret{}, Namespace: w.secret.Namespace, Name: w.secret.Name}},
		Backoff:    kube.Backoff{Base: WatchRetryMin, Max: WatchRetryMax},
	}
}

// Reconcile looks at the Secret and delivers its keys if they are new.
func (w *SecretWatcher) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	secret, err := w.read(ctx)
	if err != nil || secret == nil || ctx.Err() != nil {
		return reconcile.Result{}, err
	}
	keys, err := ParseKeys(secret.Data[w.dataKey])
	if err != nil {
		w.log.Error(err, "Secret holds no valid keys, keeping those in use", "secret", w.secret)
		return reconcile.Result{}, nil
	}
	if w.onVersion != nil {
		w.onVersion(versionOf(secret), keys)
	}
	if keys.Equal(w.delivered) {
		return reconcile.Result{}, nil
	}
	w.delivered = keys
	w.onKeys(append(Keys(nil), keys...))
	return reconcile.Result{}, nil
}

// read returns the Secret to look at, or nil if there is none now.
func (w *SecretWatcher) read(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	from := w.cache
	if w.live != nil && !w.started {
		from = w.live
	}
	err := from.Get(ctx, w.secret, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", w.secret, err)
	}
	if !w.started {
		w.started = true
		if w.live != nil {
			w.floor = secret.ResourceVersion
		}
		return secret, nil
	}
	if w.floor == "" {
		return secret, nil
	}
	// An unreadable resource version cannot be compared; then the cache is
	// believed, as it would be without a live start.
	if cmp, err := resourceversion.CompareResourceVersion(secret.ResourceVersion, w.floor); err == nil && cmp < 0 {
		return nil, nil
	}
	w.floor = ""
	return secret, nil
}

// versionOf reads the version of the key list in secret. An annotation that is
// no number counts as none.
func versionOf(secret *corev1.Secret) Version {
	generation, err := strconv.ParseInt(secret.Annotations[GenerationAnnotation], 10, 64)
	if err != nil || generation < 0 {
		generation = 0
	}
	return Version{UID: secret.UID, Generation: generation}
}
