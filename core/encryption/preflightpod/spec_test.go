package preflightpod_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/preflightpod"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// configuration has KMS keys of those ids, and one that is not of a KMS.
func configuration(t *testing.T, ids ...uint64) *corev1.Secret {
	t.Helper()
	read := []state.Key{{ID: 1, Mode: state.AESCBC, Material: secret.New(make([]byte, state.MaterialSize))}}
	for _, id := range ids {
		provider, err := config.KMSProvider(apiserverv1.KMSConfiguration{APIVersion: "v2"})
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, state.Key{ID: id, Mode: state.KMS, Material: state.NoMaterial(), KMS: &state.KMSData{
			Provider: provider, Plugin: fmt.Sprintf(`{"identity":{"endpoint":"https://kms","keyPath":"k"},"plugin":{"image":"plugin:%d"}}`, id),
		}})
	}
	cfg, err := config.Encode(state.State{{GroupResource: schema.GroupResource{Resource: "secrets"}, Read: read}}, client.ObjectKey{Namespace: "n", Name: "kms-preflight-encryption-config"})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// Section 5.5 and 5.6: the checker is told what to check, the newest key first, and its
// plugins run beside it.
func TestSpec(t *testing.T) {
	spec, err := preflightpod.Spec("seedbed-preflight:1")("hash-1", configuration(t, 2, 11))
	if err != nil {
		t.Fatal(err)
	}
	c := spec.Containers[0]
	var plugins []string
	for i := range spec.InitContainers {
		plugins = append(plugins, spec.InitContainers[i].Image)
	}
	got := fmt.Sprint(c.Name, " ", c.Image, " ", c.Args, " ", plugins, " ", spec.HostNetwork)
	want := "kms-preflight-check seedbed-preflight:1 [--config-hash=hash-1 --kms-sockets=unix:///var/run/kmsplugin/kms-11.sock,unix:///var/run/kmsplugin/kms-2.sock] [plugin:11 plugin:2] true"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSpecOfNothing(t *testing.T) {
	if _, err := preflightpod.Spec("i")("h", configuration(t)); err == nil || !strings.Contains(err.Error(), "no KMS key") {
		t.Errorf("got %v", err)
	}
	if _, err := preflightpod.Spec("i")("h", &corev1.Secret{Data: map[string][]byte{"encryption-config": []byte("{")}}); err == nil {
		t.Error("what is no configuration has a Pod")
	}
}
