package encryption_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// TestInstances are what nodes report, and are written when that has changed.
func TestInstances(t *testing.T) {
	p := sealed(t)
	p.nodes[0].Status.RunningRevision, p.nodes[0].Status.FileHash = 3, "sha256:file"
	p.nodes[1].Status.FileHash, p.nodes[1].Status.LoadedHash = "sha256:file", "sha256:loaded"
	p.report(1, "v1", "v1", "!sealed")
	p.pass(1)
	first := p.clock.now
	p.pass(30)
	at := func(t time.Time) *metav1.Time {
		u := metav1.NewTime(t)
		return &u
	}
	want := []v1alpha1.Instance{
		{Name: "a", Node: "a", Revision: 3, ConfigHash: "sha256:file", KEKIDs: map[string]string{"1": "v1"}, ObservedAt: at(first)},
		{Name: "b", Node: "b", ConfigHash: "sha256:loaded", KEKIDs: map[string]string{"1": "v1"}, ObservedAt: at(first)},
		{Name: "c", Node: "c", ObservedAt: at(first)},
	}
	same := cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })
	if d := cmp.Diff(want, p.policy().Status.Instances, same); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	p.nodes = p.nodes[:2]
	p.pass(1)
	if got := len(p.policy().Status.Instances); got != 2 {
		t.Errorf("%d instances once a node is gone", got)
	}
}

// TestNothingIsWrittenInVain: in every state that lasts, for an hour in which nodes
// report all the time, no controller writes anything.
func TestNothingIsWrittenInVain(t *testing.T) {
	for name, build := range map[string]func(t *testing.T) *plant{
		"never encrypted": newPlant,
		"aescbc":          encrypted,
		"KMS":             sealed,
		"KMS, updates in place": func(t *testing.T) *plant {
			p := sealed(t)
			p.component.UpdatePlugins = true
			p.kms("https://a", "vault:2")
			p.pass(10)
			return p
		},
		"decrypted": func(t *testing.T) *plant {
			p := encrypted(t)
			p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeIdentity })
			p.pass(20)
			return p
		},
		"a resource was removed": func(t *testing.T) *plant {
			p, _ := two(t)
			p.remove()
			p.pass(20)
			return p
		},
		"API servers differ": func(t *testing.T) *plant {
			p := encrypted(t)
			p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "now" })
			must(t, p.sync("Key"))
			p.differ = true
			p.pass(3)
			return p
		},
		"a migration goes on": func(t *testing.T) *plant {
			p := encrypted(t)
			p.finished = false
			p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "now" })
			p.pass(20)
			return p
		},
		"a plugin is dead": func(t *testing.T) *plant {
			p := halfway(t)
			p.pass(20)
			return p
		},
		"a plugin fails its check": func(t *testing.T) *plant {
			p := newKMSPlant(t)
			p.preflight.begins = running
			p.kms("https://a", "vault:1")
			p.pass(1)
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t)
			p.pass(5)
			before := p.fingerprint()
			for minute := range 60 {
				p.pass(1)
				after := p.fingerprint()
				if after != before && name == "a plugin fails its check" && minute < 5 {
					before = after // people are told that it takes long
					continue
				}
				if after != before {
					t.Fatalf("after %d minutes something was written: versions %s, before %s", minute+1, after, before)
				}
			}
		})
	}
}

// TestPruningWaitsForTheLatestRevision: what is cut may be loaded yet.
func TestPruningWaitsForTheLatestRevision(t *testing.T) {
	p := newPlant(t)
	d := &byRevision{plant: p}
	p.component.Deployer = d
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	d.rollTo(10)
	for _, reason := range []string{"one", "two"} {
		p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = reason })
		p.finished = reason == "one"
		d.rollTo(10)
	}
	if got := short(t, p.managedSecret()); got != "c3,c2,c1,i" {
		t.Fatalf("the managed configuration is %s", got)
	}
	policy := p.policy()
	policy.Status.LatestRevision++ // cut, and loaded by nobody yet
	must(t, p.client.Status().Update(t.Context(), policy))
	p.finished = true
	for range 5 {
		p.clock.now = p.clock.now.Add(time.Minute)
		must(t, p.sync("Key", "State", "Migration"))
	}
	if got := short(t, p.managedSecret()); got != "c3,c2,c1,i" {
		t.Errorf("the managed configuration is %s before the latest revision is loaded", got)
	}
	if got := d.rollTo(10); !strings.HasSuffix(got, "c3,c2,i") {
		t.Errorf("rolled out %s", got)
	}
}
