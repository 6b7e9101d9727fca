package encryption

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Reasons of the condition Encrypted.
const (
	ReasonDisabled             = "EncryptionDisabled"
	ReasonEncryptionInProgress = "EncryptionInProgress"
	ReasonEncryptionCompleted  = "EncryptionCompleted"
	ReasonDecryptionInProgress = "DecryptionInProgress"
	ReasonDecryptionCompleted  = "DecryptionCompleted"
)

// NewConditionController returns the controller that says whether all is encrypted,
// in the condition Encrypted. While API servers differ, the condition stays.
//
// Ours: it is True only if all resources are written with a key.
func NewConditionController(c *Component) kube.Controller {
	e := &conditionController{c}
	r := &reconciler{Component: c, name: "EncryptionCondition", owned: []string{v1alpha1.Encrypted}, sync: e.sync}
	return r.controller()
}

type conditionController struct{ *Component }

func (e *conditionController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	v, err := e.look(ctx, policy)
	if err != nil || v == nil {
		out.untouched = true
		return err
	}
	status, reason, message := encrypted(v)
	out.set(v1alpha1.Encrypted, status, reason, message)
	return nil
}

func encrypted(v *view) (status metav1.ConditionStatus, reason, message string) {
	if len(v.stored) == 0 {
		return metav1.ConditionFalse, ReasonDisabled, "Encryption is not enabled"
	}
	for _, gr := range v.grs {
		if r := v.desired.Find(gr); r != nil && r.HasWriteKey() && r.Write.Mode == state.Identity {
			return decrypted(v, r.Write)
		}
	}
	for _, gr := range v.grs {
		r := v.current.Find(gr)
		switch {
		case r == nil, !r.HasWriteKey():
			return metav1.ConditionFalse, ReasonEncryptionInProgress, fmt.Sprintf("Resource %s is not encrypted", gr)
		case r.Write.Mode == state.Identity:
			return decrypted(v, r.Write)
		case !rewritten(r):
			return metav1.ConditionFalse, ReasonEncryptionInProgress, fmt.Sprintf("Resource %s is being encrypted", gr)
		}
	}
	return metav1.ConditionTrue, ReasonEncryptionCompleted, "All resources are encrypted: " + list(v)
}

// decrypted is the condition while k, of mode identity, writes.
func decrypted(v *view, k *state.Key) (status metav1.ConditionStatus, reason, message string) {
	if k.Migrated.HasAll(v.grs) {
		return metav1.ConditionFalse, ReasonDecryptionCompleted, "Nothing is encrypted any more"
	}
	return metav1.ConditionFalse, ReasonDecryptionInProgress, "Resources are being decrypted"
}

// rewritten reports whether every object of r has been written with a key that can
// still be read.
func rewritten(r *state.Resource) bool {
	for i := range r.Read {
		switch k := &r.Read[i]; {
		case k.Mode == state.Identity:
			return false
		case k.Migrated.Has(r.GroupResource):
			return true
		}
	}
	return false
}

func list(v *view) string {
	names := make([]string, len(v.grs))
	for i, gr := range v.grs {
		names[i] = gr.String()
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
