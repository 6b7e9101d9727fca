package encryption

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

type noPreflight struct{}

func (noPreflight) Deploy(context.Context, string, *corev1.Secret) error { return nil }
func (noPreflight) Status(context.Context) (corev1.PodStatus, error) {
	return corev1.PodStatus{}, apierrors.NewNotFound(corev1.Resource("pods"), "kms-preflight")
}
func (noPreflight) Cleanup(context.Context) error { return nil }

func (s *State) preflightDeployer(*cluster.Env) encryption.KMSPreflightDeployer { return noPreflight{} }
