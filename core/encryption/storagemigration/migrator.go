package storagemigration

import (
	"context"
	"errors"
	"fmt"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// WriteKeyAnnotation has what a run is for: the id of a key, and of the one that its
// plugin keeps.
const WriteKeyAnnotation = keysecret.Domain + "/write-key"

// Config is what a [Migrator] needs. All fields are required.
type Config struct {
	// Component is whose objects are rewritten; a label has it.
	Component string

	// Lister reads from a cache. Live reads and writes at the API server.
	Lister kube.Reader
	Live   kube.Kube
}

// Migrator asks for runs. Its methods may be called from several tasks.
type Migrator struct{ cfg Config }

// New returns a Migrator.
func New(cfg Config) *Migrator { return &Migrator{cfg: cfg} }

// ErrFailed is wrapped by the result of a run that failed.
var ErrFailed = errors.New("the migration has failed")

// Name is the name of the object for a resource.
func Name(gr schema.GroupResource) string {
	group := gr.Group
	if group == "" {
		group = "core"
	}
	return "encryption-migration-" + group + "-" + gr.Resource
}

// EnsureMigration implements encryption.Migrator.
func (m *Migrator) EnsureMigration(ctx context.Context, gr schema.GroupResource, writeKey string) (finished bool, result error, finishedAt time.Time, err error) {
	name := Name(gr)
	o, err := get(ctx, m.cfg.Lister, name)
	if err == nil && o != nil && o.Annotations[WriteKeyAnnotation] == writeKey && ended(o) != nil {
		o, err = get(ctx, m.cfg.Live, name)
	}
	switch {
	case err != nil:
		return false, nil, time.Time{}, err
	case o == nil:
		return false, nil, time.Time{}, m.create(ctx, gr, writeKey)
	case o.DeletionTimestamp != nil:
		return false, nil, time.Time{}, nil // until it is gone
	case o.Annotations[WriteKeyAnnotation] != writeKey:
		gone, err := m.remove(ctx, o)
		if err == nil && gone {
			err = m.create(ctx, gr, writeKey)
		}
		return false, nil, time.Time{}, err
	}
	c := ended(o)
	switch {
	case c == nil:
		return false, nil, time.Time{}, nil
	case c.Type == string(storagemigrationv1.MigrationFailed):
		return true, fmt.Errorf("storage version migration %s: %w: %s", name, ErrFailed, c.Message), c.LastTransitionTime.Time, nil
	default:
		return true, nil, c.LastTransitionTime.Time, nil
	}
}

// ended returns the condition by which a run has ended; nil if it has not. One that
// failed stays so.
func ended(o *storagemigrationv1.StorageVersionMigration) *metav1.Condition {
	for _, kind := range []storagemigrationv1.MigrationConditionType{storagemigrationv1.MigrationFailed, storagemigrationv1.MigrationSucceeded} {
		if c := apimeta.FindStatusCondition(o.Status.Conditions, string(kind)); c != nil && c.Status == metav1.ConditionTrue {
			return c
		}
	}
	return nil
}

// get returns an object; nil if there is none.
func get(ctx context.Context, from kube.Reader, name string) (*storagemigrationv1.StorageVersionMigration, error) {
	o := &storagemigrationv1.StorageVersionMigration{}
	err := from.Get(ctx, client.ObjectKey{Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get StorageVersionMigration %s: %w", name, err)
	}
	return o, nil
}

// create asks for a run. If there is an object already, the cache does not show it
// yet; it is looked at when it does.
func (m *Migrator) create(ctx context.Context, gr schema.GroupResource, writeKey string) error {
	o := &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{
			Name: Name(gr), Labels: map[string]string{keysecret.Component: m.cfg.Component},
			Annotations: map[string]string{WriteKeyAnnotation: writeKey},
		},
		Spec: storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: gr.Group, Resource: gr.Resource}},
	}
	err := m.cfg.Live.Create(ctx, o)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create StorageVersionMigration %s: %w", o.Name, err)
	}
	return nil
}

// remove deletes the very object that was looked at, and reports whether it is gone.
// If it has changed, the cache shows so later.
func (m *Migrator) remove(ctx context.Context, o *storagemigrationv1.StorageVersionMigration) (gone bool, err error) {
	err = m.cfg.Live.Delete(ctx, o, client.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsConflict(err):
		return false, nil
	default:
		return false, fmt.Errorf("delete StorageVersionMigration %s: %w", o.Name, err)
	}
}

// PruneMigration implements encryption.Migrator. It deletes what the API server has,
// whatever a cache shows.
func (m *Migrator) PruneMigration(ctx context.Context, gr schema.GroupResource) error {
	o := &storagemigrationv1.StorageVersionMigration{ObjectMeta: metav1.ObjectMeta{Name: Name(gr)}}
	if err := m.cfg.Live.Delete(ctx, o); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete StorageVersionMigration %s: %w", o.Name, err)
	}
	return nil
}

// Watches implements encryption.Migrator.
func (m *Migrator) Watches() []kube.Watch {
	return []kube.Watch{{
		Object: &storagemigrationv1.StorageVersionMigration{}, Selector: labels.SelectorFromSet(labels.Set{keysecret.Component: m.cfg.Component}),
	}}
}
