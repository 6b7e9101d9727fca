package encryption

import (
	"context"
	"io"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Component is an API server, in one or several instances, whose objects are
// encrypted: what its controllers share. All fields are required but Reports, Verifier,
// UpdatePlugins, Log and Configs.
type Component struct {
	// Name is part of the names of the Secrets, and of the field managers.
	Name string

	// Namespace of the key Secrets and the managed configuration.
	Namespace string

	// References is the namespace of what KMS plugins refer to. It is not watched.
	References string

	Provider Provider
	Deployer Deployer

	// Reports are those of the nodes. Without them nobody notices that a KMS plugin has
	// rotated the key that it keeps, or that it is dead.
	Reports NodeReports

	// Verifier, if there is one, is asked after each run of a migration, before it is
	// believed.
	Verifier Verifier

	// UpdatePlugins lets a change of how a KMS plugin is run, or of what it refers to,
	// reach the plugins of the newest key in place, with no new key. Without it such a
	// change waits for the next key.
	UpdatePlugins bool

	// Live reads and writes at the API server: a key that a cache does not show yet
	// would be made twice. Cached is for what need not be new.
	Live   kube.Kube
	Cached kube.Reader

	Clock clock.Clock

	// Entropy is what keys are made of; crypto/rand.Reader in production.
	Entropy io.Reader

	// Epoch is a number that grows with every change of the leader. A configuration
	// of a later leader is not overwritten.
	Epoch func() int64

	Recorder Recorder
	Log      logr.Logger

	// Configs decodes configurations. All controllers look at the same few, again and
	// again: one Decoder for all of them spares most of that work.
	Configs *config.Decoder
}

func (c *Component) managed() client.ObjectKey {
	return client.ObjectKey{Namespace: c.Namespace, Name: config.Name(c.Name)}
}

func (c *Component) keySelector() client.MatchingLabels {
	return client.MatchingLabels{keysecret.Component: c.Name}
}

// request is the only item in the queues of the controllers.
var request = reconcile.Request{NamespacedName: types.NamespacedName{Name: "key"}}

func toRequest(context.Context, client.Object) []reconcile.Request {
	return []reconcile.Request{request}
}

// watches are what every controller looks at.
func (c *Component) watches(more ...kube.Watch) []kube.Watch {
	watches := []kube.Watch{
		{Object: &v1alpha1.EncryptionPolicy{}, Name: v1alpha1.PolicyName},
		{Object: &corev1.Secret{}, Namespace: c.Namespace},
	}
	watches = append(watches, c.Deployer.Watches()...)
	watches = append(watches, more...)
	watches = slices.Clone(watches)
	for i := range watches {
		watches[i].Requests = toRequest
	}
	return watches
}
