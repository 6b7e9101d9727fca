package unmodified_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/unmodified"
)

// fleetHooks are the webhooks of fleets: two Pods are the default, and a ConfigMap in
// another namespace, read at the API server, says how many there may be.
type fleetHooks struct {
	live  client.Reader
	asked *int
	hangs time.Duration
}

func (h *fleetHooks) Default(_ context.Context, cm *corev1.ConfigMap) error {
	*h.asked++
	if cm.Data["size"] == "" {
		cm.Data = map[string]string{"size": "2"}
	}
	return nil
}

func (h *fleetHooks) ValidateCreate(ctx context.Context, cm *corev1.ConfigMap) (admission.Warnings, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(h.hangs):
	}
	var limits corev1.ConfigMap
	if err := h.live.Get(ctx, client.ObjectKey{Namespace: "limits", Name: "fleets"}, &limits); err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(cm.Data["size"])
	if err != nil {
		return nil, err
	}
	if most, err := strconv.Atoi(limits.Data["most"]); err != nil || size > most {
		return nil, fmt.Errorf("%d are too many, there may be %d", size, most)
	}
	return nil, nil
}

func (h *fleetHooks) ValidateUpdate(ctx context.Context, _, cm *corev1.ConfigMap) (admission.Warnings, error) {
	return h.ValidateCreate(ctx, cm)
}

func (h *fleetHooks) ValidateDelete(context.Context, *corev1.ConfigMap) (admission.Warnings, error) {
	return nil, nil
}

// hooked is a cluster in which a program serves the webhooks of fleets.
func hooked(t *testing.T, w *unmodified.World, hooks *fleetHooks) *cluster.Process {
	configs, err := unmodified.ReadWebhooks("testdata/webhooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"limits"} {
		w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "limits", Name: "fleets"}, Data: map[string]string{"most": "4"}})
	return w.Program(unmodified.Program{Name: "operator", Webhooks: configs, Start: func(ctx context.Context, cfg *rest.Config) error {
		mgr, err := ctrl.NewManager(cfg, unmodified.Options(ctx, ctrl.Options{Scheme: scheme, Logger: logr.Discard()}))
		if err != nil {
			return err
		}
		h := *hooks
		h.live = mgr.GetAPIReader()
		if err := ctrl.NewWebhookManagedBy(mgr, &corev1.ConfigMap{}).WithDefaulter(&h).WithValidator(&h).Complete(); err != nil {
			return err
		}
		return mgr.Start(ctx)
	}})
}

// outcome is what came of a write.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}

// TestWebhooks: what a manager registers is asked about what a file of controller-gen
// says; a review may read at the API server, and ends when the program does.
func TestWebhooks(t *testing.T) {
	var got []string
	asked := 0
	_, err := unmodified.Run(t, sim.Options{Seeds: 1, Horizon: 5 * time.Minute}, func(w *unmodified.World) {
		got, asked = nil, 0
		hooks := &fleetHooks{asked: &asked}
		operator := hooked(t, w, hooks)
		create := func(at time.Duration, name, size string) {
			w.At(at, func() {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
				if size != "" {
					cm.Data = map[string]string{"size": size}
				}
				err := w.Admin().Create(context.Background(), cm)
				got = append(got, name+" "+cm.Data["size"]+": "+outcome(err))
			})
		}
		create(5*time.Second, "nothing-said", "")
		create(6*time.Second, "few", "3")
		create(7*time.Second, "many", "9")
		w.At(8*time.Second, func() { hooks.hangs = time.Hour })
		w.At(10*time.Second, operator.Crash)
		create(10*time.Second+time.Millisecond, "while-it-is-down", "3")
		create(time.Minute, "while-it-hangs", "9")
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"nothing-said 2: ok",
		"few 3: ok",
		`many 9: admission webhook "vfleet.example.com" denied the request: 9 are too many, there may be 4`,
		`while-it-is-down 3: Internal error occurred: failed calling webhook "mfleet.example.com": failed to call webhook: Post "/mutate--v1-configmap": dial tcp: connect: connection refused`,
		"while-it-hangs 9: ok", // its policy is to ignore that
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if asked != 4 {
		t.Errorf("the mutating webhook was asked %d times about four objects", asked)
	}
}

// TestWebhooksReplay: with faults, crashes and webhooks a run repeats.
func TestWebhooksReplay(t *testing.T) {
	build := func(w *unmodified.World) {
		asked := 0
		operator := hooked(t, w, &fleetHooks{asked: &asked})
		for i := range 8 {
			w.At(time.Duration(i)*5*time.Second, func() {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("f", i)}}
				if err := w.Admin().Create(context.Background(), cm); err != nil && !strings.Contains(err.Error(), "webhook") {
					t.Error(err)
				}
			})
		}
		w.At(12*time.Second, operator.Crash)
	}
	o := sim.Options{Horizon: 2 * time.Minute, Cluster: cluster.Config{Profile: cluster.Stormy()}}
	for seed := range uint64(5) {
		first, again := unmodified.Trace(t, o, seed, build), unmodified.Trace(t, o, seed, build)
		if first.Hash != again.Hash {
			t.Errorf("seed %d: %x and %x", seed, first.Hash, again.Hash)
		}
	}
}

func TestReadWebhooks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	for _, tc := range []struct{ row, text, want string }{
		{"nothing", "", "has no webhook configuration"},
		{"another kind", "apiVersion: v1\nkind: Service\n", "has no webhook configuration"},
		{"an unknown field", "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nwebhook: []\n", `document 1: strict decoding error: unknown field "webhook"`},
		{"no YAML", "apiVersion: v1\nkind: Service\n---\n{", "document 2: "},
		{"a list", "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfigurationList\n", "write the configurations one by one"},
	} {
		if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := unmodified.ReadWebhooks(file); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.row, err, tc.want)
		}
	}
	if _, err := unmodified.ReadWebhooks(file + ".yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}
