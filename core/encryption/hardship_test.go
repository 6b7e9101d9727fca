package encryption_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// encrypted is a plant whose secrets are encrypted with key 1.
func encrypted(t *testing.T) *plant {
	t.Helper()
	p := newPlant(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	p.settle()
	if got := short(t, p.deployed); got != "c1,i" {
		t.Fatalf("deployed is %s", got)
	}
	return p
}

// nothingHappens lets the controllers run, and checks that they write nothing.
func (p *plant) nothingHappens() {
	p.Helper()
	before := p.fingerprint()
	must(p, p.sync())
	must(p, p.sync())
	if after := p.fingerprint(); after != before {
		p.Errorf("something was written: versions %s, before %s", after, before)
	}
}

// TestWaitingForAPIServers: nothing is done while API servers differ.
func TestWaitingForAPIServers(t *testing.T) {
	p := encrypted(t)
	p.differ = true
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "now" })
	p.nothingHappens()
	if got := p.condition(v1alpha1.KeyDegraded); got != "False AsExpected" {
		t.Errorf("to wait is no error, but the condition is %s", got)
	}
	p.differ = false
	if got := strings.Join(p.settle(), " → "); got != "c1,c2,i → c2,c1,i" {
		t.Errorf("rolled out %s once they agree", got)
	}
}

// TestUnmanaged freezes everything, at any step, and goes on later.
func TestUnmanaged(t *testing.T) {
	p := encrypted(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "now" })
	must(t, p.sync("Key"))
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.ManagementState = v1alpha1.Unmanaged })
	must(t, p.sync())
	p.nothingHappens()
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.ManagementState = v1alpha1.Managed })
	if got := strings.Join(p.settle(), " → "); got != "c1,c2,i → c2,c1,i" {
		t.Errorf("rolled out %s when managed again", got)
	}
}

// TestGateError leaves the conditions as they are.
func TestGateError(t *testing.T) {
	p := encrypted(t)
	p.shouldRun = errors.New("upgrade under way")
	before := p.fingerprint()
	if err := p.sync("Key"); err == nil || !strings.Contains(err.Error(), "upgrade under way") {
		t.Errorf("error %v", err)
	}
	if p.fingerprint() != before {
		t.Error("something was written")
	}
}

// TestQuiet: where all is done, nothing is written, however often controllers run.
func TestQuiet(t *testing.T) {
	p := encrypted(t)
	for range 10 {
		p.clock.now = p.clock.now.Add(time.Minute)
		p.nothingHappens()
	}
}

// TestAPausedLeader: who was leader before a configuration was written cannot bring
// back an older one, neither by what it knows nor by what it reads.
func TestAPausedLeader(t *testing.T) {
	p := encrypted(t)
	old := *p.component
	paused := &pausing{Kube: p.client}
	old.Live = paused
	controller := encryption.NewStateController(&old)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "now" })
	must(t, p.sync("Key"))
	must(t, p.sync("Key")) // remembers the id

	// The old leader reads, and sleeps. The next leader has key 2 read and then
	// written, while the old one would have it read.
	p.component.Epoch = func() int64 { return 2 }
	paused.beforeUpdate = func() {
		paused.beforeUpdate = nil
		p.settle()
	}
	_, err := controller.Reconciler.Reconcile(t.Context(), request)
	if err == nil || !strings.Contains(err.Error(), "the object has been modified") {
		t.Errorf("the old leader wrote: %v", err)
	}
	if got := short(t, p.managedSecret()); got != "c2,c1,i" {
		t.Errorf("the managed configuration is %s", got)
	}

	// It reads anew, and would still not write.
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "again" })
	must(t, p.sync("Key"))
	must(t, p.sync("Key"))
	_, err = controller.Reconciler.Reconcile(t.Context(), request)
	const want = "write Secret seedbed-encryption/encryption-config-apiserver at epoch 1: a later leader has written it, at epoch 2"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// pausing calls beforeUpdate before it updates.
type pausing struct {
	kube.Kube
	beforeUpdate func()
}

func (p *pausing) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if p.beforeUpdate != nil {
		p.beforeUpdate()
	}
	return p.Kube.Update(ctx, obj, opts...)
}

