package encryption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

const (
	// SettleTime is how long all API servers must have run the same before objects
	// are rewritten: the longest that a request may take, and a margin. A write that
	// was encoded by the configuration before has been stored by then.
	SettleTime = 70 * time.Second

	// MigrationRetry is how long a run that failed is left before the next.
	MigrationRetry = 5 * time.Minute
)

// conflictRetries is how often the Secret of a key is read and written again when
// somebody else writes it too.
const conflictRetries = 5

// NewMigrationController returns the controller that has objects rewritten with the
// key that API servers write with, and notes for which resources that is done.
//
// Ours: runs begin when all API servers have run the same for [SettleTime] without
// a break, and a run during which they did not is void. What is noted is noted in
// the Secret that has the very key.
func NewMigrationController(c *Component, migrator Migrator) kube.Controller {
	m := &migrationController{Component: c, migrator: migrator, begun: map[schema.GroupResource]run{}}
	r := &reconciler{
		Component: c, name: "EncryptionMigration", degraded: v1alpha1.MigrationDegraded,
		owned: []string{v1alpha1.MigrationProgressing}, sync: m.sync,
	}
	return r.controller(migrator.Watches()...)
}

type migrationController struct {
	*Component
	migrator Migrator

	// settled is the configuration that all API servers have run since since.
	settled string
	since   time.Time

	// begun are the runs that were begun under it.
	begun map[schema.GroupResource]run
}

// run is for a key, under the configuration that had settled at a time.
type run struct {
	key   string
	since time.Time
}

func (m *migrationController) sync(ctx context.Context, _ *v1alpha1.EncryptionPolicy, out *outcome) error {
	v, err := m.look(ctx)
	if err != nil {
		m.unsettle()
		return err
	}
	if v == nil || v.deployed == nil {
		m.unsettle()
		out.after = ConvergenceRetry
		if v != nil { // API servers write as it comes: what was rewritten is rewritten no longer
			m.forget(ctx, m.Provider.EncryptedGRs())
		}
		return nil
	}
	if !v.current.Equal(v.desired) {
		m.unsettle()
		m.forget(ctx, v.current.Resources())
		out.after = ConvergenceRetry
		return nil
	}
	return m.migrate(ctx, v, out)
}

// unsettle notes that API servers differ, or are about to.
func (m *migrationController) unsettle() {
	m.settled = ""
	clear(m.begun)
}

// forget ends the runs for resources. That one cannot be ended is no reason to stop:
// it is void.
func (m *migrationController) forget(ctx context.Context, grs []schema.GroupResource) {
	for _, gr := range grs {
		if err := m.migrator.PruneMigration(ctx, gr); err != nil {
			m.Log.Error(err, "A migration could not be ended", "resource", gr.String())
		}
	}
}

// migrate has every resource rewritten that is not yet.
func (m *migrationController) migrate(ctx context.Context, v *view, out *outcome) error {
	if now := string(v.deployed.UID) + "/" + v.deployed.ResourceVersion; m.settled != now {
		m.unsettle()
		m.settled, m.since = now, m.Clock.Now()
	}
	var failed []error
	var migrating []string
	for i := range v.current {
		r := &v.current[i]
		if !r.HasWriteKey() || r.Write.Migrated.Has(r.GroupResource) {
			continue
		}
		if wait := SettleTime - m.Clock.Since(m.since); wait > 0 {
			out.after = wait
			continue
		}
		done, err := m.resource(ctx, r)
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("migrate %s to key %d: %w", r.GroupResource, r.Write.ID, err))
		case !done:
			migrating = append(migrating, display(r.GroupResource))
		}
	}
	if len(migrating) > 0 {
		slices.Sort(migrating)
		out.set(v1alpha1.MigrationProgressing, metav1.ConditionTrue, "Migrating", "migrating "+strings.Join(migrating, ", "))
	}
	return errors.Join(failed...)
}

// display writes a resource for people.
func display(gr schema.GroupResource) string {
	group := gr.Group
	if group == "" {
		group = "core"
	}
	return group + "/" + gr.Resource
}

// resource goes on with the run for one resource, and reports whether it is done.
func (m *migrationController) resource(ctx context.Context, r *state.Resource) (done bool, err error) {
	gr := r.GroupResource
	mine := run{key: strconv.FormatUint(r.Write.ID, 10), since: m.since}
	if m.begun[gr] != mine { // of another configuration, or of a process before this one
		if err := m.migrator.PruneMigration(ctx, gr); err != nil {
			return false, fmt.Errorf("end the run before: %w", err)
		}
		m.begun[gr] = mine
	}
	finished, result, at, err := m.migrator.EnsureMigration(ctx, gr, mine.key)
	if err != nil {
		return false, err
	}
	if finished && result != nil && m.Clock.Since(at) > MigrationRetry {
		if err := m.migrator.PruneMigration(ctx, gr); err != nil {
			return false, fmt.Errorf("end the run that failed: %w", err)
		}
		if finished, result, _, err = m.migrator.EnsureMigration(ctx, gr, mine.key); err != nil {
			return false, err
		}
	}
	switch {
	case !finished:
		return false, nil
	case result != nil:
		return false, result
	default:
		return true, m.note(ctx, r)
	}
}

var errOtherKey = errors.New("it holds another key now")

// note writes into the Secret of a resource's write key that the resource has been
// rewritten with it.
func (m *migrationController) note(ctx context.Context, r *state.Resource) error {
	name := client.ObjectKey{Namespace: m.Namespace, Name: keysecret.Name(m.Name, r.Write.ID)}
	for attempt := 0; ; attempt++ {
		s := &corev1.Secret{}
		if err := m.Live.Get(ctx, name, s); err != nil {
			return fmt.Errorf("get Secret %s: %w", name, err)
		}
		key, err := keysecret.Decode(s)
		switch {
		case err != nil:
			return err
		case !key.Equal(*r.Write):
			return fmt.Errorf("note in Secret %s that %s is migrated: %w", name, r.GroupResource, errOtherKey)
		case key.Migrated.Has(r.GroupResource) && !key.Migrated.Time.IsZero():
			return nil
		case !key.Migrated.Has(r.GroupResource):
			key.Migrated.Resources = append(key.Migrated.Resources, r.GroupResource)
		}
		key.Migrated.Time = m.Clock.Now()
		if err := keysecret.SetMigrated(s, key.Migrated); err != nil {
			return fmt.Errorf("note in Secret %s that %s is migrated: %w", name, r.GroupResource, err)
		}
		err = m.Live.Update(ctx, s)
		if apierrors.IsConflict(err) && attempt < conflictRetries {
			continue
		}
		if err != nil {
			return fmt.Errorf("update Secret %s: %w", name, err)
		}
		return nil
	}
}
