package encryption_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

var configMaps = schema.GroupResource{Resource: "configmaps"}

// two is a plant whose secrets and config maps are encrypted with key 1, and which
// tells what becomes of the providers of config maps.
func two(t *testing.T) (p *plant, lives func() string) {
	t.Helper()
	p = newPlant(t)
	p.grs = []schema.GroupResource{secrets, configMaps}
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	var seen []string
	p.rolledOut = func(s *corev1.Secret) {
		if got := shortOf(t, s, "configmaps"); len(seen) == 0 || seen[len(seen)-1] != got {
			seen = append(seen, got)
		}
	}
	p.settle()
	return p, func() string {
		out := strings.Join(seen, " → ")
		seen = seen[:0]
		return out
	}
}

func (p *plant) remove() { p.grs = []schema.GroupResource{secrets} }
func (p *plant) bring()  { p.grs = []schema.GroupResource{secrets, configMaps} }

// migrated returns what a key notes of resources.
func (p *plant) migrated(id uint64) string {
	p.Helper()
	s := p.keySecret(id)
	names := func(annotation string) string {
		return strings.NewReplacer(`{"resources":[`, "", `]}`, "", `{"Group":"","Resource":"`, "", `"}`, "").Replace(s.Annotations[annotation])
	}
	return "migrated " + names(keysecret.MigratedResources) + "; decrypted " + names(keysecret.DecryptedResources)
}

// TestARemovedResource is decrypted before its entry goes, and nothing is left that
// says that it was migrated; so it is rewritten when it comes back.
func TestARemovedResource(t *testing.T) {
	p, lives := two(t)
	if got := lives(); got != "i,c1 → c1,i" {
		t.Fatalf("before: %s", got)
	}
	p.remove()
	p.settle()
	if got := lives(); got != "i,c1 → none" {
		t.Errorf("removed: %s", got)
	}
	if got := p.migrated(1); got != "migrated secrets; decrypted " {
		t.Errorf("removed: key 1 has %s", got)
	}
	if got := p.ran[len(p.ran)-1]; got != "configmaps "+encryption.PlainRun {
		t.Errorf("the last run was %q", got)
	}
	p.nothingHappens()
	p.bring()
	p.finished = false
	p.settle()
	if got := lives(); got != "i,c1 → c1,i" {
		t.Errorf("brought back: %s", got)
	}
	if got := p.condition(v1alpha1.Encrypted); got != "False EncryptionInProgress" {
		t.Errorf("brought back, Encrypted is %s", got)
	}
	p.finished = true
	p.settle()
	if got := p.migrated(1); got != "migrated secrets,configmaps; decrypted " {
		t.Errorf("brought back: key 1 has %s", got)
	}
	if got := p.condition(v1alpha1.Encrypted); got != "True EncryptionCompleted" {
		t.Errorf("Encrypted is %s in the end", got)
	}
}

// TestARemovedResourceThatCannotBeDecrypted keeps its entry, and with it its keys;
// the others go on.
func TestARemovedResourceThatCannotBeDecrypted(t *testing.T) {
	p, lives := two(t)
	lives()
	p.remove()
	p.finished = false
	p.settle()
	p.finished, p.result, p.doneAt = true, errors.New("it cannot be written"), p.clock.now
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "now" })
	for range 10 {
		_ = p.sync()
		p.deployed = p.managedSecret()
		p.clock.now = p.clock.now.Add(encryption.SettleTime)
	}
	if got := p.condition(v1alpha1.MigrationDegraded); got != "True Error" {
		t.Errorf("Degraded is %s", got)
	}
	if got := short(t, p.deployed) + " " + shortOf(t, p.deployed, "configmaps"); got != "c2,c1,i i,c1" {
		t.Errorf("deployed is %s", got)
	}
	p.result = nil
	p.clock.now = p.clock.now.Add(encryption.MigrationRetry)
	p.settle()
	if got := lives(); !strings.HasSuffix(got, "none") {
		t.Errorf("once it can: %s", got)
	}
}

// TestAResourceComesBackHalfway, at each step of its removal, and is encrypted in the
// end.
func TestAResourceComesBackHalfway(t *testing.T) {
	for steps := range 14 {
		p, _ := two(t)
		p.remove()
		for range steps {
			must(t, p.sync())
			if s := p.managedSecret(); s != nil {
				p.deployed = s
			}
			p.clock.now = p.clock.now.Add(encryption.SettleTime / 2)
		}
		plain := strings.HasPrefix(shortOf(t, p.managedSecret(), "configmaps"), "i") || shortOf(t, p.managedSecret(), "configmaps") == "none"
		clear(p.runs)
		p.ran = nil
		p.bring()
		p.settle()
		if got := shortOf(t, p.deployed, "configmaps"); got != "c1,i" {
			t.Errorf("after %d steps: deployed is %s", steps, got)
		}
		if got := p.migrated(1); !strings.Contains(got, "configmaps") || strings.Contains(got, "decrypted c") {
			t.Errorf("after %d steps: key 1 has %s", steps, got)
		}
		if plain && !slices.Contains(p.ran, "configmaps 1") {
			t.Errorf("after %d steps, in which it was written as it is, it is not rewritten: runs %q", steps, p.ran)
		}
	}
}

// TestNothingIsToBeEncrypted: a configuration without resources is none, so the last
// stays.
func TestNothingIsToBeEncrypted(t *testing.T) {
	p, lives := two(t)
	lives()
	p.grs = nil
	p.settle()
	if got := lives(); got != "" {
		t.Errorf("rolled out %s", got)
	}
	if got := p.condition(v1alpha1.Encrypted); got != "True EncryptionCompleted" {
		t.Errorf("Encrypted is %s", got)
	}
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "its keys still rotate" })
	p.settle()
	if got := lives(); got != "c1,c2,i → c2,c1,i" {
		t.Errorf("rolled out %s for a new key", got)
	}

	fresh := newPlant(t)
	fresh.grs = nil
	fresh.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	fresh.settle()
	if fresh.managedSecret() != nil {
		t.Error("a configuration without resources was written")
	}
}

// TestARemovedResourceWhoseConfigurationIsLost is still decrypted: keys tell of it.
func TestARemovedResourceWhoseConfigurationIsLost(t *testing.T) {
	p, lives := two(t)
	lives()
	p.remove()
	p.deployed = nil
	p.deleteByHand(p.managedSecret())
	p.settle()
	if got := lives(); got != "i,c1 → none" {
		t.Errorf("rolled out %s", got)
	}
}