// TestTwoLeadersOneKey: both make the key of the same id, and one wins.
func TestTwoLeadersOneKey(t *testing.T) {
	p := encrypted(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "now" })
	other := *p.component
	racing := &racing{Kube: p.client, race: func() { must(t, p.sync("Key")) }}
	other.Live = racing
	if _, err := encryption.NewKeyController(&other).Reconciler.Reconcile(t.Context(), request); err != nil {
		t.Errorf("the loser: %v", err)
	}
	p.settle()
	list := &corev1.SecretList{}
	must(t, p.client.List(t.Context(), list, client.MatchingLabels{keysecret.Component: component}))
	if len(list.Items) != 2 || racing.race != nil {
		t.Errorf("there are %d keys, want 2", len(list.Items))
	}
}

// racing calls race before the first object is created.
type racing struct {
	kube.Kube
	race func()
}

func (r *racing) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if race := r.race; race != nil {
		r.race = nil
		race()
	}
	return r.Kube.Create(ctx, obj, opts...)
}

// TestACorruptKey is passed over, and its id is not used again.
func TestACorruptKey(t *testing.T) {
	p := encrypted(t)
	s := p.keySecret(1)
	s.Annotations[keysecret.MigratedTimestamp] = "yesterday"
	must(t, p.client.Update(t.Context(), s))
	corrupt := &corev1.Secret{}
	corrupt.Namespace, corrupt.Name = namespace, keysecret.Name(component, 7)
	corrupt.Labels = map[string]string{keysecret.Component: component}
	must(t, p.client.Create(t.Context(), corrupt))
	if got := strings.Join(p.settle(), " → "); got != "c1,c8,i → c8,c1,i → c8,i" {
		t.Errorf("rolled out %s", got)
	}
	if got := p.condition(v1alpha1.KeyDegraded); got != "True "+encryption.ReasonKeyInvalid {
		t.Errorf("the condition is %s", got)
	}
	for _, id := range []uint64{1, 7} {
		p.deleteByHand(p.keySecret(id))
	}
	p.pass(2)
	if got := p.condition(v1alpha1.KeyDegraded); got != "False AsExpected" {
		t.Errorf("without them the condition is %s", got)
	}
}

// TestAllKeysAreDeleted: what API servers run is enough to go on.
func TestAllKeysAreDeleted(t *testing.T) {
	p := encrypted(t)
	p.deleteByHand(p.keySecret(1))
	if got := strings.Join(p.settle(), " → "); got != "c1,c2,i → c2,c1,i → c2,i" {
		t.Errorf("rolled out %s", got)
	}
}

// TestTheConfigurationIsLost: API servers run without one, and write as it comes;
// so all is rewritten, and nobody says meanwhile that it is encrypted.
func TestTheConfigurationIsLost(t *testing.T) {
	p := encrypted(t)
	p.deployed = nil
	p.deleteByHand(p.managedSecret())
	p.finished = false
	p.settle()
	if got := p.condition(v1alpha1.Encrypted); got != "False EncryptionInProgress" {
		t.Errorf("Encrypted is %s while objects are rewritten", got)
	}
	if got := p.condition(v1alpha1.MigrationProgressing); got != "True Migrating" {
		t.Errorf("Progressing is %s", got)
	}
	p.finished = true
	p.settle()
	if got := p.condition(v1alpha1.Encrypted); got != "True EncryptionCompleted" {
		t.Errorf("Encrypted is %s", got)
	}
}

