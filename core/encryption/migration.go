package encryption

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
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

// NewMigrationController returns the controller that has objects rewritten with the
// key that API servers write with, and notes for which resources that is done.
//
// Ours: runs begin when all API servers have run the same for [SettleTime] without
// a break, and a run during which they did not is void. They begin when no API server
// can be started any more with a configuration that writes something else: a node with
// the disk of before would do so unseen. What is noted is noted in
// the very Secret that was looked at before: if somebody has written it since, all
// is looked at anew. Resources that are to be encrypted no longer are rewritten as
// they are.
func NewMigrationController(c *Component, migrator Migrator) kube.Controller {
	m := &migrationController{
		Component: c, migrator: migrator,
		begun: map[schema.GroupResource]run{}, again: map[schema.GroupResource]run{}, kek: map[schema.GroupResource]string{},
		unverified: map[schema.GroupResource]failure{},
	}
	r := &reconciler{
		Component: c, name: "EncryptionMigration", degraded: v1alpha1.MigrationDegraded,
		owned: []string{v1alpha1.MigrationProgressing}, sync: m.sync,
	}
	return r.controller(migrator.Watches()...)
}

type migrationController struct {
	*Component
	migrator Migrator

	// settled is the configuration that all API servers have run since since, on the
	// monotonic clock: a step of the other must not let a run begin too early.
	settled string
	since   time.Duration

	// begun are the runs that were begun under it, again those of them that have
	// rewritten a resource with another key of a plugin.
	begun map[schema.GroupResource]run
	again map[schema.GroupResource]run

	// unverified are runs that have left something.
	unverified map[schema.GroupResource]failure

	// watch is about the plugin of the newest key, and kek is the id that its key had
	// from long before a run on; empty if that is not known.
	watch kekWatch
	kek   map[schema.GroupResource]string
}

// failure is an error and when it came about.
type failure struct {
	err error
	at  time.Time
}

// run is for a key, under the configuration that had settled at a time.
type run struct {
	key   string
	since time.Duration
}

func (m *migrationController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	v, err := m.look(ctx, policy)
	if err != nil {
		m.unsettle()
		return err
	}
	if v != nil {
		if err := m.watchPlugin(ctx, v); err != nil {
			return err
		}
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

// watchPlugin notes the id that the plugin of the newest key gives to its own.
func (m *migrationController) watchPlugin(ctx context.Context, v *view) error {
	s := v.newest()
	if m.Reports == nil || s == nil || s.key.Mode != state.KMS {
		m.watch = kekWatch{}
		return nil
	}
	reports, err := m.pluginReports(ctx, s.key.ID)
	if err != nil {
		return err
	}
	m.watch.see(s.key.ID, reports.kek, m.Clock.Monotonic())
	return nil
}

// unsettle notes that API servers differ, or are about to.
func (m *migrationController) unsettle() {
	m.settled = ""
	clear(m.begun)
	clear(m.again)
	clear(m.unverified)
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
	// Not by its resourceVersion: the Secret is an object that runs rewrite.
	sum := sha256.Sum256(v.deployed.Data[config.Configuration])
	if now := fmt.Sprintf("%s/%x", v.deployed.UID, sum); m.settled != now {
		m.unsettle()
		m.settled, m.since = now, m.Clock.Monotonic()
	}
	var failed []error
	var migrating []string
	for _, j := range jobs(v) {
		if wait := SettleTime - (m.Clock.Monotonic() - m.since); wait > 0 {
			out.after = wait
			continue
		}
		progress, err := m.resource(ctx, v, j)
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("migrate %s to %s: %w", j.gr, j.to(), err))
		case progress == busy:
			migrating = append(migrating, display(j.gr))
		case progress == overtaken:
			out.after = noteRetry
		case progress == held:
			out.after = ConvergenceRetry
		case j.again && m.allAgain(v):
			if progress, err = m.noteAgain(ctx, v, j); err != nil {
				failed = append(failed, err)
			} else if progress == overtaken {
				out.after = noteRetry
			}
		}
	}
	if len(migrating) > 0 {
		slices.Sort(migrating)
		out.set(v1alpha1.MigrationProgressing, metav1.ConditionTrue, "Migrating", "migrating "+strings.Join(migrating, ", "))
	}
	return errors.Join(failed...)
}

