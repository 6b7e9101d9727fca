package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

var managed = client.ObjectKey{Namespace: "seedbed-encryption", Name: config.Name("apiserver")}

// withPlugin gives the KMS keys of a cluster what their plugins need.
func (c *cluster) withPlugin() {
	for i := range c.keys {
		if k := &c.keys[i]; k.KMS != nil {
			k.KMS.Plugin = `{"address":"https://vault"}`
			k.KMS.Secrets = map[state.Reference]secret.Bytes{{Object: "approle", Entry: "secret-id"}: secret.New([]byte("hush"))}
			k.KMS.ConfigMaps = map[state.Reference]string{{Object: "ca", Entry: "ca-bundle.crt"}: "PEM"}
		}
	}
}

// TestASecretSurvives decodes what was encoded, with what KMS plugins need, which
// is all that is left of a key whose own Secret is gone.
func TestASecretSurvives(t *testing.T) {
	c := &cluster{t: t}
	c.addKey(1, state.AESGCM)
	c.addKey(2, state.KMS)
	c.addKey(3, state.KMS)
	c.withPlugin()
	s, _ := state.Desired(nil, c.keys, []schema.GroupResource{secrets, {Resource: "configmaps"}})
	stored, err := config.Encode(s, managed)
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(s) {
		t.Error("another state comes back")
	}
	for _, k := range got[0].Read[:2] {
		want := *c.keys[2].KMS
		want.Provider = k.KMS.Provider
		if d := cmp.Diff(&want, k.KMS); d != "" {
			t.Errorf("the plugin of key %d (-want +got):\n%s", k.ID, d)
		}
	}
	again, err := config.Encode(got, managed)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(stored, again); d != "" {
		t.Errorf("encoded anew (-first +second):\n%s", d)
	}
}

// TestOneKeyOnePlugin refuses a state in which resources have different data for
// one key.
func TestOneKeyOnePlugin(t *testing.T) {
	c := &cluster{t: t}
	c.addKey(2, state.KMS)
	c.withPlugin()
	s, _ := state.Desired(nil, c.keys, []schema.GroupResource{secrets, {Resource: "configmaps"}})
	other := *s[1].Read[0].KMS
	other.Plugin = `{"address":"https://elsewhere"}`
	s[1].Read[0].KMS = &other
	_, err := config.Encode(s, managed)
	const want = "write the KMS plugin of key 2 for secrets: another resource has other data for kms-plugin-config-2"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestBadSecrets says what is wrong, and nothing of the content.
func TestBadSecrets(t *testing.T) {
	const prefix = "secret seedbed-encryption/encryption-config-apiserver holds no valid encryption configuration: "
	for _, c := range []struct {
		name string
		data map[string]string
		want string
	}{
		{"no JSON", map[string]string{config.Configuration: `{"resources":"hush"}`}, "the entry encryption-config is not the JSON that it should be"},
		{"half a file", map[string]string{config.Configuration: `{"resources":[{"hush`}, "the entry encryption-config is not the JSON that it should be"},
		{"no id", map[string]string{config.Configuration: `{}`, "kms-plugin-config-hush": "hush"}, "the entry kms-plugin-config-hush ends in no number"},
		{"no reference", map[string]string{config.Configuration: `{}`, "kms-plugin-secret-vault-7": "hush"},
			"the entry kms-plugin-secret-vault-7: expected the name of an object, an underscore and the name of an entry"},
	} {
		s := &corev1.Secret{Data: map[string][]byte{}}
		s.Namespace, s.Name = managed.Namespace, managed.Name
		for name, value := range c.data {
			s.Data[name] = []byte(value)
		}
		_, err := config.Decode(s)
		if err == nil || err.Error() != prefix+c.want {
			t.Errorf("%s:\n  got  %v\n  want %s", c.name, err, prefix+c.want)
		}
		if err != nil && strings.Contains(strings.ReplaceAll(err.Error(), "config-hush", ""), "hush") {
			t.Errorf("%s: the error shows data", c.name)
		}
	}
}