// TestMigration: a run that fails is told of, left for a while and begun anew, and
// one during which API servers differed does not count.
func TestMigration(t *testing.T) {
	p := newPlant(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	p.result, p.doneAt = errors.New("secrets x/y cannot be written"), p.clock.now
	for range 20 {
		_ = p.sync() // fails in the end
		p.deployed = p.managedSecret()
		p.clock.now = p.clock.now.Add(30 * time.Second)
	}
	if got := p.condition(v1alpha1.MigrationDegraded); got != "True Error" {
		t.Fatalf("Degraded is %s", got)
	}
	if got := p.keySecret(1).Annotations[keysecret.MigratedResources]; got != "" {
		t.Fatalf("migrated: %s", got)
	}

	// It ends well, but API servers differ in between.
	p.finished, p.result = false, nil
	must(t, p.sync("Migration"))
	p.differ = true
	must(t, p.sync("Migration"))
	p.differ, p.finished = false, true
	must(t, p.sync("Migration"))
	if got := p.keySecret(1).Annotations[keysecret.MigratedResources]; got != "" {
		t.Fatalf("a run counts during which API servers differed: %s", got)
	}
	p.clock.now = p.clock.now.Add(encryption.SettleTime)
	must(t, p.sync("Migration"))
	if got, want := p.keySecret(1).Annotations[keysecret.MigratedResources], `{"resources":[{"Group":"","Resource":"secrets"}]}`; got != want {
		t.Errorf("migrated: %s, want %s", got, want)
	}
}

// TestAnotherKeyOfTheSameName does not inherit what was migrated.
func TestAnotherKeyOfTheSameName(t *testing.T) {
	p := newPlant(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	p.finished = false
	p.settle()
	stored := p.keySecret(1)
	key, err := keysecret.Decode(stored)
	must(t, err)
	key.Material = secret.New([]byte(strings.Repeat("x", state.MaterialSize)))
	p.deleteByHand(stored)
	another, err := keysecret.Encode(key, component, namespace)
	must(t, err)
	must(t, p.client.Create(t.Context(), another))
	p.finished = true
	_ = p.sync("Migration")
	if got := p.keySecret(1).Annotations[keysecret.MigratedResources]; got != "" {
		t.Errorf("migrated: %s", got)
	}
}

// TestTheClockIsStepped while API servers have only just come to agree: a write that one
// of them began before may be under way still.
func TestTheClockIsStepped(t *testing.T) {
	p := newPlant(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	for p.managedSecret() == nil || short(t, p.managedSecret()) != "c1,i" {
		must(t, p.sync())
		p.roll()
	}
	p.roll()
	must(t, p.sync())
	p.clock.stepped = time.Hour
	must(t, p.sync())
	if len(p.ran) > 0 {
		t.Errorf("runs %q", p.ran)
	}
	p.clock.now, p.clock.stepped = p.clock.now.Add(encryption.SettleTime), -time.Hour
	must(t, p.sync())
	if len(p.ran) != 1 {
		t.Errorf("runs %q once they have settled", p.ran)
	}
}

// TestPrune deletes old keys, but none that a configuration has.
func TestPrune(t *testing.T) {
	p := encrypted(t)
	all := p.controllers
	p.controllers = slices.DeleteFunc(slices.Clone(all), func(c kube.Controller) bool { return c.Name == "EncryptionPrune" })
	var revision *corev1.Secret // of a rollout under way, as far as Prune knows
	for i := range 14 {
		p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = fmt.Sprint("reason ", i) })
		p.settle()
		if i == 1 { // keys 2 and 3
			revision = p.deployed
		}
	}
	p.controllers, p.others = all, []*corev1.Secret{revision}
	must(t, p.sync("Prune"))
	var left []string
	list := &corev1.SecretList{}
	must(t, p.client.List(t.Context(), list, client.MatchingLabels{keysecret.Component: component}))
	for i := range list.Items {
		left = append(left, strings.TrimPrefix(list.Items[i].Name, "encryption-key-apiserver-"))
	}
	if got, want := strings.Join(left, " "), "10 11 12 13 14 15 2 3 4 5 6 7 8 9"; got != want {
		t.Errorf("keys left: %s, want %s", got, want)
	}
	p.others = nil
	p.settle()
	list = &corev1.SecretList{}
	must(t, p.client.List(t.Context(), list, client.MatchingLabels{keysecret.Component: component}))
	if len(list.Items) != 2+encryption.UnusedKeysKept {
		t.Errorf("%d keys left, want %d", len(list.Items), 2+encryption.UnusedKeysKept)
	}
}

// TestABrokenConfiguration is told of, and nothing is written over it.
func TestABrokenConfiguration(t *testing.T) {
	p := encrypted(t)
	p.deployed = p.deployed.DeepCopy()
	p.deployed.Data[config.Configuration] = []byte("{hush")
	err := p.sync()
	if err == nil || !strings.Contains(err.Error(), "holds no valid encryption configuration") || strings.Contains(err.Error(), "hush") {
		t.Errorf("error %v", err)
	}
	if got := p.condition(v1alpha1.StateDegraded); got != "True Error" {
		t.Errorf("Degraded is %s", got)
	}
	if got := short(t, p.managedSecret()); got != "c1,i" {
		t.Errorf("the managed configuration is %s", got)
	}
}

// TestRevisions: each configuration is cut as a revision that does not change, and
// those are deleted that cannot read what is written now.
func TestRevisions(t *testing.T) {
	p := encrypted(t)
	revisions := func() string {
		list := &corev1.SecretList{}
		must(t, p.client.List(t.Context(), list, client.InNamespace(namespace)))
		var out []string
		for i := range list.Items {
			s := &list.Items[i]
			if n, ok := strings.CutPrefix(s.Name, "encryption-config-"); ok && n != component {
				out = append(out, n+": "+short(t, s))
				if s.Immutable == nil || !*s.Immutable {
					t.Errorf("revision %s can be changed", n)
				}
			}
		}
		status := p.policy().Status
		return fmt.Sprintf("%s; latest %d, safe from %d", strings.Join(out, "; "), status.LatestRevision, status.MinSafeRevision)
	}
	if got, want := revisions(), "1: i,c1; 2: c1,i; latest 2, safe from 1"; got != want {
		t.Errorf("revisions are %s, want %s", got, want)
	}
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "now" })
	p.settle()
	if got, want := revisions(), "3: c1,c2,i; 4: c2,c1,i; latest 4, safe from 3"; got != want {
		t.Errorf("revisions are %s, want %s", got, want)
	}

	// A managed configuration that is gone or broken is no revision.
	p.deleteByHand(p.managedSecret())
	must(t, p.sync("Rollout"))
	must(t, p.sync("State"))
	broken := p.managedSecret()
	broken.Data[config.Configuration] = []byte("{")
	must(t, p.client.Update(t.Context(), broken))
	if err := p.sync("Rollout"); err == nil {
		t.Error("a broken configuration is no error")
	}
	if got, want := revisions(), "3: c1,c2,i; 4: c2,c1,i; latest 4, safe from 3"; got != want {
		t.Errorf("revisions are %s, want %s", got, want)
	}
}

