package nodestate

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Reports are what all nodes report. It is encryption.NodeReports.
type Reports struct {
	Live kube.Reader

	// Nodes returns the names of the nodes that run an API server, or should.
	Nodes func(ctx context.Context) ([]string, error)
}

var _ encryption.NodeReports = (*Reports)(nil)

// NodeReports implements encryption.NodeReports.
func (r *Reports) NodeReports(ctx context.Context) ([]v1alpha1.EncryptionNodeState, error) {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the nodes of API servers: %w", err)
	}
	list := &v1alpha1.EncryptionNodeStateList{}
	if err := r.Live.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list EncryptionNodeStates: %w", err)
	}
	reports := make([]v1alpha1.EncryptionNodeState, 0, len(nodes))
	for _, node := range slices.Compact(slices.Sorted(slices.Values(nodes))) {
		if i := slices.IndexFunc(list.Items, func(s v1alpha1.EncryptionNodeState) bool { return s.Name == node }); i >= 0 {
			reports = append(reports, list.Items[i])
			continue
		}
		reports = append(reports, v1alpha1.EncryptionNodeState{ObjectMeta: metav1.ObjectMeta{Name: node}})
	}
	return reports, nil
}

// Apply makes status, which has the fields of [v1alpha1.EncryptionNodeStatus] that are
// the manager's, part of what the node reports. Fields that the manager had applied
// before and that are not there go.
func Apply(ctx context.Context, live kube.Kube, node, manager string, status map[string]any) error {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if len(status) > 0 { // a status that was and is empty becomes null, which API servers refuse
		u.Object["status"] = status
	}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("EncryptionNodeState"))
	u.SetName(node)
	apply := func() error {
		return live.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), client.FieldOwner(manager), client.ForceOwnership)
	}
	err := apply()
	if apierrors.IsNotFound(err) {
		o := &v1alpha1.EncryptionNodeState{ObjectMeta: metav1.ObjectMeta{Name: node}}
		if err := live.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create EncryptionNodeState %s: %w", node, err)
		}
		err = apply()
	}
	if err != nil {
		return fmt.Errorf("apply the status of EncryptionNodeState %s as %s: %w", node, manager, err)
	}
	return nil
}
