package nodeagent

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TurnLease is the name of the Lease that says whose turn it is. It does not run out:
// an API server that does not come back holds up the others, who must not follow it.
// Only if its node is gone does the next take it.
const TurnLease = "encryption-rollout"

// TurnRevision is the annotation that says, for people, what the holder is about.
const TurnRevision = RevisionLabel

func (a *Agent) turnName() client.ObjectKey {
	return client.ObjectKey{Namespace: a.cfg.ConfigNamespace, Name: TurnLease}
}

// myTurn takes the turn if it is free, and reports whether the node has it.
func (a *Agent) myTurn(ctx context.Context, revision int64) (bool, error) {
	lease := &coordinationv1.Lease{}
	err := a.cfg.Live.Get(ctx, a.turnName(), lease)
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: a.cfg.ConfigNamespace, Name: TurnLease}}
		a.hold(lease, revision)
		return a.written(a.cfg.Live.Create(ctx, lease), "create")
	}
	if err != nil {
		return false, fmt.Errorf("get Lease %s: %w", a.turnName(), err)
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == a.cfg.Node {
		return true, nil
	}
	if holder != "" {
		nodes, err := a.cfg.Nodes(ctx)
		if err != nil {
			return false, fmt.Errorf("list the nodes of API servers: %w", err)
		}
		if slices.Contains(nodes, holder) {
			a.cfg.Log.V(1).Info("Another node restarts its API server", "node", holder, "revision", lease.Annotations[TurnRevision])
			return false, nil
		}
	}
	a.hold(lease, revision)
	return a.written(a.cfg.Live.Update(ctx, lease), "update")
}

func (a *Agent) hold(lease *coordinationv1.Lease, revision int64) {
	now := metav1.NewMicroTime(a.cfg.Clock.Now())
	lease.Spec.HolderIdentity, lease.Spec.AcquireTime = &a.cfg.Node, &now
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, TurnRevision, strconv.FormatInt(revision, 10))
}

// written reports whether a write has gone through, or another was faster.
func (a *Agent) written(err error, verb string) (bool, error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s Lease %s: %w", verb, a.turnName(), err)
	}
	return true, nil
}

// pass gives the turn back, if the node has it.
func (a *Agent) pass(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	err := a.cfg.Live.Get(ctx, a.turnName(), lease)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get Lease %s: %w", a.turnName(), err)
	}
	if ptr.Deref(lease.Spec.HolderIdentity, "") != a.cfg.Node {
		return nil
	}
	lease.Spec.HolderIdentity = nil
	_, err = a.written(a.cfg.Live.Update(ctx, lease), "update")
	return err
}