// TestNothingIsCutOfWhatSomebodyWrote: what is in the managed configuration is rolled
// out only if it follows what API servers run.
func TestNothingIsCutOfWhatSomebodyWrote(t *testing.T) {
	p := encrypted(t)
	before := p.policy().Status.LatestRevision
	for name, edit := range map[string]func(s *corev1.Secret){
		"nothing at all": func(s *corev1.Secret) { s.Data = nil },
		"another configuration": func(s *corev1.Secret) {
			s.Data = map[string][]byte{config.Configuration: []byte(`{"kind":"EncryptionConfiguration","apiVersion":"apiserver.config.k8s.io/v1","resources":[{"resources":["secrets"],"providers":[{"identity":{}}]}]}`)}
		},
	} {
		s := p.managedSecret()
		edit(s)
		must(t, p.client.Update(t.Context(), s))
		must(t, p.sync("Rollout"))
		if got := p.policy().Status.LatestRevision; got != before {
			t.Errorf("%s is cut as revision %d", name, got)
		}
	}
	if got := strings.Join(p.settle(), " → "); got != "" || short(t, p.managedSecret()) != "c1,i" {
		t.Errorf("rolled out %s, and the managed configuration is %s", got, short(t, p.managedSecret()))
	}
}

// TestNoKeyBeforeOldOnesAreDropped: the next key waits until API servers run without
// the keys that nothing is encrypted with any more.
func TestNoKeyBeforeOldOnesAreDropped(t *testing.T) {
	p := encrypted(t)
	for _, reason := range []string{"one", "two"} {
		p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = reason })
		p.settle()
	}
	p.deployed = p.deployed.DeepCopy() // with what was read before the last step: 3, 2 and 1
	before, err := config.Decode(p.deployed)
	must(t, err)
	oldest, err := keysecret.Decode(p.keySecret(1))
	must(t, err)
	before[0].Read = append(before[0].Read, oldest)
	p.deployed, err = config.Encode(before, client.ObjectKeyFromObject(p.deployed))
	must(t, err)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "three" })
	must(t, p.sync("Key"))
	if got := p.policy().Status.HighestKeyID; got != 3 {
		t.Errorf("key %d is made while API servers read with three keys", got)
	}
}

// TestARunRewritesItsOwnConfiguration: the Secret that API servers have loaded is an
// object as any other, and that it is written does not make the run void.
func TestARunRewritesItsOwnConfiguration(t *testing.T) {
	p := newPlant(t)
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	p.finished = false
	p.settle()
	must(t, p.sync("Migration"))
	p.deployed = p.deployed.DeepCopy()
	p.deployed.ResourceVersion += "0"
	p.finished = true
	must(t, p.sync("Migration"))
	if got := p.keySecret(1).Annotations[keysecret.MigratedResources]; got == "" {
		t.Error("the run does not count")
	}
}
