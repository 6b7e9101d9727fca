package deployer

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// ByPolicy is the deployer of the mode that the EncryptionPolicy says. All fields are
// required.
type ByPolicy struct {
	// Live reads the policy: by one of before, API servers would be asked in a way that
	// is none of theirs.
	Live kube.Reader

	StaticPods, Reloading encryption.Deployer
}

var _ encryption.Deployer = (*ByPolicy)(nil)

func (b *ByPolicy) chosen(ctx context.Context) (encryption.Deployer, error) {
	policy := &v1alpha1.EncryptionPolicy{}
	if err := b.Live.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyName}, policy); err != nil {
		return nil, fmt.Errorf("get EncryptionPolicy %s: %w", v1alpha1.PolicyName, err)
	}
	if policy.Spec.Rollout.Mode == v1alpha1.AutomaticReload {
		return b.Reloading, nil
	}
	return b.StaticPods, nil
}

// DeployedEncryptionConfigSecret implements encryption.Deployer.
func (b *ByPolicy) DeployedEncryptionConfigSecret(ctx context.Context) (secret *corev1.Secret, converged bool, err error) {
	d, err := b.chosen(ctx)
	if err != nil {
		return nil, false, err
	}
	return d.DeployedEncryptionConfigSecret(ctx)
}

// StartableConfigSecrets implements encryption.Deployer.
func (b *ByPolicy) StartableConfigSecrets(ctx context.Context) ([]*corev1.Secret, error) {
	d, err := b.chosen(ctx)
	if err != nil {
		return nil, err
	}
	return d.StartableConfigSecrets(ctx)
}

// Watches implements encryption.Deployer: those of both, for the mode may change.
func (b *ByPolicy) Watches() []kube.Watch {
	return slices.Concat(b.StaticPods.Watches(), b.Reloading.Watches())
}