// allAgain reports whether all resources have been rewritten with another key of a
// plugin, by runs for the same.
func (m *migrationController) allAgain(v *view) bool {
	first := m.again[v.grs[0]]
	return first != run{} && !slices.ContainsFunc(v.grs, func(gr schema.GroupResource) bool { return m.again[gr] != first })
}

// display writes a resource for people.
func display(gr schema.GroupResource) string {
	group := gr.Group
	if group == "" {
		group = "core"
	}
	return group + "/" + gr.Resource
}

// resource goes on with the run for one resource.
func (m *migrationController) resource(ctx context.Context, v *view, j job) (progress, error) {
	if f := m.unverified[j.gr]; f.err != nil && m.Clock.Since(f.at) <= MigrationRetry {
		return busy, f.err
	}
	delete(m.unverified, j.gr)
	mine := run{key: j.run, since: m.since}
	if m.begun[j.gr] != mine { // of another configuration, or of a process before this one
		if alone, err := m.writesAlone(ctx, v, j.gr); err != nil || !alone {
			return held, err
		}
		if err := m.migrator.PruneMigration(ctx, j.gr); err != nil {
			return busy, fmt.Errorf("end the run before: %w", err)
		}
		m.begun[j.gr] = mine
		m.kek[j.gr] = m.watch.settledOn(m.Clock.Monotonic())
	}
	if m.kek[j.gr] != m.watch.settledOn(m.Clock.Monotonic()) {
		m.kek[j.gr] = ""
	}
	finished, result, at, err := m.migrator.EnsureMigration(ctx, j.gr, mine.key)
	if err != nil {
		return busy, err
	}
	if finished && result != nil && m.Clock.Since(at) > MigrationRetry {
		if err := m.migrator.PruneMigration(ctx, j.gr); err != nil {
			return busy, fmt.Errorf("end the run that failed: %w", err)
		}
		if finished, result, _, err = m.migrator.EnsureMigration(ctx, j.gr, mine.key); err != nil {
			return busy, err
		}
	}
	switch {
	case !finished:
		return busy, nil
	case result != nil:
		return busy, result
	}
	if err := m.verify(ctx, j); err != nil {
		return busy, err
	}
	switch {
	case j.again:
		m.again[j.gr] = mine
		return done, nil
	default:
		return m.note(ctx, v, j)
	}
}

// writesAlone reports whether every configuration that an API server may yet be started
// with writes a resource as what is deployed does. Rollout takes the others away.
func (m *migrationController) writesAlone(ctx context.Context, v *view, gr schema.GroupResource) (bool, error) {
	configs, err := m.Deployer.StartableConfigSecrets(ctx)
	if err != nil {
		return false, fmt.Errorf("list the configurations that API servers may be started with: %w", err)
	}
	for _, s := range configs {
		on, err := m.Configs.Decode(s)
		if err != nil {
			return false, err
		}
		if !writesAlikeFor(gr, on, v.current) {
			return false, nil
		}
	}
	return true, nil
}

// verify looks whether a run that has ended well has done its work. If not, it is void.
func (m *migrationController) verify(ctx context.Context, j job) error {
	if m.Verifier == nil {
		return nil
	}
	left := m.Verifier.VerifyMigration(ctx, j.gr, j.run)
	if left == nil {
		return nil
	}
	left = fmt.Errorf("verify what was rewritten: %w", left)
	m.unverified[j.gr] = failure{left, m.Clock.Now()}
	if err := m.migrator.PruneMigration(ctx, j.gr); err != nil {
		return errors.Join(left, fmt.Errorf("end the run that has left something: %w", err))
	}
	return left
}
