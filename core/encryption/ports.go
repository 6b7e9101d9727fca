package encryption

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// Recorder tells people what has happened. It must not block; what it is told is
// free of key material.
type Recorder interface {
	Event(reason, message string)
}
