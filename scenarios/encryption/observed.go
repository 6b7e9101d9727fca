package encryption

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// observed sits between the controllers of a leader and the API.
type observed struct {
	client.Client
	state *State
	env   *cluster.Env
	epoch func() int64
}

var _ kube.Kube = (*observed)(nil)

// Update implements kube.Kube.
func (o *observed) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if s, ok := obj.(*corev1.Secret); ok && s.ResourceVersion == "" {
		o.state.breaks(staleWrites, fmt.Errorf("%s updates Secret %s whatever it holds by now", o.env.Process, client.ObjectKeyFromObject(s)))
	}
	return o.Client.Update(ctx, obj, opts...)
}

// Delete implements kube.Kube.
func (o *observed) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if s, ok := obj.(*corev1.Secret); ok && isKey(s) {
		var given client.DeleteOptions
		given.ApplyOptions(opts)
		if p := given.Preconditions; p == nil || p.UID == nil || p.ResourceVersion == nil {
			o.state.breaks(staleWrites, fmt.Errorf("%s deletes Secret %s whatever it holds by now", o.env.Process, client.ObjectKeyFromObject(s)))
		}
	}
	return o.Client.Delete(ctx, obj, opts...)
}

// counted counts the reconciles of a controller, and how fast they follow each other.
type counted struct {
	reconcile.Reconciler
	state *State
	name  string
}

// Reconcile implements reconcile.Reconciler.
func (c *counted) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r, err := c.Reconciler.Reconcile(ctx, req)
	c.state.reconciled(c.name, err)
	return r, err
}

// observedMigrator sees when runs begin.
type observedMigrator struct {
	encryption.Migrator
	state *State
	env   *cluster.Env
}

func (s *State) observeMigrator(env *cluster.Env, m encryption.Migrator) encryption.Migrator {
	return &observedMigrator{m, s, env}
}

// EnsureMigration implements encryption.Migrator.
func (m *observedMigrator) EnsureMigration(ctx context.Context, gr schema.GroupResource, writeKey string) (bool, error, time.Time, error) {
	finished, result, at, err := m.Migrator.EnsureMigration(ctx, gr, writeKey)
	if err == nil {
		m.state.runSeen(gr, writeKey, finished)
	}
	return finished, result, at, err
}

// PruneMigration implements encryption.Migrator.
func (m *observedMigrator) PruneMigration(ctx context.Context, gr schema.GroupResource) error {
	m.state.runEnded(gr)
	return m.Migrator.PruneMigration(ctx, gr)
}

// recorder puts what controllers tell people into the trace.
type recorder struct {
	state *State
	env   *cluster.Env
}

// Event implements encryption.Recorder.
func (r recorder) Event(reason, message string) {
	r.state.shown(r.env.Process+" records the event", reason+": "+message)
	r.env.Event(reason, "", 0, message)
}
