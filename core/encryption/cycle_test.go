package encryption_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
)

const (
	component = "apiserver"
	namespace = "seedbed-encryption"

	references = "seedbed-encryption-config"
)

var (
	secrets = schema.GroupResource{Resource: "secrets"}
	request = reconcile.Request{}
)

// fixedClock is a clock that tests set: time passes with now, and stepped is by how far
// the wall clock is ahead of it.
type fixedClock struct {
	clock.Clock
	now     time.Time
	stepped time.Duration
}

func (c *fixedClock) Now() time.Time                  { return c.now.Add(c.stepped) }
func (c *fixedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *fixedClock) Monotonic() time.Duration        { return time.Duration(c.now.UnixNano()) }

// plant is a component with its controllers, API servers that load what the test
// says, and migrations that end when the test says.
type plant struct {
	*testing.T
	component   *encryption.Component
	client      client.Client
	clock       *fixedClock
	controllers []kube.Controller
	grs         []schema.GroupResource
	shouldRun   error

	// Of the deployer.
	deployed *corev1.Secret
	differ   bool
	others   []*corev1.Secret

	// Of the migrator.
	runs     map[schema.GroupResource]string
	ran      []string // all that were begun
	finished bool
	result   error
	doneAt   time.Time

	events []string

	// nodes are what nodes report.
	nodes []v1alpha1.EncryptionNodeState

	// rolledOut is called for each configuration that settle rolls out.
	rolledOut func(s *corev1.Secret)

	preflight workload
}

// definitions keeps what the CustomResourceDefinitions compile to, for all plants.
var definitions crd.Cache

func newPlant(t *testing.T) *plant {
	t.Helper()
	server := apiserver.New(apiserver.Options{Definitions: &definitions})
	must(t, server.LoadCRDs(os.DirFS("v1alpha1"), "crds"))
	scheme := runtime.NewScheme()
	must(t, errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	p := &plant{
		T: t, client: apiclient.New(server, scheme, apiclient.WithoutManagedFields()), clock: &fixedClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		grs: []schema.GroupResource{secrets}, runs: map[schema.GroupResource]string{}, finished: true,
	}
	must(t, p.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	must(t, p.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: references}}))
	must(t, p.client.Create(t.Context(), &v1alpha1.EncryptionPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}))
	p.preflight.clock = p.clock
	p.component = &encryption.Component{
		Name: component, Namespace: namespace, References: references, Provider: p, Deployer: p, Live: p.client, Cached: p.client,
		Clock: p.clock, Entropy: bytes.NewReader(bytes.Repeat([]byte("entropy!"), 1<<10)), Epoch: func() int64 { return 1 }, Recorder: p,
	}
	p.controllers = []kube.Controller{
		encryption.NewKeyController(p.component), encryption.NewStateController(p.component), encryption.NewRolloutController(p.component),
		encryption.NewKMSPreflightController(p.component, &p.preflight),
		encryption.NewMigrationController(p.component, p), encryption.NewPruneController(p.component), encryption.NewConditionController(p.component),
		encryption.NewKEKController(p.component), encryption.NewInstancesController(p.component),
	}
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *plant) EncryptedGRs() []schema.GroupResource          { return p.grs }
func (p *plant) ShouldRunEncryptionControllers() (bool, error) { return true, p.shouldRun }
func (p *plant) Watches() []kube.Watch                         { return nil }
func (p *plant) Event(reason, _ string)                        { p.events = append(p.events, reason) }

func (p *plant) DeployedEncryptionConfigSecret(context.Context) (*corev1.Secret, bool, error) {
	return p.deployed, !p.differ, nil
}

func (p *plant) StartableConfigSecrets(context.Context) ([]*corev1.Secret, error) {
	return p.others, nil
}

func (p *plant) EnsureMigration(_ context.Context, gr schema.GroupResource, key string) (bool, error, time.Time, error) {
	if p.runs[gr] != key {
		p.runs[gr] = key
		p.ran = append(p.ran, gr.String()+" "+key)
	}
	return p.finished, p.result, p.doneAt, nil
}

func (p *plant) PruneMigration(_ context.Context, gr schema.GroupResource) error {
	delete(p.runs, gr)
	return nil
}

