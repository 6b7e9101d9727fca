package deployer

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Union is several components that run one configuration, since their objects are
// encrypted with the same keys. An empty union has no answer ever.
//
// Ours: components that all run without a configuration agree.
type Union []encryption.Deployer

var (
	_ encryption.Deployer = Union{}
	_ encryption.Deployer = (*StaticPods)(nil)
)

// DeployedEncryptionConfigSecret implements encryption.Deployer.
func (u Union) DeployedEncryptionConfigSecret(ctx context.Context) (secret *corev1.Secret, converged bool, err error) {
	for i, d := range u {
		theirs, converged, err := d.DeployedEncryptionConfigSecret(ctx)
		if err != nil {
			return nil, false, fmt.Errorf("component %d: %w", i, err)
		}
		if !converged {
			return nil, false, nil
		}
		if i == 0 {
			secret = theirs
			continue
		}
		same, err := agree(secret, theirs)
		if err != nil {
			return nil, false, fmt.Errorf("component %d: %w", i, err)
		}
		if !same {
			return nil, false, nil
		}
	}
	return secret, len(u) > 0, nil
}

// agree reports whether two configurations read and write the same.
func agree(a, b *corev1.Secret) (bool, error) {
	if a == nil || b == nil {
		return a == b, nil
	}
	x, err := config.Decode(a)
	if err != nil {
		return false, err
	}
	y, err := config.Decode(b)
	if err != nil {
		return false, err
	}
	return x.Equal(y), nil
}

// StartableConfigSecrets implements encryption.Deployer.
func (u Union) StartableConfigSecrets(ctx context.Context) ([]*corev1.Secret, error) {
	var all []*corev1.Secret
	for i, d := range u {
		secrets, err := d.StartableConfigSecrets(ctx)
		if err != nil {
			return nil, fmt.Errorf("component %d: %w", i, err)
		}
		all = append(all, secrets...)
	}
	return all, nil
}

// Watches implements encryption.Deployer.
func (u Union) Watches() []kube.Watch {
	var all []kube.Watch
	for _, d := range u {
		all = append(all, d.Watches()...)
	}
	return all
}
