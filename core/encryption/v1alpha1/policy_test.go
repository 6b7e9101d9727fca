package v1alpha1_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var policies = v1alpha1.GroupVersion.WithResource("encryptionpolicies")

// server returns an API server that serves the generated manifests.
func server(t *testing.T) *apiserver.Server {
	t.Helper()
	s := apiserver.New(apiserver.Options{})
	if err := s.LoadCRDs(os.DirFS("."), "crds"); err != nil {
		t.Fatal(err)
	}
	return s
}

// policy returns a policy from its specification in YAML.
func policy(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	obj := map[string]any{}
	text := "apiVersion: encryption.seedbed.dev/v1alpha1\nkind: EncryptionPolicy\nmetadata: {name: " + name + "}\nspec: " + spec
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: obj}
}

const vault = `{identity: {endpoint: "https://vault", keyPath: k}, plugin: {image: "vault:1"}}`

// TestDefaults creates the shortest policies there are.
func TestDefaults(t *testing.T) {
	r, err := server(t).Do(&apiserver.Request{Verb: apiserver.Create, Resource: policies, Object: policy(t, "cluster", "{type: KMS, kms: "+vault+"}")})
	if err != nil {
		t.Fatal(err)
	}
	got := v1alpha1.EncryptionPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object.(*unstructured.Unstructured).Object, &got); err != nil {
		t.Fatal(err)
	}
	want := `
managementState: Managed
type: KMS
resources: [{group: "", resource: secrets}]
rotation: {interval: 168h0m0s}
kms:
  identity: {endpoint: "https://vault", keyPath: k}
  plugin: {image: "vault:1"}
  references: {}
  timeout: 10s
rollout: {mode: StaticPodRevision}
`
	var wantSpec v1alpha1.EncryptionPolicySpec
	if err := yaml.UnmarshalStrict([]byte(want), &wantSpec); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantSpec, got.Spec); d != "" {
		t.Errorf("specification (-want +got):\n%s", d)
	}
}

// TestBadPolicies are refused, with a message that says what to write.
func TestBadPolicies(t *testing.T) {
	s := server(t)
	resource := func(group, name string) string {
		return "{type: aescbc, resources: [{group: " + group + ", resource: " + name + "}]}"
	}
	kms := func(change ...string) string {
		return "{type: KMS, kms: " + strings.NewReplacer(change...).Replace(vault) + "}"
	}
	for _, c := range []struct {
		name, policy, spec string
		want               string
	}{
		{"another name", "default", "{type: aescbc}", "there is one policy, and its name is cluster; edit that one"},
		{"unknown type", "cluster", "{type: rot13}", `spec.type: Unsupported value: "rot13": supported values: "", "identity", "aescbc", "aesgcm", "KMS"`},
		{"KMS in small letters", "cluster", "{type: kms}", `spec.type: Unsupported value: "kms"`},
		{"secretbox cannot be chosen", "cluster", "{type: secretbox}", `spec.type: Unsupported value: "secretbox"`},
		{"unknown state", "cluster", "{managementState: Paused}", `spec.managementState: Unsupported value: "Paused"`},
		{"KMS without plugin", "cluster", "{type: KMS}", "type KMS needs to know its plugin; write spec.kms"},
		{"plugin without KMS", "cluster", "{type: aescbc, kms: " + vault + "}", "spec.kms is for type KMS only; remove it, or set spec.type to KMS"},
		{"nothing to encrypt", "cluster", "{type: aescbc, resources: []}", "spec.resources: Invalid value: 0: spec.resources in body should have at least 1 items"},
		{"a wildcard", "cluster", resource(`""`, `"*"`), "without wildcards, versions or subresources"},
		{"a kind", "cluster", resource(`""`, "Secret"), "write its plural in small letters, such as secrets"},
		{"a subresource", "cluster", resource(`""`, "pods/status"), "without wildcards, versions or subresources"},
		{"a group with a version", "cluster", resource("apps/v1", "deployments"), "not the name of an API group; write it in small letters, such as example.com"},
		{"a resource twice", "cluster", "{type: aescbc, resources: [{resource: secrets}, {resource: secrets}]}", "spec.resources[1]: Duplicate value"},
		{"a short interval", "cluster", "{type: aescbc, rotation: {interval: 5m}}", "too short: a rotation rewrites everything; write one hour (1h) or more"},
		{"no interval", "cluster", "{type: aescbc, rotation: {interval: weekly}}", "spec.rotation.interval"},
		{"no endpoint", "cluster", kms("https://vault", ""), "spec.kms.identity.endpoint: Invalid value"},
		{"no key", "cluster", kms(", keyPath: k", ""), "spec.kms.identity.keyPath: Required value"},
		{"no image", "cluster", kms("vault:1", "a b"), "not the name of an image; write it as registry/name:tag"},
		{"no plugin", "cluster", kms(`, plugin: {image: "vault:1"}`, ""), "spec.kms.plugin: Required value"},
		{"no time at all", "cluster", kms("plugin:", "timeout: 0s, plugin:"), "not between 0s and 1m; write how long an API server may wait"},
		{"an hour", "cluster", kms("plugin:", "timeout: 1h, plugin:"), "not between 0s and 1m; write how long an API server may wait"},
		{"a variable with its value", "cluster", kms(`"vault:1"`, `"vault:1", env: [{name: "A=b"}]`), "write it without the equals sign"},
		{"no entries", "cluster", kms("plugin:", "references: {secret: {name: s, keys: []}}, plugin:"), "spec.kms.references.secret.keys: Invalid value: 0"},
		{"a reference to nowhere", "cluster", kms("plugin:", "references: {configMap: {name: Ca, keys: [a]}}, plugin:"), "not the name of an object; write it in small letters"},
		{"unknown mode", "cluster", "{rollout: {mode: Canary}}", `spec.rollout.mode: Unsupported value: "Canary"`},
	} {
		_, err := s.Do(&apiserver.Request{Verb: apiserver.Create, Resource: policies, Object: policy(t, c.policy, c.spec)})
		var status *apierrors.StatusError
		switch {
		case !errors.As(err, &status) || !apierrors.IsInvalid(err):
			t.Errorf("%s: got %v, want it to be invalid", c.name, err)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s:\n  got  %s\n  want %s", c.name, err, c.want)
		}
	}
}

// TestCountersDoNotFall refuses a status in which something comes back that was
// used up.
func TestCountersDoNotFall(t *testing.T) {
	s := server(t)
	if _, err := s.Do(&apiserver.Request{Verb: apiserver.Create, Resource: policies, Object: policy(t, "cluster", "{type: aescbc}")}); err != nil {
		t.Fatal(err)
	}
	set := func(text string) error {
		_, err := s.Do(&apiserver.Request{
			Verb: apiserver.Patch, Resource: policies, Name: "cluster", Subresource: "status",
			PatchType: types.MergePatchType, Body: []byte(text),
		})
		return err
	}
	if err := set(`{"status":{"highestKeyID":7,"minSafeRevision":3}}`); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"status":{"highestKeyID":6}}`:       "ids of keys are not used again; do not lower this",
		`{"status":{"minSafeRevision":2}}`:    "keys that were dropped do not come back; do not lower this",
		`{"status":{"highestKeyID":null}}`:    "highestKeyID and minSafeRevision stay; do not remove them",
		`{"status":{"minSafeRevision":null}}`: "highestKeyID and minSafeRevision stay; do not remove them",
	} {
		if err := set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
