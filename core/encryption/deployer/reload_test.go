package deployer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

type fixedClock struct {
	clock.Clock
	now time.Time
}

func (c *fixedClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func identity(name string, renewed time.Time) *coordinationv1.Lease {
	at := metav1.NewMicroTime(renewed)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: map[string]string{deployer.IdentityLabel: "kube-apiserver"}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(name + "_1"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: &at},
	}
}

// TestReloading: all API servers are asked twice, and what they say decides.
func TestReloading(t *testing.T) {
	three, four := config.FileHash([]byte("three")), config.FileHash([]byte("four"))
	var api client.Client
	for _, c := range []struct {
		name string
		says map[string]string // by API server; more than one answer is separated by spaces
		do   func(asked int)   // between questions
		want string
	}{
		{"all the same", map[string]string{"a": three, "b": three}, nil, "encryption-config-3"},
		{"the last of those that are alike", map[string]string{"a": four, "b": four}, nil, "encryption-config-5"},
		{"none has a configuration", map[string]string{"a": "", "b": ""}, nil, "nothing"},
		{"they differ", map[string]string{"a": three, "b": four}, nil, "differ"},
		{"one has none", map[string]string{"a": three, "b": ""}, nil, "differ"},
		{"one cannot be asked", map[string]string{"a": three, "b": "error"}, nil, "differ"},
		{"one changes its mind", map[string]string{"a": three, "b": three + " " + four}, nil, "differ"},
		{"nobody knows what they run", map[string]string{"a": "sha256:00", "b": "sha256:00"}, nil, "find the configuration sha256:00: the configuration that API servers run is gone"},
		{"another comes between", map[string]string{"a": three, "b": three, "c": three}, func(asked int) {
			if asked == 2 {
				_ = api.Create(t.Context(), identity("c", now))
			}
		}, "differ"},
		{"another comes at last", map[string]string{"a": three, "b": three, "c": three}, func(asked int) {
			if asked == 4 {
				_ = api.Create(t.Context(), identity("c", now))
			}
		}, "differ"},
		{"one is restarted", map[string]string{"a": three, "b": three}, func(asked int) {
			if asked == 3 {
				l := identity("a", now)
				_ = api.Delete(t.Context(), l.DeepCopy())
				_ = api.Create(t.Context(), l)
			}
		}, "differ"},
	} {
		api = apiclient.New(apiserver.New(apiserver.Options{}), clientscheme.Scheme)
		create := func(o client.Object) {
			if err := api.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: configs}})
		for n, text := range map[int64]string{3: "three", 4: "four", 5: "four"} {
			create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: configs, Name: config.RevisionName(n)}, Data: map[string][]byte{config.Configuration: []byte(text)}})
		}
		create(identity("a", now.Add(-time.Minute)))
		create(identity("b", now.Add(-59*time.Minute)))
		create(identity("dead", now.Add(-61*time.Minute)))
		asked, times := 0, map[string]int{}
		r := &deployer.Reloading{
			Live: api, Clock: &fixedClock{now: now}, ConfigNamespace: configs,
			IdentitySelector: labels.SelectorFromSet(labels.Set{deployer.IdentityLabel: "kube-apiserver"}),
			Scrape: func(_ context.Context, l *coordinationv1.Lease) (string, error) {
				asked++
				if c.do != nil {
					c.do(asked)
				}
				answers := strings.Fields(c.says[l.Name])
				if len(answers) == 0 {
					return "", nil
				}
				times[l.Name]++
				said := answers[min(times[l.Name], len(answers))-1]
				if said == "error" {
					return "", errors.New("connection refused")
				}
				return said, nil
			},
		}
		s, converged, err := r.DeployedEncryptionConfigSecret(t.Context())
		if got := answer(s, converged, err); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if strings.Contains(c.want, "gone") && !errors.Is(err, encryption.ErrConfigGone) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}
