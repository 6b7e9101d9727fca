package migration

import (
	"context"
	"errors"
	"fmt"
	"path"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
)

var _ encryption.UnreadableObjects = (*Migrator)(nil)

// UnreadableObjects implements encryption.UnreadableObjects. An API server names up to a
// hundred of a page.
func (m *Migrator) UnreadableObjects(ctx context.Context, gr schema.GroupResource) ([]string, error) {
	kind, err := m.cfg.Kinds.PreferredKind(ctx, gr)
	if err != nil {
		return nil, fmt.Errorf("find the kind of %s: %w", gr, err)
	}
	token := ""
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := m.cfg.Live.List(ctx, list, client.Limit(PageSize), client.Continue(token))
		if names := unreadable(err); len(names) > 0 {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gr, err)
		}
		if token = list.GetContinue(); token == "" {
			return nil, nil
		}
	}
}

// unreadable are the names of the objects that an API server could not read, as it says
// in an error.
func unreadable(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonStoreReadError || status.Status().Details == nil {
		return nil
	}
	var names []string
	for _, c := range status.Status().Details.Causes {
		if c.Field != "" { // where the object is in etcd: /registry/…/namespace/name
			names = append(names, path.Join(path.Base(path.Dir(c.Field)), path.Base(c.Field)))
		}
	}
	return names
}
