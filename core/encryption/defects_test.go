package encryption_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// The tests of this file are about faults of other implementations, each of which was
// reported of one or found by reading it. Those that other tests tell as part of their
// story are not here.

// TestIDsAreNotUsedAgain, not even when every trace of them is gone: two keys of one
// id cannot be told apart in what is stored.
func TestIDsAreNotUsedAgain(t *testing.T) {
	p := encrypted(t)
	p.deleteByHand(p.keySecret(1))
	p.deleteByHand(p.managedSecret())
	p.deployed = nil
	p.pass(20)
	if got := short(t, p.deployed); got != "c2,i" {
		t.Errorf("deployed is %s", got)
	}
}

// TestHashesTellCredentialsApart also where bytes move from one entry to the next.
func TestHashesTellCredentialsApart(t *testing.T) {
	hash := func(role, id string) string {
		p := newPlant(t)
		s := &corev1.Secret{}
		s.Namespace, s.Name = references, "approle"
		s.Data = map[string][]byte{"role-id": []byte(role), "secret-id": []byte(id)}
		must(t, p.client.Create(t.Context(), s))
		p.preflight.begins = running
		p.kms("https://a", "vault:1")
		p.steps(1)
		return apimeta.FindStatusCondition(p.policy().Status.Conditions, v1alpha1.KMSPreflightRequired).Message
	}
	if hash("Xsecret-idY", "Z") == hash("X", "Ysecret-idZ") {
		t.Error("the hashes of other credentials are the same")
	}
	if first, second := hash("X", "Y"), hash("X", "Y"); first != second {
		t.Error("the hashes of the same credentials differ") // the salt is drawn from the same entropy
	}
}

// TestNamesOfKMSProviders are unique though two groups have a resource of one name: an
// API server does not start otherwise.
func TestNamesOfKMSProviders(t *testing.T) {
	p := newKMSPlant(t)
	p.grs = append(p.grs, schema.GroupResource{Group: "example.com", Resource: "secrets"})
	p.kms("https://a", "vault:1")
	p.settle()
	s, err := config.Decode(p.deployed)
	must(t, err)
	cfg, err := config.Providers(s)
	must(t, err)
	seen := map[string]bool{}
	for _, r := range cfg.Resources {
		for _, provider := range r.Providers {
			if provider.KMS != nil && seen[provider.KMS.Name] {
				t.Errorf("%s is there twice", provider.KMS.Name)
			} else if provider.KMS != nil {
				seen[provider.KMS.Name] = true
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("%d names", len(seen))
	}
}

// replacing replaces an object before it is deleted.
type replacing struct {
	kube.Kube
	replace func(obj client.Object)
}

func (r *replacing) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if replace := r.replace; replace != nil {
		r.replace = nil
		replace(obj)
	}
	return r.Kube.Delete(ctx, obj, opts...)
}

// TestOnlyWhatWasLookedAtIsPruned: a key that somebody puts in the place of an unused
// one in that instant stays.
func TestOnlyWhatWasLookedAtIsPruned(t *testing.T) {
	p := encrypted(t)
	for i := range 2 + encryption.UnusedKeysKept {
		p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = fmt.Sprint("reason ", i) })
		if i == 1+encryption.UnusedKeysKept {
			break
		}
		p.settle()
	}
	careful := *p.component
	name := client.ObjectKey{}
	careful.Live = &replacing{Kube: p.client, replace: func(obj client.Object) {
		name = client.ObjectKeyFromObject(obj)
		there := &corev1.Secret{}
		must(t, p.client.Get(t.Context(), name, there))
		must(t, p.client.Delete(t.Context(), there))
		there.ResourceVersion, there.UID = "", ""
		must(t, p.client.Create(t.Context(), there))
	}}
	prune := encryption.NewPruneController(&careful)
	for range 30 {
		_ = p.sync("Key", "State", "Rollout", "Migration")
		p.roll()
		p.clock.now = p.clock.now.Add(encryption.SettleTime)
		_, err := prune.Reconciler.Reconcile(t.Context(), request)
		if name.Name == "" {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "delete Secret "+name.String()) {
			t.Errorf("error %v", err)
		}
		must(t, p.client.Get(t.Context(), name, &corev1.Secret{}))
		return
	}
	t.Error("nothing was pruned")
}