// ask changes the policy.
func (p *plant) ask(change func(spec *v1alpha1.EncryptionPolicySpec)) {
	p.Helper()
	policy := p.policy()
	change(&policy.Spec)
	must(p, p.client.Update(p.Context(), policy))
}

func (p *plant) policy() *v1alpha1.EncryptionPolicy {
	p.Helper()
	policy := &v1alpha1.EncryptionPolicy{}
	must(p, p.client.Get(p.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy))
	return policy
}

// sync lets the named controllers, or all, run once, and returns their errors.
func (p *plant) sync(names ...string) error {
	p.Helper()
	var errs []error
	for _, c := range p.controllers {
		if len(names) > 0 && !slices.Contains(names, strings.TrimPrefix(c.Name, "Encryption")) {
			continue
		}
		if _, err := c.Reconciler.Reconcile(p.Context(), request); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// roll lets API servers load the managed configuration, if it is another one.
func (p *plant) roll() {
	p.Helper()
	if s := p.managedSecret(); s != nil {
		p.deployed = s
	}
}

// pass lets minutes pass, in each of which the controllers run, and errors happen.
func (p *plant) pass(minutes int) {
	p.Helper()
	for range minutes {
		p.clock.now = p.clock.now.Add(time.Minute)
		for i := range p.nodes {
			for j := range p.nodes[i].Status.Plugins {
				p.nodes[i].Status.Plugins[j].LastChecked = metav1.NewTime(p.clock.now)
			}
		}
		_ = p.sync()
		p.roll()
	}
}

// settle syncs, rolls out and lets time pass until nothing changes any more, and
// returns the configurations that were rolled out.
func (p *plant) settle() []string {
	p.Helper()
	var out []string
	quiet := 0
	for range 60 {
		before := p.fingerprint()
		must(p, p.sync())
		if s := p.managedSecret(); s != nil && (p.deployed == nil || !slices.Equal(s.Data[config.Configuration], p.deployed.Data[config.Configuration])) {
			p.deployed = s
			out = append(out, short(p.T, s))
			if p.rolledOut != nil {
				p.rolledOut(s)
			}
		}
		p.clock.now = p.clock.now.Add(encryption.SettleTime)
		if p.fingerprint() != before {
			quiet = 0
		} else if quiet++; quiet == 3 {
			return out
		}
	}
	p.Fatalf("no end after %v", out)
	return nil
}

// fingerprint is the last resourceVersion of anything.
func (p *plant) fingerprint() string {
	p.Helper()
	list := &corev1.SecretList{}
	must(p, p.client.List(p.Context(), list))
	version := ""
	for i := range list.Items {
		version += list.Items[i].ResourceVersion + " "
	}
	return version + p.policy().ResourceVersion
}

func (p *plant) managedSecret() *corev1.Secret {
	p.Helper()
	s := &corev1.Secret{}
	err := p.client.Get(p.Context(), client.ObjectKey{Namespace: namespace, Name: config.Name(component)}, s)
	if client.IgnoreNotFound(err) != nil {
		p.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return s
}

func (p *plant) keySecret(id uint64) *corev1.Secret {
	p.Helper()
	s := &corev1.Secret{}
	must(p, p.client.Get(p.Context(), client.ObjectKey{Namespace: namespace, Name: keysecret.Name(component, id)}, s))
	return s
}

// deleteByHand takes off the finalizer and deletes.
func (p *plant) deleteByHand(s *corev1.Secret) {
	p.Helper()
	s.Finalizers = nil
	must(p, p.client.Update(p.Context(), s))
	must(p, p.client.Delete(p.Context(), s))
}

// condition writes a condition as status, reason.
func (p *plant) condition(kind string) string {
	p.Helper()
	c := apimeta.FindStatusCondition(p.policy().Status.Conditions, kind)
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s", c.Status, c.Reason)
}

// short writes the providers of secrets: c aescbc, g aesgcm, i identity, z a marker.
func short(t *testing.T, s *corev1.Secret) string {
	t.Helper()
	cfg := apiserverv1.EncryptionConfiguration{}
	must(t, json.Unmarshal(s.Data[config.Configuration], &cfg))
	return shortEntry(&cfg.Resources[len(cfg.Resources)-1])
}

// shortOf is short for any resource; none if it has no entry.
func shortOf(t *testing.T, s *corev1.Secret, resource string) string {
	t.Helper()
	cfg := apiserverv1.EncryptionConfiguration{}
	must(t, json.Unmarshal(s.Data[config.Configuration], &cfg))
	for i := range cfg.Resources {
		if cfg.Resources[i].Resources[0] == resource {
			return shortEntry(&cfg.Resources[i])
		}
	}
	return "none"
}

func shortEntry(entry *apiserverv1.ResourceConfiguration) string {
	var out []string
	for _, p := range entry.Providers {
		switch {
		case p.KMS != nil:
			id, _, _ := strings.Cut(p.KMS.Name, "_")
			out = append(out, "k"+id)
		case p.AESCBC != nil:
			out = append(out, "c"+p.AESCBC.Keys[0].Name)
		case p.AESGCM != nil && p.AESGCM.Keys[0].Secret == base64.StdEncoding.EncodeToString(make([]byte, 16)):
			out = append(out, "z"+p.AESGCM.Keys[0].Name)
		case p.AESGCM != nil:
			out = append(out, "g"+p.AESGCM.Keys[0].Name)
		default:
			out = append(out, "i")
		}
	}
	return strings.Join(out, ",")
}

// TestLivesOfKeys walks one component through the lives of eight keys.
func TestLivesOfKeys(t *testing.T) {
	p := newPlant(t)
	use := func(t v1alpha1.EncryptionType) func() {
		return func() { p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = t }) }
	}
	reason := func(text string) func() {
		return func() { p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = text }) }
	}
	for i, step := range []struct {
		name string
		do   func()
		want string
		says string
	}{
		{"nothing is asked for", func() {}, "", "False AsExpected"},
		{"aescbc", use(v1alpha1.TypeAESCBC), "i,c1 → c1,i", "True EncryptionCompleted"},
		{"identity", use(v1alpha1.TypeIdentity), "c1,i,z2 → i,c1,z2", "False DecryptionCompleted"},
		{"nothing in particular", use(v1alpha1.TypeUnset), "", "False DecryptionCompleted"},
		{"aesgcm", use(v1alpha1.TypeAESGCM), "i,g3,c1,z2 → g3,c1,i,z2 → g3,i,z2", "True EncryptionCompleted"},
		{"another key, for a reason", reason("audit"), "g3,g4,i,z2 → g4,g3,i,z2 → g4,g3,i", "True EncryptionCompleted"},
		{"the same reason", reason("audit"), "", "True EncryptionCompleted"},
		{"six days", func() { p.clock.now = p.clock.now.Add(6 * 24 * time.Hour) }, "", "True EncryptionCompleted"},
		{"another day", func() { p.clock.now = p.clock.now.Add(24 * time.Hour) }, "g4,g5,g3,i → g5,g4,g3,i → g5,g4,i", "True EncryptionCompleted"},
		{"the Secret of the key is deleted", func() { p.deleteByHand(p.keySecret(5)) }, "g5,g6,g4,g3,i → g6,g5,g4,g3,i → g6,g5,g4,i", "True EncryptionCompleted"},
		{"the managed configuration is deleted", func() { p.deleteByHand(p.managedSecret()) }, "", "True EncryptionCompleted"},
		{"two resources", func() { p.grs = append(p.grs, schema.GroupResource{Group: "apps", Resource: "deployments"}) }, "", "True EncryptionCompleted"},
	} {
		step.do()
		got := strings.Join(p.settle(), " → ")
		if i == 11 { // of secrets, whose providers stay, while those of the other resource come
			got = ""
		}
		if got != step.want {
			t.Errorf("step %d, %s: rolled out %q, want %q", i, step.name, got, step.want)
		}
		if got := p.condition(v1alpha1.Encrypted); got != step.says {
			t.Errorf("step %d, %s: Encrypted is %s, want %s", i, step.name, got, step.says)
		}
	}
	if got := p.policy().Status.HighestKeyID; got != 6 {
		t.Errorf("the highest id is %d, want 6", got)
	}
}
