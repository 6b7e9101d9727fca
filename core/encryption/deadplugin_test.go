package encryption_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// halfway is a plant that was on its way from a key of its own to one of a plugin,
// which is dead now.
func halfway(t *testing.T) *plant {
	t.Helper()
	p := newKMSPlant(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	p.pass(10)
	p.report(2, "v1", "v1", "v1")
	p.kms("https://a", "vault:1")
	p.finished = false
	p.pass(10)
	if got := short(t, p.deployed); got != "k2,c1,i" {
		t.Fatalf("deployed is %s", got)
	}
	p.report(2, "!connection refused", "!connection refused", "!connection refused")
	return p
}

func (p *plant) aescbc() {
	p.Helper()
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type, s.KMS = v1alpha1.TypeAESCBC, nil })
}

// TestAPluginIsDead for good, and another key is wanted: it is made though the cycle of
// the dead one is not over.
func TestAPluginIsDead(t *testing.T) {
	p := halfway(t)
	p.aescbc()
	p.pass(30)
	if p.keys() != 2 {
		t.Errorf("%d keys after half an hour", p.keys())
	}
	p.pass(5)
	p.finished = true
	p.pass(10)
	if got := short(t, p.deployed); p.keys() != 3 || !strings.HasPrefix(got, "c3,k2") {
		t.Errorf("%d keys, deployed is %s", p.keys(), got)
	}
	if !slices.Contains(p.events, encryption.EventKeyGivenUp) {
		t.Error("nobody is told what is lost")
	}
	if got := p.condition(v1alpha1.Encrypted); got != "True EncryptionCompleted" {
		t.Errorf("Encrypted is %s", got)
	}
}

// TestAnOutage is waited for: if the policy still wants the plugin, or it is well on
// some node, or comes back now and then.
func TestAnOutage(t *testing.T) {
	for name, during := range map[string]func(p *plant){
		"the policy wants it":  func(p *plant) { p.pass(120) },
		"it is well on a node": func(p *plant) { p.aescbc(); p.report(2, "v1"); p.pass(120) },
		"it is well in between": func(p *plant) {
			p.aescbc()
			for range 4 {
				p.pass(25)
				p.report(2, "v1")
				p.pass(1)
				p.report(2, "!connection refused")
			}
		},
	} {
		p := halfway(t)
		during(p)
		if p.keys() != 2 {
			t.Errorf("%s: %d keys, want 2", name, p.keys())
		}
	}
}

// TestAnOlderPluginIsDeadToo: a new key would lose what is encrypted with either, so
// people are asked to bring one back.
func TestAnOlderPluginIsDeadToo(t *testing.T) {
	p := sealed(t)
	p.finished = false
	p.kms("https://b", "vault:1")
	p.report(2, "!no route", "!no route", "!no route")
	p.pass(10)
	p.report(1, "!sealed", "!sealed", "!sealed")
	p.aescbc()
	p.pass(60)
	if got := p.condition(v1alpha1.KeyDegraded); got != "True Error" || p.keys() != 2 {
		t.Errorf("Degraded is %s, %d keys", got, p.keys())
	}
	p.report(1, "v1", "v1", "v1")
	p.pass(5)
	if p.keys() != 3 {
		t.Errorf("%d keys once the older is back", p.keys())
	}
}
