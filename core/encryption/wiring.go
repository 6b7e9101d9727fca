package encryption

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Controllers returns all controllers of a component. Migrator rewrites objects, objects
// finds those that cannot be read, and preflight tries KMS plugins.
func Controllers(c *Component, migrator Migrator, objects UnreadableObjects, preflight KMSPreflightDeployer) []kube.Controller {
	return []kube.Controller{
		NewKeyController(c), NewStateController(c), NewRolloutController(c), NewMigrationController(c, migrator),
		NewPruneController(c), NewConditionController(c), NewKEKController(c), NewInstancesController(c),
		NewKMSPreflightController(c, preflight), NewLossController(c, objects),
	}
}

// LastEpoch returns the epoch of the leader who wrote the managed configuration of a
// component, zero if there is none: a floor for the next, whose Lease may have been
// deleted.
func LastEpoch(ctx context.Context, live kube.Reader, namespace, component string) (int64, error) {
	managed := &corev1.Secret{}
	name := client.ObjectKey{Namespace: namespace, Name: config.Name(component)}
	err := live.Get(ctx, name, managed)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get Secret %s: %w", name, err)
	}
	text, ok := managed.Annotations[EpochAnnotation]
	if !ok {
		return 0, nil
	}
	epoch, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, nil //nolint:nilerr // somebody has edited it; the Lease of the next leader begins anew
	}
	return epoch, nil
}

// PolicyProvider says what the EncryptionPolicy says. It is [Provider].
type PolicyProvider struct {
	// Cached reads the policy, which all controllers watch.
	Cached kube.Reader
}

var _ Provider = PolicyProvider{}

var errPolicyUnknown = errors.New("the policy is not known yet")

func (p PolicyProvider) policy() (*v1alpha1.EncryptionPolicy, error) {
	policy := &v1alpha1.EncryptionPolicy{}
	err := p.Cached.Get(context.Background(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy)
	return policy, err
}

// EncryptedGRs implements Provider.
func (p PolicyProvider) EncryptedGRs() []schema.GroupResource {
	policy, err := p.policy()
	if err != nil {
		return nil // not reached: ShouldRunEncryptionControllers is asked before
	}
	var grs []schema.GroupResource
	for _, r := range policy.Spec.Resources {
		grs = append(grs, schema.GroupResource(r))
	}
	return grs
}

// ShouldRunEncryptionControllers implements Provider.
func (p PolicyProvider) ShouldRunEncryptionControllers() (bool, error) {
	_, err := p.policy()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", errPolicyUnknown, err)
	}
	return true, nil
}
