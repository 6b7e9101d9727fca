package encryption_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

func (p *plant) NodeReports(context.Context) ([]v1alpha1.EncryptionNodeState, error) {
	return slices.Clone(p.nodes), nil
}

// report lets nodes a, b, … report the ids that the plugin of a key gives its own;
// one that begins with ! is what is wrong with it.
func (p *plant) report(key uint64, keks ...string) {
	p.Helper()
	p.component.Reports = p
	if p.nodes == nil {
		for i := range keks {
			p.nodes = append(p.nodes, v1alpha1.EncryptionNodeState{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i))}})
		}
	}
	for i, kek := range keks {
		h := v1alpha1.PluginHealth{KeyID: strconv.FormatUint(key, 10), Status: v1alpha1.PluginHealthy, KEKID: kek, LastChecked: metav1.NewTime(p.clock.now)}
		if wrong, ok := strings.CutPrefix(kek, "!"); ok {
			h.Status, h.KEKID, h.Message = v1alpha1.PluginError, "", wrong
		}
		status := &p.nodes[i].Status
		status.Plugins = slices.DeleteFunc(status.Plugins, func(o v1alpha1.PluginHealth) bool { return o.KeyID == h.KeyID })
		status.Plugins = append(status.Plugins, h)
	}
}

// kek returns which keys of the plugin a key's Secret tells of.
func (p *plant) kek(key uint64) string {
	p.Helper()
	a := p.keySecret(key).Annotations
	return "converged " + a[keysecret.ConvergedID] + ", target " + a[keysecret.TargetRemoteKeyID] + ", migrated " + a[keysecret.MigratedRemoteKeyID]
}

// sealed is a plant whose secrets are encrypted with key 1 of a plugin, which has
// given its own the id v1 on all nodes from the beginning.
func sealed(t *testing.T) *plant {
	t.Helper()
	p := newKMSPlant(t)
	p.report(1, "v1", "v1", "v1")
	p.kms("https://a", "vault:1")
	for range 3 {
		p.pass(1)
	}
	p.finished = false
	p.pass(10)
	p.finished = true
	p.pass(10)
	if got := short(t, p.deployed); got != "k1,i" {
		t.Fatalf("deployed is %s", got)
	}
	return p
}

// TestAPluginRotatesItsKey: once all nodes have seen it for a while, all objects are
// rewritten under the same key of ours.
func TestAPluginRotatesItsKey(t *testing.T) {
	p := sealed(t)
	if got := p.kek(1); got != "converged v1, target , migrated v1" {
		t.Fatalf("at first: %s", got)
	}
	runs := len(p.ran)
	p.pass(60)
	if len(p.ran) != runs {
		t.Errorf("runs where nothing has changed: %q", p.ran[runs:])
	}

	p.report(1, "v2", "v1", "v1")
	p.pass(3)
	p.report(1, "v2", "v2", "v2")
	p.pass(5)
	if len(p.ran) != runs {
		t.Errorf("runs before it has settled: %q", p.ran[runs:])
	}
	p.pass(10)
	if got := strings.Join(p.ran[runs:], " "); got != "secrets 1-v2" {
		t.Errorf("runs %q", got)
	}
	if got := p.kek(1); got != "converged v2, target v2, migrated v2" {
		t.Errorf("in the end: %s", got)
	}
	if got := p.condition(v1alpha1.KEKDegraded); got != "False AsExpected" {
		t.Errorf("Degraded is %s", got)
	}
	for range 10 {
		p.nothingHappens()
	}
}

// TestAPluginRotatesDuringTheRun: what is noted is what the run was for, and another
// run follows.
func TestAPluginRotatesDuringTheRun(t *testing.T) {
	p := sealed(t)
	runs := len(p.ran)
	p.finished = false
	p.report(1, "v2", "v2", "v2")
	p.pass(10)
	p.report(1, "v3", "v3", "v3")
	p.pass(10)
	if got := p.kek(1); got != "converged v3, target v2, migrated v1" {
		t.Errorf("during the run: %s", got)
	}
	p.finished = true
	p.pass(1)
	if got := p.kek(1); !strings.HasSuffix(got, "migrated v2") {
		t.Errorf("after the run: %s", got)
	}
	p.pass(5)
	if got := p.kek(1) + ": " + strings.Join(p.ran[runs:], " "); got != "converged v3, target v3, migrated v3: secrets 1-v2 secrets 1-v3" {
		t.Errorf("in the end: %s", got)
	}
}

// TestAnotherKeyWaits until objects are rewritten with the plugin's key, be it that
// it is made or only wanted.
func TestAnotherKeyWaits(t *testing.T) {
	p := sealed(t)
	p.finished = false
	p.report(1, "v2", "v2", "v2")
	p.pass(10)
	p.kms("https://b", "vault:1")
	p.pass(10)
	if p.keys() != 1 {
		t.Errorf("%d keys while objects are rewritten", p.keys())
	}
	s := p.keySecret(1)
	s.Name, s.ResourceVersion = keysecret.Name(component, 2), "" // made in the same instant
	keysecret.SetKEK(s, state.KEK{})
	must(t, keysecret.SetMigrated(s, state.Migrated{}))
	must(t, p.client.Create(t.Context(), s))
	p.pass(10)
	if got := short(t, p.deployed); got != "k1,i" {
		t.Errorf("deployed is %s while objects are rewritten", got)
	}
	p.report(2, "w1", "w1", "w1")
	p.finished = true
	p.pass(60)
	if got := p.kek(1); got != "converged v2, target v2, migrated v2" {
		t.Errorf("key 1: %s", got)
	}
	if got := short(t, p.deployed); !strings.HasPrefix(got, "k3,k2") {
		t.Errorf("deployed is %s in the end", got)
	}
}

// TestAnIDThatGoesToAndFro never settles, nothing is rewritten, and people are told.
func TestAnIDThatGoesToAndFro(t *testing.T) {
	p := sealed(t)
	runs, version := len(p.ran), p.keySecret(1).ResourceVersion
	for i := range 15 {
		id := []string{"v2", "v1"}[i%2]
		p.report(1, id, id, id)
		p.pass(3)
	}
	if got := p.condition(v1alpha1.KEKDegraded); got != "True "+encryption.ReasonKeyIDUnstable {
		t.Errorf("Degraded is %s", got)
	}
	if len(p.ran) != runs || p.keySecret(1).ResourceVersion != version {
		t.Errorf("runs %q, Secret written: %t", p.ran[runs:], p.keySecret(1).ResourceVersion != version)
	}
	p.report(1, "v1", "v1", "v1")
	p.pass(10)
	if got := p.condition(v1alpha1.KEKDegraded); got != "False AsExpected" || len(p.ran) != runs {
		t.Errorf("once it stays, Degraded is %s, runs %q", got, p.ran[runs:])
	}
}

// TestNodesThatDiffer: one that is behind, not well or silent holds everything up.
func TestNodesThatDiffer(t *testing.T) {
	for _, third := range []string{"v1", "!permission denied", ""} {
		p := sealed(t)
		runs := len(p.ran)
		p.report(1, "v2", "v2", third)
		p.pass(30)
		if got := p.condition(v1alpha1.KEKDegraded); got != "True "+encryption.ReasonKeyIDUnstable || len(p.ran) != runs {
			t.Errorf("with %q on one node, Degraded is %s, runs %q", third, got, p.ran[runs:])
		}
	}
}