// TestACrashedCheckDoesNotOutliveItsConfiguration: its pod goes when another
// configuration is asked for, and the next is checked at once.
func TestACrashedCheckDoesNotOutliveItsConfiguration(t *testing.T) {
	p := newKMSPlant(t)
	p.preflight.begins = func(pod *corev1.PodStatus) { pod.Phase = corev1.PodFailed }
	p.kms("https://a", "vault:1")
	p.steps(4)
	p.preflight.begins = nil
	p.kms("https://a", "vault:2")
	p.steps(4)
	if p.keys() != 1 || p.preflight.cleanups != 1 {
		t.Errorf("%d keys, %d pods removed", p.keys(), p.preflight.cleanups)
	}
	if got := p.condition(v1alpha1.KMSPreflightDegraded); got != "False AsExpected" {
		t.Errorf("Degraded is %s", got)
	}
}

// TestThereAndBack between two looks: what the pod of the first attempt says does not
// count for the third, though it is about the same configuration.
func TestThereAndBack(t *testing.T) {
	p := newKMSPlant(t)
	p.preflight.begins = running
	p.kms("https://a", "vault:1")
	p.steps(2)
	for _, address := range []string{"https://b", "https://a"} {
		p.kms(address, "vault:1")
		must(t, p.sync("Key"))
	}
	p.preflight.report(encryption.KMSPreflightResultPodCondition, true, "")
	p.steps(3)
	if p.keys() != 0 || p.preflight.cleanups != 1 || len(p.preflight.deployed) != 2 {
		t.Errorf("%d keys, %d pods removed, %d deployed", p.keys(), p.preflight.cleanups, len(p.preflight.deployed))
	}
}

// TestACheckThatIsNotWantedAnyMore is no fault, and leaves nothing behind.
func TestACheckThatIsNotWantedAnyMore(t *testing.T) {
	p := newKMSPlant(t)
	p.preflight.begins = running
	p.kms("https://a", "vault:1")
	p.steps(2)
	p.clock.now = p.clock.now.Add(time.Hour)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type, s.KMS = v1alpha1.TypeIdentity, nil })
	must(t, p.client.Delete(t.Context(), func() *corev1.Secret {
		s := &corev1.Secret{}
		s.Namespace, s.Name = references, "approle"
		return s
	}()))
	p.steps(3)
	for _, kind := range []string{v1alpha1.KMSPreflightDegraded, v1alpha1.KeyDegraded} {
		if got := p.condition(kind); got != "False AsExpected" && got != "none" {
			t.Errorf("%s is %s", kind, got)
		}
	}
}

// TestEncryptedStaysDuringRollouts: while API servers differ, nobody takes it back.
func TestEncryptedStaysDuringRollouts(t *testing.T) {
	p := encrypted(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "now" })
	for range 20 {
		p.differ = !p.differ
		p.pass(1)
		if got := p.condition(v1alpha1.Encrypted); got != "True EncryptionCompleted" {
			t.Fatalf("Encrypted is %s", got)
		}
	}
}

// TestPeopleEditWhileAMigrationIsNoted: what both have written stays.
func TestPeopleEditWhileAMigrationIsNoted(t *testing.T) {
	p := newPlant(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	edited := false
	edits := &pausing{Kube: p.client}
	edits.beforeUpdate = func() {
		if !edited && len(p.ran) > 0 {
			edited = true
			s := p.keySecret(1)
			s.Annotations[keysecret.ExternalReason] = "edited"
			must(t, p.client.Update(t.Context(), s))
		}
	}
	p.component.Live = edits
	p.pass(15)
	s := p.keySecret(1)
	if !edited || s.Annotations[keysecret.ExternalReason] != "edited" || s.Annotations[keysecret.MigratedResources] == "" {
		t.Errorf("edited: %t, annotations %v", edited, s.Annotations)
	}
	if got := p.condition(v1alpha1.MigrationDegraded); got != "False AsExpected" {
		t.Errorf("Degraded is %s", got)
	}
}
