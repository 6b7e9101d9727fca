package gossipkeys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// ErrInvalidData is wrapped by the error of EnsureSecret for a Secret whose
// data cannot be parsed. Only an edit of the Secret helps.
var ErrInvalidData = errors.New("invalid Secret data")

// Provisioner makes sure that the Secret exists and holds at least one valid
// key. It remembers the keys it last observed there, so that deleting the
// Secret does not rekey the cluster; and it never changes a key that is there,
// whoever put it there.
type Provisioner struct {
	settings
	live    kube.Kube
	entropy io.Reader

	// mu guards known; it is not held during a call of live.
	mu sync.Mutex

	// known is the list last read from or successfully written to the Secret.
	// A list whose write failed, or lost to another writer, never gets here:
	// it was never the cluster's.
	known Keys
}

// NewProvisioner returns a Provisioner for the Secret in namespace. Its reads
// must be live: writing on the word of a cache could overwrite a key that was
// written a moment ago. New keys are made from entropy, crypto/rand.Reader in
// production; it is not an option because no default is right everywhere.
//
// Options: WithSecret, WithLabels, WithLogger.
func NewProvisioner(live kube.Kube, entropy io.Reader, namespace string, opts ...Option) *Provisioner {
	return &Provisioner{settings: newSettings(namespace, opts), live: live, entropy: entropy}
}

// EnsureSecret brings the Secret to hold at least one valid key. It writes at
// most once, and only if no key is there:
//
//   - no Secret: create it with the keys last observed, or else with a new one.
//     If someone else creates it meanwhile, theirs stands, and a later call
//     learns it.
//   - a Secret without the data entry, or with an empty one: add the keys last
//     observed, or else a new one, and keep everything else. The write fails
//     if the Secret changed since it was read.
//   - a Secret with a valid list: remember the list.
//   - any other content, white space included: touch nothing and return an
//     error that wraps ErrInvalidData, so that a typo cannot rekey a working
//     cluster.
//
// It may be called concurrently, but then which caller's observation is
// remembered last is open; the controller calls it from one task.
func (p *Provisioner) EnsureSecret(ctx context.Context) error {
	secret := &corev1.Secret{}
	err := p.live.Get(ctx, p.secret, secret)
	switch {
	case apierrors.IsNotFound(err):
		return p.create(ctx)
	case err != nil:
		return fmt.Errorf("failed to get Secret %s: %w", p.secret, err)
	case len(secret.Data[p.dataKey]) == 0:
		return p.fill(ctx, secret)
	}
	keys, err := ParseKeys(secret.Data[p.dataKey])
	if err != nil {
		return fmt.Errorf("%w: Secret %s holds invalid data in entry %q, fix it or delete the Secret: %w",
			ErrInvalidData, p.secret, p.dataKey, err)
	}
	p.remember(keys)
	return nil
}

func (p *Provisioner) create(ctx context.Context) error {
	keys, restored, err := p.keysToWrite()
	if err != nil {
		return err
	}
	// There is no owner reference: with one, replacing the controller's
	// Deployment would delete the Secret and with it the cluster's keys.
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.secret.Namespace, Name: p.secret.Name, Labels: maps.Clone(p.labels)},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{p.dataKey: FormatKeys(keys)},
	}
	err = p.live.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		p.log.Info("Secret was created by someone else meanwhile", "secret", p.secret)
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to create Secret %s: %w", p.secret, err)
	}
	p.remember(keys)
	if restored {
		p.log.Error(nil, "Secret had been deleted, restored it with the keys last observed", "secret", p.secret, "keys", keys.Fingerprints())
	} else {
		p.log.Info("Created Secret with a new key", "secret", p.secret, "keys", keys.Fingerprints())
	}
	return nil
}

func (p *Provisioner) fill(ctx context.Context, read *corev1.Secret) error {
	keys, restored, err := p.keysToWrite()
	if err != nil {
		return err
	}
	// The resource version that was read makes the write fail if anyone has
	// changed the Secret since.
	secret := read.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[p.dataKey] = FormatKeys(keys)
	if err := p.live.Update(ctx, secret); err != nil {
		return fmt.Errorf("failed to add a memberlist key to Secret %s: %w", p.secret, err)
	}
	p.remember(keys)
	if restored {
		p.log.Error(nil, "keys had been removed from Secret, restored those last observed", "secret", p.secret, "keys", keys.Fingerprints())
	} else {
		p.log.Info("Added a new key to Secret", "secret", p.secret, "keys", keys.Fingerprints())
	}
	return nil
}

// keysToWrite returns the keys last observed, or a new one if there are none.
func (p *Provisioner) keysToWrite() (keys Keys, restored bool, err error) {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	if len(known) > 0 {
		return known, true, nil
	}
	key, err := GenerateKey(p.entropy)
	if err != nil {
		return nil, false, err
	}
	return Keys{key}, false, nil
}

func (p *Provisioner) remember(keys Keys) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = keys
}

// Controller returns what keeps the Secret provisioned for as long as it is
// driven. Events of every kind only enqueue the one request. The request is
// also enqueued at the start, since a Secret that is missing makes no event.
func (p *Provisioner) Controller() kube.Controller {
	return kube.Controller{
		Name:       "gossip-keys-provisioner",
		Reconciler: p,
		Watches:    []kube.Watch{{Object: &corev1.Secret{}, Namespace: p.secret.Namespace, Name: p.secret.Name}},
		Start:      []reconcile.Request{p.request()},
		Backoff:    kube.Backoff{Base: ProvisionRetryMin, Max: ProvisionRetryMax},
	}
}

// Reconcile calls EnsureSecret. Invalid data is a terminal error: repairing it
// makes an event, so trying again before would only repeat the message.
func (p *Provisioner) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	err := p.EnsureSecret(ctx)
	if errors.Is(err, ErrInvalidData) {
		err = reconcile.TerminalError(err)
	}
	return reconcile.Result{}, err
}
