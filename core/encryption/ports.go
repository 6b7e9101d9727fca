package encryption

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Provider says what is to be encrypted. Its answers may change.
type Provider interface {
	// EncryptedGRs returns the resources that are to be encrypted.
	EncryptedGRs() []schema.GroupResource

	// ShouldRunEncryptionControllers reports whether the controllers may do
	// anything now. After an error nothing is touched, conditions included.
	ShouldRunEncryptionControllers() (bool, error)
}

// Deployer knows what API servers run.
type Deployer interface {
	// DeployedEncryptionConfigSecret returns the Secret with the configuration that
	// every API server runs, nil if they run without one, and whether all of them
	// run the same. It must not say so while any API server that still answers runs
	// something else: data could be lost.
	DeployedEncryptionConfigSecret(ctx context.Context) (secret *corev1.Secret, converged bool, err error)

	// StartableConfigSecrets returns the Secrets with the configurations that an API
	// server may yet be started with, the deployed one and those of rollouts under
	// way included.
	StartableConfigSecrets(ctx context.Context) ([]*corev1.Secret, error)

	// Watches are what a change of the answers shows in.
	Watches() []kube.Watch
}

// ErrConfigGone is wrapped by the error of a Deployer if all API servers run the same
// configuration, and what that is cannot be found out any more.
var ErrConfigGone = errors.New("the configuration that API servers run is gone")

// Migrator rewrites all objects of a resource, so that they are encrypted with the
// key that API servers write with.
type Migrator interface {
	// EnsureMigration lets a run for gr and writeKey be under way, ending one for
	// another key, and returns how far it is. Result is the error that a finished
	// run failed with. It is idempotent.
	EnsureMigration(ctx context.Context, gr schema.GroupResource, writeKey string) (finished bool, result error, finishedAt time.Time, err error)

	// PruneMigration ends a run for gr, and forgets it. There need not be one.
	PruneMigration(ctx context.Context, gr schema.GroupResource) error

	// Watches are what the progress of runs shows in.
	Watches() []kube.Watch
}

// Verifier looks at what is stored, past API servers.
type Verifier interface {
	// VerifyMigration returns an error that names objects of gr which a run for
	// writeKey, in the sense of [Migrator], has left as they were.
	VerifyMigration(ctx context.Context, gr schema.GroupResource, writeKey string) error
}

// NodeReports tells what the nodes that run API servers report of themselves. They
// do so all the time, and nothing hangs on a minute; so nobody watches it.
type NodeReports interface {
	// NodeReports returns a report of each of the nodes, in the order of their names.
	// One of a node that has reported nothing has an empty status.
	NodeReports(ctx context.Context) ([]v1alpha1.EncryptionNodeState, error)
}

// KMSPreflightDeployer runs the workload that tries a KMS plugin before a key is made
// for it. All methods are idempotent.
type KMSPreflightDeployer interface {
	// Deploy makes all that the workload needs, and starts it. ConfigHash is what it
	// reports in its condition [KMSPreflightConfigHashPodCondition]; the Secret is the
	// configuration that an API server would load, with the plugin to be tried as the
	// newest. It is called only while there is no pod.
	Deploy(ctx context.Context, configHash string, encryptionConfiguration *corev1.Secret) error

	// Status returns the status of the workload's pod. An error that
	// apierrors.IsNotFound knows says that there is none. The condition
	// [KMSPreflightConfigHashPodCondition] is always there, be it that the pod has
	// not reported it itself; and so is startTime, be it the time of creation.
	Status(ctx context.Context) (corev1.PodStatus, error)

	// Cleanup removes what Deploy has made. There need not be anything.
	Cleanup(ctx context.Context) error
}

// Types of conditions by which the checker reports, in the status of its own pod. The
// pod has them as readiness gates.
const (
	// KMSPreflightConfigHashPodCondition has what the pod was deployed for in its
	// message.
	KMSPreflightConfigHashPodCondition corev1.PodConditionType = "KMSPreflightConfigHash"

	// KMSPreflightResultPodCondition is True if the plugin passed; else its message
	// says why not.
	KMSPreflightResultPodCondition corev1.PodConditionType = "KMSPreflightResult"

	// KMSPreflightKEKIDPodCondition has what the plugin calls the key that it keeps
	// in its message.
	KMSPreflightKEKIDPodCondition corev1.PodConditionType = "KMSPreflightKekID"
)

// Recorder tells people what has happened. It must not block; what it is told is
// free of key material.
type Recorder interface {
	Event(reason, message string)
}
