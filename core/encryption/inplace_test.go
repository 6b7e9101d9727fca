package encryption_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// image returns the image and the version of the plugin of key 1 in the managed
// configuration, in short, and checks that the key's Secret says the same.
func (p *plant) image() string {
	p.Helper()
	managed, key := p.managedSecret(), p.keySecret(1)
	if d := cmp.Diff(string(key.Data["encryption.seedbed.dev-kms-plugin-config"]), string(managed.Data[config.Plugin+"1"])); d != "" {
		return "differs: " + d
	}
	if d := cmp.Diff(string(key.Data["encryption.seedbed.dev-kms-plugin-secret-approle_secret-id"]), string(managed.Data[config.PluginSecret+"approle_secret-id-1"])); d != "" {
		return "differs: " + d
	}
	_, rest, _ := strings.Cut(string(managed.Data[config.Plugin+"1"]), `"image":"`)
	image, _, _ := strings.Cut(rest, `"`)
	return image + " version " + string(managed.Data[config.PluginVersion+"1"])
}

// TestAPluginIsUpdatedInPlace: tried before, and without a new key.
func TestAPluginIsUpdatedInPlace(t *testing.T) {
	p := sealed(t)
	p.component.UpdatePlugins = true
	before := p.managedSecret().Data[config.Configuration]
	p.nothingHappens()
	p.preflight.begins = running
	tried := len(p.preflight.deployed)
	p.kms("https://a", "vault:2")
	p.pass(3)
	if got := p.image(); got != "vault:1 version " || len(p.preflight.deployed) != tried+1 {
		t.Errorf("before it was tried: %s, tried %d times", got, len(p.preflight.deployed)-tried)
	}
	p.preflight.report("KMSPreflightResult", true, "")
	p.pass(5)
	if got := p.image(); got != "vault:2 version 1" {
		t.Errorf("after it was tried: %s", got)
	}
	p.preflight.begins = nil
	p.credentials("shush")
	p.pass(5)
	if got := p.image(); got != "vault:2 version 2" {
		t.Errorf("with other credentials: %s", got)
	}
	if p.keys() != 1 || !slices.Equal(before, p.managedSecret().Data[config.Configuration]) {
		t.Errorf("%d keys; the configuration has changed: %t", p.keys(), !slices.Equal(before, p.managedSecret().Data[config.Configuration]))
	}
	if got := p.condition(v1alpha1.KMSPreflightRequired); got != "False NotRequired" {
		t.Errorf("Required is %s in the end", got)
	}
	for range 5 {
		p.nothingHappens()
	}
}

// TestWithoutTheFlag a change waits for the next key.
func TestWithoutTheFlag(t *testing.T) {
	p := sealed(t)
	p.kms("https://a", "vault:2")
	p.pass(5)
	if got := p.image(); got != "vault:1 version " {
		t.Errorf("the plugin was changed: %s", got)
	}
}

// TestAPluginHoldsUpItsOwnRepair: while a key is under way nothing is tried, and a
// change waits; but not if it is the very plugin that keeps API servers from running
// the same. What they load stays byte for byte.
func TestAPluginHoldsUpItsOwnRepair(t *testing.T) {
	p := newKMSPlant(t)
	p.component.UpdatePlugins = true
	p.report(1, "", "", "")
	p.kms("https://a", "vault:1")
	p.pass(4)
	if got := short(t, p.deployed); got != "i,k1" && got != "k1,i" {
		t.Fatalf("deployed is %s", got)
	}
	p.differ = true
	before := maps.Clone(p.managedSecret().Data)
	tried := len(p.preflight.deployed)

	p.report(1, "v1", "v1", "v1")
	p.kms("https://a", "vault:2")
	p.pass(5)
	if d := cmp.Diff(before, p.managedSecret().Data); d != "" {
		t.Errorf("a change did not wait:\n%s", d)
	}
	p.report(1, "v1", "!connection refused", "v1")
	p.pass(2)
	if got := p.image(); got != "vault:2 version 1" {
		t.Errorf("the plugin is not repaired: %s", got)
	}
	if !slices.Equal(before[config.Configuration], p.managedSecret().Data[config.Configuration]) {
		t.Error("what API servers load has changed")
	}
	if len(p.preflight.deployed) != tried {
		t.Error("a plugin was tried while its key is under way")
	}
	if got := p.policy().Status.LatestRevision; got < 2 {
		t.Errorf("the repair is no revision: the latest is %d", got)
	}
	for range 3 {
		p.nothingHappens()
	}

	// Another service is another key, and waits.
	p.kms("https://b", "vault:3")
	p.pass(3)
	if got := p.image(); got != "vault:2 version 1" {
		t.Errorf("the key has another service: %s", got)
	}
}

// TestAPluginFromABackup: the Secret of a key that comes back from a backup does not
// take back what the plugin is run with.
func TestAPluginFromABackup(t *testing.T) {
	p := sealed(t)
	p.component.UpdatePlugins = true
	backup := p.keySecret(1)
	p.kms("https://a", "vault:2")
	p.pass(5)
	managed := p.managedSecret()
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.ManagementState = v1alpha1.Unmanaged })
	p.deleteByHand(p.keySecret(1))
	backup.ResourceVersion, backup.UID = "", ""
	must(t, p.client.Create(t.Context(), backup))
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.ManagementState = v1alpha1.Managed })
	must(t, p.sync("State"))
	now := &corev1.Secret{}
	must(t, p.client.Get(t.Context(), client.ObjectKeyFromObject(managed), now))
	if d := cmp.Diff(managed.Data, now.Data); d != "" {
		t.Errorf("the managed configuration went back:\n%s", d)
	}
}
