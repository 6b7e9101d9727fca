package encryption_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// byRevision is a deployer of API servers that run a revision, whose Secret may be
// gone.
type byRevision struct {
	*plant
	revision int64
}

func (d *byRevision) DeployedEncryptionConfigSecret(ctx context.Context) (*corev1.Secret, bool, error) {
	s := &corev1.Secret{}
	err := d.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: config.RevisionName(d.revision)}, s)
	switch {
	case err == nil:
		return s, true, nil
	case !apierrors.IsNotFound(err):
		return nil, false, err
	case d.revision > 0:
		return nil, false, encryption.ErrConfigGone
	default:
		return nil, true, nil
	}
}

// rollTo lets time pass, in which API servers go to the latest revision.
func (d *byRevision) rollTo(minutes int) (seen string) {
	var all []string
	for range minutes {
		d.pass(1)
		if latest := d.policy().Status.LatestRevision; latest != d.revision {
			d.revision = latest
			all = append(all, short(d.T, d.managedSecret()))
		}
	}
	return strings.Join(all, " → ")
}

// TestARevisionIsDeleted that API servers run: it is cut anew, and at no time do API
// servers write as it comes. Only if the managed configuration is gone with it, all is
// worked out from the keys, and rewritten.
func TestARevisionIsDeleted(t *testing.T) {
	p := newPlant(t)
	d := &byRevision{plant: p}
	p.component.Deployer = d
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	if got := d.rollTo(20); got != "i,c1 → c1,i" {
		t.Fatalf("rolled out %s", got)
	}
	revision := func() *corev1.Secret {
		s := &corev1.Secret{}
		must(t, p.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: config.RevisionName(d.revision)}, s))
		return s
	}
	must(t, p.client.Create(t.Context(), &corev1.Secret{ // one of before that is still there
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: config.RevisionName(d.revision - 1)},
	}))
	p.deleteByHand(revision())
	must(t, p.sync("State", "Migration", "Condition", "Key", "Prune"))
	if got := short(t, p.managedSecret()); got != "c1,i" {
		t.Errorf("the managed configuration is %s while the revision is gone", got)
	}
	if got := d.rollTo(20); got != "c1,i" {
		t.Errorf("rolled out %s", got)
	}
	if got := p.condition(v1alpha1.Encrypted); got != "True EncryptionCompleted" {
		t.Errorf("Encrypted is %s", got)
	}
	runs := len(p.ran)
	p.deleteByHand(revision())
	p.deleteByHand(p.managedSecret())
	if got := d.rollTo(20); got != "i,c1 → c1,i" || len(p.ran) == runs {
		t.Errorf("with the managed configuration, rolled out %s, %d runs", got, len(p.ran)-runs)
	}
}

// TestTheManagedConfigurationIsEdited by hand at each step of a cycle, so that it is no
// configuration or another one, or is deleted: it is restored, and the cycle ends as it
// would have.
func TestTheManagedConfigurationIsEdited(t *testing.T) {
	for name, edit := range map[string]func(p *plant, s *corev1.Secret){
		"broken": func(p *plant, s *corev1.Secret) {
			s.Data[config.Configuration] = []byte("{")
			must(p, p.client.Update(p.Context(), s))
		},
		"the one from before the cycle": func(p *plant, s *corev1.Secret) {
			s.Data = p.deployed.Data
			must(p, p.client.Update(p.Context(), s))
		},
		"deleted": func(p *plant, s *corev1.Secret) { p.deleteByHand(s) },
	} {
		for _, step := range []int{1, 3, 5, 6, 7, 8} {
			p := newPlant(t)
			d := &byRevision{plant: p}
			p.component.Deployer = d
			p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
			d.rollTo(10)
			p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "one" })
			d.rollTo(10)
			p.deployed = p.managedSecret() // which plant does not use here
			first := p.deployed
			p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "two" })
			d.rollTo(step)
			p.deployed = first
			edit(p, p.managedSecret())
			d.rollTo(20)
			if got := short(t, p.managedSecret()); got != "c3,c2,i" {
				t.Errorf("%s at step %d: the managed configuration is %s in the end", name, step, got)
			}
			if got := p.condition(v1alpha1.Encrypted); got != "True EncryptionCompleted" {
				t.Errorf("%s at step %d: Encrypted is %s in the end", name, step, got)
			}
		}
	}
}

// TestADiskOfBeforeTheCycle: once all API servers write with a key none may be started
// with what writes otherwise, and only then objects are rewritten. What such a server
// wrote would stay, for all would count as rewritten.
func TestADiskOfBeforeTheCycle(t *testing.T) {
	p := newPlant(t)
	d := &byRevision{plant: p}
	p.component.Deployer = d
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	for d.revision < 2 {
		d.rollTo(1)
		if first := p.policy().Status.MinSafeRevision; first > 1 {
			t.Errorf("revision %d is the first that is safe, and API servers run %d", first, d.revision)
		}
	}
	d.rollTo(1)
	if got := p.policy().Status.MinSafeRevision; got != 2 {
		t.Errorf("all write with the key, and revision %d is the first that is safe", got)
	}
	other := p.managedSecret()
	other.Data[config.Configuration] = []byte(strings.ReplaceAll(string(other.Data[config.Configuration]), `"name":"1"`, `"name":"7"`))
	p.others = []*corev1.Secret{other}
	d.rollTo(20)
	if len(p.ran) > 0 {
		t.Errorf("runs %q while an API server may be started with another key", p.ran)
	}
	p.others = nil
	d.rollTo(20)
	if got := p.condition(v1alpha1.Encrypted); got != "True EncryptionCompleted" {
		t.Errorf("Encrypted is %s in the end", got)
	}
}
