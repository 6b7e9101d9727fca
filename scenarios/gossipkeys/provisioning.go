package gossipkeys

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// provisioning follows one incarnation of a Provisioner from outside: what it
// asks of the API, and what its reconciles return.
type provisioning struct {
	state    *State
	observed gossipkeys.Keys // last list it read from the Secret, or wrote to it
	tried    []gossipkeys.Keys
	found    []byte // entry of the Secret at the last read of this reconcile
	writes   int    // in this reconcile
	readOK   bool
}

// watchProvisioner returns the Provisioner's controller with an observer around
// its reconciler and between it and the API.
func (s *State) watchProvisioner(env *cluster.Env) kube.Controller {
	p := &provisioning{state: s}
	provisioner := gossipkeys.NewProvisioner(observedKube{env.Kube, p}, env.Entropy, Namespace, gossipkeys.WithLogger(s.logOf(env)))
	controller := provisioner.Controller()
	controller.Reconciler = observedReconciler{controller.Reconciler, p}
	return controller
}

// observedReconciler judges each reconcile by what happened during it.
type observedReconciler struct {
	reconcile.Reconciler
	p *provisioning
}

// Reconcile implements reconcile.Reconciler.
func (r observedReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := r.p
	p.writes, p.readOK, p.found = 0, false, nil
	result, err := r.Reconciler.Reconcile(ctx, req)
	s := p.state
	s.count.reconciles++
	if p.writes > 1 {
		s.breaks("one-write-per-reconcile", fmt.Errorf("one reconcile of the provisioner wrote %d times", p.writes))
	}
	if p.readOK && len(p.found) > 0 && read(p.found) == nil {
		s.count.invalidReconciles++
		if !errors.Is(err, reconcile.TerminalError(nil)) || result.RequeueAfter > 0 || result.Requeue { //nolint:staticcheck // Requeue is what must not be used
			s.breaks("invalid-data-waits-for-repair", errors.New("the provisioner found data that is no key list, and asks to be called again without a change"))
		}
	}
	return result, err
}

// observedKube sits between the Provisioner and the API.
type observedKube struct {
	client.Client
	p *provisioning
}

// Get implements kube.Kube.
func (k observedKube) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := k.Client.Get(ctx, key, obj, opts...)
	if secret, ok := obj.(*corev1.Secret); ok && err == nil {
		k.p.readOK, k.p.found = true, secret.Data[gossipkeys.DataKey]
		if keys := read(k.p.found); keys != nil {
			k.p.observed = keys
		}
	}
	return err
}

// Create implements kube.Kube.
func (k observedKube) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return k.p.write(obj, func() error { return k.Client.Create(ctx, obj, opts...) })
}

// Update implements kube.Kube.
func (k observedKube) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return k.p.write(obj, func() error { return k.Client.Update(ctx, obj, opts...) })
}

// write judges a write that the Provisioner asks for, and makes it.
func (p *provisioning) write(obj client.Object, do func() error) error {
	s := p.state
	p.writes++
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		s.breaks("existing-keys-stay", fmt.Errorf("the provisioner writes a %T", obj))
		return do()
	}
	data := secret.Data[gossipkeys.DataKey]
	keys := read(data)
	s.ledger.namesOf(keys) // a key that was just made is known from here on
	switch {
	case keys == nil || string(text(keys)) != string(data):
		s.breaks("written-keys-read-back", errors.New("the provisioner writes a list that does not read back as it was formatted"))
	case len(p.observed) > 0 && !p.observed.Equal(keys):
		s.breaks("lost-keys-come-back", fmt.Errorf("the provisioner knew %v and writes %v", s.ledger.namesOf(p.observed), s.ledger.namesOf(keys)))
	}
	if p.readOK && read(p.found) != nil {
		s.breaks("one-write-per-reconcile", errors.New("the provisioner found keys in the Secret and writes all the same"))
	}
	for _, tried := range p.tried {
		if keys != nil && tried.Equal(keys) && !s.history.stored(keys) {
			s.breaks("only-stored-keys-are-known", fmt.Errorf("the provisioner writes %v again, which never came to be stored", s.ledger.namesOf(keys)))
		}
	}
	p.tried = append(p.tried, keys)
	err := do()
	if err == nil && keys != nil {
		p.observed = keys
	}
	return err
}
