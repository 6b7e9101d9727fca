package keysecret_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

var material = slices.Repeat([]byte("hush"), 8)

func aesKey() state.Key {
	return state.Key{
		ID: 7, Mode: state.AESCBC, Material: secret.New(material), Backed: true,
		InternalReason: "secrets-rotation-interval-has-passed", ExternalReason: "audit",
		Migrated: state.Migrated{
			Time:      time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC),
			Resources: []schema.GroupResource{{Resource: "secrets"}, {Group: "example.com", Resource: "widgets"}},
		},
	}
}

func kmsKey() state.Key {
	ref := func(o, e string) state.Reference { return state.Reference{Object: o, Entry: e} }
	return state.Key{
		ID: 8, Mode: state.KMS, Material: state.NoMaterial(), Backed: true,
		KMS: &state.KMSData{
			Version: 3, Provider: `{"kind":"EncryptionConfiguration"}`, Plugin: `{"vault":{}}`,
			Secrets:    map[state.Reference]secret.Bytes{ref("vault", "role-id"): secret.New([]byte("r")), ref("vault", "secret_id"): secret.New([]byte("s"))},
			ConfigMaps: map[state.Reference]string{ref("ca", "ca-bundle.crt"): "PEM"},
		},
		Decrypted: []schema.GroupResource{{Resource: "configmaps"}},
		KEK:       state.KEK{Converged: "v3", Since: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), Target: "v2", Migrated: "v1"},
	}
}

// TestAKeySurvives decodes what was encoded.
func TestAKeySurvives(t *testing.T) {
	identity := state.Key{ID: 9, Mode: state.Identity, Material: state.NoMaterial(), Backed: true}
	for _, k := range []state.Key{aesKey(), kmsKey(), identity} {
		s, err := keysecret.Encode(k, "apiserver", "seedbed-encryption")
		if err != nil {
			t.Fatal(err)
		}
		got, err := keysecret.Decode(s)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(k, got); d != "" {
			t.Errorf("key %d (-encoded +decoded):\n%s", k.ID, d)
		}
	}
}

// TestTheForm compares the metadata with what other programs expect.
func TestTheForm(t *testing.T) {
	s, err := keysecret.Encode(aesKey(), "apiserver", "seedbed-encryption")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"encryption.seedbed.dev/mode":               "aescbc",
		"encryption.seedbed.dev/internal-reason":    "secrets-rotation-interval-has-passed",
		"encryption.seedbed.dev/external-reason":    "audit",
		"encryption.seedbed.dev/migrated-timestamp": "2026-11-30T01:02:03Z",
		"encryption.seedbed.dev/migrated-resources": `{"resources":[{"Group":"","Resource":"secrets"},{"Group":"example.com","Resource":"widgets"}]}`,
		"kubernetes.io/description":                 s.Annotations["kubernetes.io/description"],
	}
	if d := cmp.Diff(want, s.Annotations); d != "" {
		t.Errorf("annotations (-want +got):\n%s", d)
	}
	if s.Name != "encryption-key-apiserver-7" || s.Labels["encryption.seedbed.dev/component"] != "apiserver" ||
		!slices.Equal(s.Finalizers, []string{"encryption.seedbed.dev/deletion-protection"}) {
		t.Errorf("name %q, labels %v, finalizers %v", s.Name, s.Labels, s.Finalizers)
	}
}

// TestWhatIsNoKey names what is wrong, and shows nothing of the data.
func TestWhatIsNoKey(t *testing.T) {
	edit := func(k state.Key, change func(s *corev1.Secret)) *corev1.Secret {
		s, err := keysecret.Encode(k, "apiserver", "ns")
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		return s
	}
	const name = "secret ns/encryption-key-apiserver-7 holds no valid encryption key: "
	for _, c := range []struct {
		name   string
		secret *corev1.Secret
		want   string
	}{
		{"no number", edit(aesKey(), func(s *corev1.Secret) { s.Name = "encryption-key" }), "secret ns/encryption-key holds no valid encryption key: the name ends in no number"},
		{"a number too big", edit(aesKey(), func(s *corev1.Secret) { s.Name = "k-99999999999999999999" }), "secret ns/k-99999999999999999999 holds no valid encryption key: the name ends in no number"},
		{"unknown mode", edit(aesKey(), func(s *corev1.Secret) { s.Annotations[keysecret.Mode] = "rot13" }), name + `the annotation encryption.seedbed.dev/mode has the unknown mode "rot13"`},
		{"KMS in small letters", edit(aesKey(), func(s *corev1.Secret) { s.Annotations[keysecret.Mode] = "kms" }), name + `the annotation encryption.seedbed.dev/mode has the unknown mode "kms"`},
		{"no material", edit(aesKey(), func(s *corev1.Secret) { delete(s.Data, keysecret.Material) }), name + "the entry encryption.seedbed.dev-key is missing or empty"},
		{"half a key", edit(aesKey(), func(s *corev1.Secret) { s.Data[keysecret.Material] = material[:16] }), name + "the material has the wrong size: aescbc takes 32 bytes, and there are 16"},
		{"bad time", edit(aesKey(), func(s *corev1.Secret) { s.Annotations[keysecret.MigratedTimestamp] = "yesterday" }),
			name + `the annotation encryption.seedbed.dev/migrated-timestamp, "yesterday", is no time in the form 2006-01-02T15:04:05Z07:00`},
		{"bad resources", edit(aesKey(), func(s *corev1.Secret) { s.Annotations[keysecret.MigratedResources] = "secrets" }),
			name + "the annotation encryption.seedbed.dev/migrated-resources: it is not the JSON that it should be: invalid character 's' looking for beginning of value"},
		{"KMS without its plugin", edit(kmsKey(), func(s *corev1.Secret) { delete(s.Data, keysecret.KMSPlugin) }),
			"secret ns/encryption-key-apiserver-8 holds no valid encryption key: a KMS key needs the entries encryption.seedbed.dev-kms-encryption-config and encryption.seedbed.dev-kms-plugin-config"},
		{"half a reference", edit(kmsKey(), func(s *corev1.Secret) { s.Data[keysecret.KMSSecret+"vault"] = []byte("hush") }),
			"secret ns/encryption-key-apiserver-8 holds no valid encryption key: the entry encryption.seedbed.dev-kms-plugin-secret-vault: expected the name of an object, an underscore and the name of an entry"},
	} {
		_, err := keysecret.Decode(c.secret)
		switch {
		case err == nil:
			t.Errorf("%s: decoded", c.name)
		case err.Error() != c.want:
			t.Errorf("%s:\n  got  %s\n  want %s", c.name, err, c.want)
		case strings.Contains(err.Error(), "hush"):
			t.Errorf("%s: the error shows data", c.name)
		}
	}
}
