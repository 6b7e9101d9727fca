package migration_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/core/encryption/migration"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// sealing is an API server that encrypts config maps with keys of those names, the first
// of which writes.
func sealing(t *testing.T, store *apiserver.Store, keys ...string) kube.Kube {
	t.Helper()
	providers := ""
	for _, key := range keys {
		providers += fmt.Sprintf("  - aesgcm: {keys: [{name: %s, secret: %s}]}\n", key, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(key, 32)[:32])))
	}
	timers := kms.NewManualTimers()
	loader, err := encryption.Start(encryption.Options{
		Surroundings: encryption.Surroundings{Timers: timers, Random: rand.Reader, Sockets: kms.NewSockets(timers)},
		File: func() ([]byte, error) {
			return []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [configmaps]\n  providers:\n" + providers + "  - identity: {}\n"), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(loader.Close)
	server := apiserver.NewServer(store, strings.Join(keys, "-"))
	server.SetEncryption(loader)
	return apiclient.New(server, scheme.Scheme)
}

// TestUnreadableObjects: those are named that a key is missing for, be they on the first
// page or on a later one; where there are none, none are.
func TestUnreadableObjects(t *testing.T) {
	for name, lost := range map[string][]int{"none": nil, "the first": {0}, "some of a later page": {migration.PageSize + 3, migration.PageSize + 7}} {
		store := apiserver.NewStore(apiserver.Options{})
		before, now := sealing(t, store, "old"), sealing(t, store, "new")
		var want []string
		for i := range migration.PageSize + 10 {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("c-%04d", i)}}
			by := now
			if slices.Contains(lost, i) {
				by = before
				want = append(want, "default/"+obj.Name)
			}
			if err := by.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		run(t, 0, func(ctx context.Context, _ *cluster.Env, s *server, m *migration.Migrator) {
			s.Kube = now
			got, err := m.UnreadableObjects(ctx, configMaps)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%s: error %v (-want +got):\n%s", name, err, d)
			}
		})
	}
}

// TestWhatIsUnreadableIsNotKnown if the API server does not answer, or does not know the
// resource: that is no object that cannot be read.
func TestWhatIsUnreadableIsNotKnown(t *testing.T) {
	run(t, 0, func(ctx context.Context, _ *cluster.Env, s *server, m *migration.Migrator) {
		errDown := errors.New("connection refused")
		s.before = func(string, string) error { return errDown }
		if names, err := m.UnreadableObjects(ctx, configMaps); names != nil || !errors.Is(err, errDown) {
			t.Errorf("%v, error %v", names, err)
		}
		if names, err := m.UnreadableObjects(ctx, schema.GroupResource{Resource: "widgets"}); names != nil || err == nil {
			t.Errorf("%v, error %v", names, err)
		}
	})
}
