package encryption

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

const (
	identityPeriod = 10 * time.Second // between two renewals
	identityLasts  = time.Hour
)

// identityName is the name of the Lease by which the API server of a node says that it
// is there.
func (n *node) identityName() string {
	sum := sha256.Sum256([]byte(n.name))
	return "apiserver-" + hex.EncodeToString(sum[:16])
}

// showsIdentity reports whether anybody looks at those Leases: only then are they
// renewed, for each renewal costs a run a step.
func (n *node) showsIdentity() bool { return n.state.config.Rollout == reloadMode }

// identify renews that Lease, if the API server answers, as API servers do with each
// other's help: one that is down leaves its Lease to run out.
func (n *node) identify() {
	s, now := n.state, n.state.world.Engine().Now()
	if !n.server.answers() || now.Sub(n.identified) < identityPeriod {
		return
	}
	n.identified = now
	lease := &coordinationv1.Lease{}
	err := s.kubelets.Get(background, client.ObjectKey{Namespace: deployer.IdentityNamespace, Name: n.identityName()}, lease)
	missing := apierrors.IsNotFound(err)
	if !missing {
		s.must(err)
	}
	lease.Namespace, lease.Name = deployer.IdentityNamespace, n.identityName()
	lease.Labels = map[string]string{deployer.IdentityLabel: "kube-apiserver"}
	lease.Spec.HolderIdentity = ptr.To(fmt.Sprintf("%s_%d", n.identityName(), n.process.Incarnation()))
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(identityLasts.Seconds()))
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
	if missing {
		s.must(s.kubelets.Create(background, lease))
	} else {
		s.must(s.kubelets.Update(background, lease))
	}
}

// scrape asks the API server of a Lease what it has loaded.
func (s *State) scrape(ctx context.Context, env *cluster.Env, lease *coordinationv1.Lease) (string, error) {
	if err := env.Clock.Sleep(ctx, 5*time.Millisecond); err != nil {
		return "", err
	}
	for _, n := range s.nodes {
		if n.identityName() == lease.Name {
			return n.loadedHash(ctx)
		}
	}
	return "", fmt.Errorf("lease %s: %w", lease.Name, errNothing)
}
