package encryption_test

import (
	"errors"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// says is what the condition of Migration says.
func (p *plant) says() metav1.ConditionStatus {
	p.Helper()
	c := apimeta.FindStatusCondition(p.policy().Status.Conditions, v1alpha1.MigrationDegraded)
	if c == nil {
		p.Fatal("Migration says nothing")
	}
	return c.Status
}

// rival is another leader, who says that all is well.
func (p *plant) rival() {
	p.Helper()
	policy := p.policy()
	apimeta.SetStatusCondition(&policy.Status.Conditions, metav1.Condition{Type: v1alpha1.MigrationDegraded, Status: metav1.ConditionFalse, Reason: "AsExpected"})
	must(p, p.client.Status().Update(p.Context(), policy))
}

// TestRivalsDoNotFight: of two leaders, each of which sees something else, none says so
// again at once; but in the end what is so is said.
func TestRivalsDoNotFight(t *testing.T) {
	p := encrypted(t)
	p.finished = false
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Rotation.Reason = "again" })
	for range 20 { // until it migrates
		_ = p.sync()
		p.roll()
		p.clock.now = p.clock.now.Add(time.Minute)
	}
	p.finished, p.result = true, errors.New("it failed")
	_ = p.sync("Migration")
	if got := p.says(); got != metav1.ConditionTrue {
		t.Fatalf("the migration failed, and the condition is %s", got)
	}
	p.clock.now = p.clock.now.Add(time.Second)
	p.rival()
	_ = p.sync("Migration")
	if got := p.says(); got != metav1.ConditionFalse {
		t.Errorf("what a rival has just said is said otherwise at once: %s", got)
	}
	p.clock.now = p.clock.now.Add(encryption.RivalPause)
	_ = p.sync("Migration")
	if got := p.says(); got != metav1.ConditionTrue {
		t.Errorf("what is so is not said after a pause: %s", got)
	}
}
