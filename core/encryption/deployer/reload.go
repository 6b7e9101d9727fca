package deployer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Where API servers say that they are there.
const (
	IdentityNamespace = "kube-system"
	IdentityLabel     = "apiserver.kubernetes.io/identity"
)

// Reloading are API servers that load one file again and again, each by itself. What
// each has loaded it says in a metric; which there are is in the Leases by which they
// say that they are there. All fields are required but Log.
type Reloading struct {
	// Live reads at the API server: what a cache shows may be over.
	Live  kube.Reader
	Clock clock.Clock

	// IdentitySelector selects the Leases, such as by [IdentityLabel]=kube-apiserver.
	IdentitySelector labels.Selector

	// ConfigNamespace is that of the configurations of revisions.
	ConfigNamespace string

	// Scrape returns the hash of the configuration that the API server of a Lease has
	// loaded, as it tells in the metric
	// apiserver_encryption_config_controller_last_config_info; empty if it has none. An
	// answer of another API server than that of the Lease is an error: the metric has
	// the hash of the Lease's name.
	Scrape func(ctx context.Context, lease *coordinationv1.Lease) (hash string, err error)

	Log logr.Logger
}

var _ encryption.Deployer = (*Reloading)(nil)

// DeployedEncryptionConfigSecret implements encryption.Deployer.
//
// All API servers are asked twice, and must say the same, and must be the same ones
// before, between and after. One that cannot be asked differs until its Lease has run
// out or is deleted: it may still answer others.
func (r *Reloading) DeployedEncryptionConfigSecret(ctx context.Context) (secret *corev1.Secret, converged bool, err error) {
	loaded, why, err := r.loaded(ctx)
	if err != nil {
		return nil, false, err
	}
	if why != "" {
		r.Log.V(1).Info("API servers differ in what they run", "reason", why)
		return nil, false, nil
	}
	if loaded == "" {
		return nil, true, nil
	}
	revisions, err := r.StartableConfigSecrets(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, s := range slices.Backward(revisions) { // the last of those that are alike
		if config.FileHash(s.Data[config.Configuration]) == loaded {
			return s, true, nil
		}
	}
	return nil, false, fmt.Errorf("find the configuration %s: %w", loaded, encryption.ErrConfigGone)
}

// loaded returns the hash of what all API servers have loaded, or why there is none.
func (r *Reloading) loaded(ctx context.Context) (hash, why string, err error) {
	var first []string
	for round := range 2 {
		leases, err := r.instances(ctx)
		if err != nil {
			return "", "", err
		}
		if len(leases) == 0 {
			return "", "no API server is known", nil
		}
		if names := identities(leases); round == 0 {
			first = names
		} else if !slices.Equal(first, names) {
			return "", "an API server has come or gone", nil
		}
		for i := range leases {
			theirs, err := r.Scrape(ctx, &leases[i])
			if err != nil {
				return "", fmt.Sprintf("API server %s does not say what it has loaded: %v", leases[i].Name, err), nil
			}
			if round == 0 && i == 0 {
				hash = theirs
			}
			if theirs != hash {
				return "", fmt.Sprintf("API server %s has loaded %q, and another %q", leases[i].Name, theirs, hash), nil
			}
		}
	}
	leases, err := r.instances(ctx)
	if err != nil {
		return "", "", err
	}
	if !slices.Equal(first, identities(leases)) {
		return "", "an API server has come or gone", nil
	}
	return hash, "", nil
}

// instances returns the Leases of API servers that have not run out.
func (r *Reloading) instances(ctx context.Context) ([]coordinationv1.Lease, error) {
	list := &coordinationv1.LeaseList{}
	if err := r.Live.List(ctx, list, client.InNamespace(IdentityNamespace), client.MatchingLabelsSelector{Selector: r.IdentitySelector}); err != nil {
		return nil, fmt.Errorf("list the Leases of API servers in %s: %w", IdentityNamespace, err)
	}
	return slices.DeleteFunc(list.Items, func(l coordinationv1.Lease) bool {
		if l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
			return false
		}
		return r.Clock.Since(l.Spec.RenewTime.Time) > time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second
	}), nil
}

// identities tell one process of an API server from the next, sorted.
func identities(leases []coordinationv1.Lease) []string {
	var names []string
	for i := range leases {
		holder := ""
		if h := leases[i].Spec.HolderIdentity; h != nil {
			holder = *h
		}
		names = append(names, leases[i].Name+"/"+string(leases[i].UID)+"/"+holder)
	}
	slices.Sort(names)
	return names
}

// StartableConfigSecrets implements encryption.Deployer: those of all revisions that
// are stored, the oldest first.
func (r *Reloading) StartableConfigSecrets(ctx context.Context) ([]*corev1.Secret, error) {
	return revisions(ctx, r.Live, r.ConfigNamespace)
}

// Watches implements encryption.Deployer. What API servers have loaded shows in
// nothing that could be watched.
func (r *Reloading) Watches() []kube.Watch {
	return []kube.Watch{{Object: &corev1.Secret{}, Namespace: r.ConfigNamespace}}
}
