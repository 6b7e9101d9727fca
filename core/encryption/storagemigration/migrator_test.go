package storagemigration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/storagemigration"
	"github.com/seedbed-sim/seedbed/core/kube"
)

var (
	_ encryption.Migrator = (*storagemigration.Migrator)(nil)

	secrets = schema.GroupResource{Resource: "secrets"}
	noted   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// store keeps StorageVersionMigrations, which the fake API server does not serve, and
// a cache of them that is as new as the test says.
type store struct {
	kube.Kube
	objects, cached map[string]*storagemigrationv1.StorageVersionMigration
	last            int
	log             []string
}

func newStore() *store {
	return &store{objects: map[string]*storagemigrationv1.StorageVersionMigration{}}
}

// catchUp brings the cache up to date.
func (s *store) catchUp() {
	s.cached = map[string]*storagemigrationv1.StorageVersionMigration{}
	for name, o := range s.objects {
		s.cached[name] = o.DeepCopy()
	}
}

func (s *store) version(o *storagemigrationv1.StorageVersionMigration) {
	s.last++
	o.ResourceVersion = fmt.Sprint(s.last)
}

func notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "storageversionmigrations"}, name)
}

func (s *store) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return read(s.objects, key.Name, obj)
}

func read(from map[string]*storagemigrationv1.StorageVersionMigration, name string, into client.Object) error {
	o, ok := from[name]
	if !ok {
		return notFound(name)
	}
	o.DeepCopyInto(into.(*storagemigrationv1.StorageVersionMigration))
	return nil
}

func (s *store) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	o := obj.DeepCopyObject().(*storagemigrationv1.StorageVersionMigration)
	if _, ok := s.objects[o.Name]; ok {
		return apierrors.NewAlreadyExists(schema.GroupResource{}, o.Name)
	}
	s.version(o)
	o.UID = types.UID("uid-" + o.ResourceVersion)
	s.objects[o.Name] = o
	s.log = append(s.log, "create "+o.Annotations[storagemigration.WriteKeyAnnotation])
	return nil
}

func (s *store) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o, ok := s.objects[obj.GetName()]
	if !ok {
		return notFound(obj.GetName())
	}
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	if p := options.Preconditions; p != nil && (*p.UID != o.UID || *p.ResourceVersion != o.ResourceVersion) {
		return apierrors.NewConflict(schema.GroupResource{}, o.Name, errors.New("precondition failed"))
	}
	delete(s.objects, o.Name)
	s.log = append(s.log, "delete "+o.Annotations[storagemigration.WriteKeyAnnotation])
	return nil
}

// says sets a condition of the only object.
func (s *store) says(kind storagemigrationv1.MigrationConditionType, message string) {
	o := s.objects["encryption-migration-core-secrets"]
	o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{
		Type: string(kind), Status: metav1.ConditionTrue, Message: message, LastTransitionTime: metav1.NewTime(noted),
	})
	s.version(o)
}

// cache is the store as its cache shows it.
type cache struct{ *store }

func (c cache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return read(c.cached, key.Name, obj)
}

func begin(t *testing.T) (s *store, ensure func(key string) string, m *storagemigration.Migrator) {
	t.Helper()
	s = newStore()
	m = storagemigration.New(storagemigration.Config{Component: "apiserver", Lister: cache{s}, Live: s})
	return s, func(key string) string {
		t.Helper()
		finished, result, at, err := m.EnsureMigration(t.Context(), secrets, key)
		switch {
		case err != nil:
			return "error " + err.Error()
		case !finished:
			return "runs"
		case !at.Equal(noted):
			return "finished at " + at.String()
		case result != nil:
			return result.Error()
		default:
			return "done"
		}
	}, m
}

// TestARun from its beginning to its end, and the next.
func TestARun(t *testing.T) {
	s, ensure, m := begin(t)
	expect := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	expect(ensure("1"), "runs")
	expect(ensure("1"), "runs") // the cache does not show it yet
	s.catchUp()
	expect(ensure("1"), "runs")
	s.says(storagemigrationv1.MigrationRunning, "")
	s.catchUp()
	expect(ensure("1"), "runs")
	s.says(storagemigrationv1.MigrationSucceeded, "")
	s.catchUp()
	expect(ensure("1"), "done")
	expect(ensure("1-v2"), "runs") // of the same key, with another of its plugin
	s.catchUp()
	expect(ensure("1-v2"), "runs")
	s.says(storagemigrationv1.MigrationFailed, "secrets x/y is forbidden")
	s.catchUp()
	expect(ensure("1-v2"), "storage version migration encryption-migration-core-secrets: the migration has failed: secrets x/y is forbidden")
	for range 2 {
		if err := m.PruneMigration(t.Context(), secrets); err != nil {
			t.Error(err)
		}
	}
	s.catchUp()
	expect(ensure("1-v2"), "runs")
	expect(strings.Join(s.log, ", "), "create 1, delete 1, create 1-v2, delete 1-v2, create 1-v2")
}

// TestACacheThatIsBehind shows a run that has ended well and is gone, or one of an
// older key that somebody else has replaced; neither counts, and nothing is deleted
// that was not looked at.
func TestACacheThatIsBehind(t *testing.T) {
	s, ensure, m := begin(t)
	ensure("1")
	s.says(storagemigrationv1.MigrationSucceeded, "")
	s.catchUp()
	if err := m.PruneMigration(t.Context(), secrets); err != nil {
		t.Error(err)
	}
	if got := ensure("1"); got != "runs" {
		t.Errorf("a run that is gone: %s", got)
	}
	s.log = nil
	if got := ensure("2"); got != "runs" || len(s.log) > 0 {
		t.Errorf("where the cache shows another object: %s, %q", got, s.log)
	}
	s.catchUp()
	if got := ensure("2"); got != "runs" || strings.Join(s.log, ", ") != "delete 1, create 2" {
		t.Errorf("once it shows that: %s, %q", got, s.log)
	}
}

// TestNames of resources in groups differ from those in none.
func TestNames(t *testing.T) {
	if got := storagemigration.Name(schema.GroupResource{Group: "example.com", Resource: "secrets"}); got != "encryption-migration-example.com-secrets" {
		t.Error(got)
	}
	if got := storagemigration.Name(secrets); got != "encryption-migration-core-secrets" {
		t.Error(got)
	}
}
