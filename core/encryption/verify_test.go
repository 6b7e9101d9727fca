package encryption_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// verifier finds what it is told to find.
type verifier struct {
	left  error
	asked []string
}

func (v *verifier) VerifyMigration(_ context.Context, gr schema.GroupResource, key string) error {
	v.asked = append(v.asked, gr.String()+" "+key)
	return v.left
}

// TestARunLeavesSomething: it is not believed, but told of, and made again after a
// while.
func TestARunLeavesSomething(t *testing.T) {
	p := newPlant(t)
	v := &verifier{left: errors.New("secrets x/y is encrypted with key 7")}
	p.component.Verifier = v
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type = v1alpha1.TypeAESCBC })
	p.pass(9)
	if got := p.condition(v1alpha1.MigrationDegraded); got != "True Error" {
		t.Errorf("Degraded is %s", got)
	}
	if got := p.keySecret(1).Annotations[keysecret.MigratedResources]; got != "" {
		t.Errorf("it is believed: %s", got)
	}
	if len(p.ran) != 1 || strings.Join(v.asked, ", ") != "secrets 1" {
		t.Errorf("runs %q, verified %q", p.ran, v.asked)
	}
	v.left = nil
	p.pass(6)
	if got := p.keySecret(1).Annotations[keysecret.MigratedResources]; got == "" || len(p.ran) != 2 {
		t.Errorf("in the end %q is migrated, by runs %q", got, p.ran)
	}
}
