package encryption_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
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
	if got := short(t, p.deployed); p.keys() != 3 || !strings.HasSuffix(got, "k2,c1,i") && !strings.HasSuffix(got, "k2,i") {
		t.Errorf("%d keys, deployed is %s: what the dead plugin has encrypted is read no longer", p.keys(), got)
	}
	p.finished = true
	p.pass(10)
	if got := short(t, p.deployed); got != "c3,c1,i" { // with the key before for backups, but not the dead one
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

// TestAPluginIsDeadWhileAPIServersDiffer, which they do as long as it is: an API server
// with it is not ready. That is what giving the key up ends.
func TestAPluginIsDeadWhileAPIServersDiffer(t *testing.T) {
	p := halfway(t)
	p.aescbc()
	p.differ = true
	p.pass(35)
	if got := p.policy().Status.GivenUpKeys; !slices.Equal(got, []int64{2}) || p.keys() != 2 {
		t.Errorf("given up are %v, with %d keys", got, p.keys())
	}
	if got := p.condition(v1alpha1.KeysGivenUp); got != "True KMSPluginDead" {
		t.Errorf("the condition is %s", got)
	}
	p.differ = false
	p.pass(3)
	if p.keys() != 3 {
		t.Errorf("%d keys once API servers agree", p.keys())
	}
	p.report(2, "v1", "v1", "v1")
	p.pass(1)
	if got := p.policy().Status.GivenUpKeys; len(got) > 0 || !slices.Contains(p.events, encryption.EventKeyTakenBack) {
		t.Errorf("given up are %v when the plugin is back, events %v", got, p.events)
	}
	if got := p.condition(v1alpha1.KeysGivenUp); got != "False AsExpected" {
		t.Errorf("the condition is %s when the plugin is back", got)
	}
}

// TestOthersHaveToBeWell: API servers without a given-up plugin are ready whatever the
// others do, so the controllers look after those themselves.
func TestOthersHaveToBeWell(t *testing.T) {
	p := halfway(t)
	p.kms("https://b", "vault:1")
	for range 45 {
		if p.keys() < 3 {
			p.pass(1)
		}
	}
	p.report(3, "v1", "v1", "!no route")
	p.pass(10)
	if got := short(t, p.managedSecret()); !strings.Contains(got, "k3") || strings.HasPrefix(got, "k3") {
		t.Errorf("managed is %s, with a plugin that is not well on a node", got)
	}
	p.report(3, "v1", "v1", "v1")
	p.pass(5)
	if got := short(t, p.managedSecret()); !strings.HasPrefix(got, "k3") {
		t.Errorf("managed is %s when it is well", got)
	}
}

// TestAPluginOfAnOlderKeyIsDead: it was switched off while its key was kept for backups,
// and must not stop the next rotation.
func TestAPluginOfAnOlderKeyIsDead(t *testing.T) {
	p := halfway(t)
	p.report(2, "v1", "v1", "v1")
	p.finished = true
	p.aescbc()
	p.pass(20)
	if got := short(t, p.deployed); got != "c3,k2,i" {
		t.Fatalf("deployed is %s", got)
	}
	p.report(2, "!switched off", "!switched off", "!switched off")
	p.pass(40)
	if got := short(t, p.deployed); got != "c3,c1,i" {
		t.Errorf("deployed is %s, with the older key's plugin dead", got)
	}
}

// TestTheWayBack: where Secrets are written with a dead plugin, none can be, so nodes make
// the next revision by themselves; and until it has a Secret nothing else is cut.
func TestTheWayBack(t *testing.T) {
	p := halfway(t)
	before := p.policy().Status.LatestRevision
	p.aescbc()
	p.differ = true
	p.pass(35)
	want := &v1alpha1.Fallback{Revision: before + 1, Of: before, WithoutKeys: []int64{2}}
	if got := p.policy().Status; got.LatestRevision != before+1 || !reflect.DeepEqual(got.Fallback, want) {
		t.Fatalf("the latest revision is %d, made by %+v, want %+v", got.LatestRevision, got.Fallback, want)
	}
	of := &corev1.Secret{}
	must(t, p.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: config.RevisionName(before)}, of))
	made, err := config.FallBack(of, before+1, []uint64{2})
	must(t, err)
	if got := short(t, made); got != "c1,k2,i" {
		t.Errorf("nodes make %s", got)
	}
	p.differ = false
	p.pass(5)
	if got := p.policy().Status.LatestRevision; got != before+1 {
		t.Errorf("revision %d is cut before nodes have made %d", got, before+1)
	}
	must(t, p.client.Create(t.Context(), made))
	p.deployed, p.finished = made, true
	p.pass(15)
	if got := short(t, p.deployed); got != "c3,c1,i" {
		t.Errorf("deployed is %s in the end", got)
	}
}

// unreadable are objects that API servers cannot read.
type unreadable struct {
	names []string
	err   error
}

func (u *unreadable) UnreadableObjects(context.Context, schema.GroupResource) ([]string, error) {
	return u.names, u.err
}

// TestWhatIsLostIsNamed while a key is given up, for a while after an API server could not
// read it, and not otherwise.
func TestWhatIsLostIsNamed(t *testing.T) {
	p := newPlant(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	u := &unreadable{names: []string{"app/b", "app/a"}}
	loss := encryption.NewLossController(p.component, u)
	says := func(want string) {
		t.Helper()
		p.clock.now = p.clock.now.Add(time.Minute)
		if _, err := loss.Reconciler.Reconcile(t.Context(), request); !errors.Is(err, u.err) {
			t.Error(err)
		}
		c := apimeta.FindStatusCondition(p.policy().Status.Conditions, v1alpha1.ObjectsLost)
		if want == "" && c.Status != metav1.ConditionFalse || want != "" && (c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, want)) {
			t.Errorf("the condition is %s: %s; want %q", c.Status, c.Message, want)
		}
	}
	says("")
	policy := p.policy()
	policy.Status.GivenUpKeys = []int64{2}
	must(t, p.client.Status().Update(t.Context(), policy))
	says("(2): secrets app/a, secrets app/b. ")
	u.names, u.err = nil, errors.New("nobody answers")
	says("(2): secrets app/a, secrets app/b. ")
	u.err = nil
	for range 4 {
		says("secrets app/a")
	}
	says("")
}
