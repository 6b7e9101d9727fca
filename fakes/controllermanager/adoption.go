package controllermanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// adoption takes over the objects that an owner selects and nobody owns, and lets go
// of those that it owns and does not select any more.
type adoption struct {
	m        *Manager
	owner    apiserver.Object
	kind     schema.GroupVersionKind     // of the owner
	resource schema.GroupVersionResource // of the owner
	claimed  schema.GroupVersionResource // what it owns
	selector labels.Selector
	asked    bool  // whether the owner may adopt
	refused  error // the answer
}

// adopted returns those of the objects that belong to the owner afterwards.
func adopted[T apiserver.Object](ctx context.Context, c *adoption, objects []T) ([]T, error) {
	var mine []T
	var errs []error
	for _, o := range objects {
		ok, err := c.one(ctx, o)
		if err != nil {
			errs = append(errs, err)
		}
		if ok {
			mine = append(mine, o)
		}
	}
	return mine, errors.Join(errs...)
}

func (c *adoption) one(ctx context.Context, o apiserver.Object) (bool, error) {
	matches := c.selector.Matches(labels.Set(o.GetLabels()))
	ref := metav1.GetControllerOfNoCopy(o)
	switch {
	case ref != nil && ref.UID != c.owner.GetUID():
		return false, nil
	case ref != nil && matches:
		return true, nil
	case c.owner.GetDeletionTimestamp() != nil:
		return false, nil
	case ref != nil:
		return false, c.release(ctx, o)
	case !matches || o.GetDeletionTimestamp() != nil:
		return false, nil
	}
	if err := c.adopt(ctx, o); err != nil {
		return false, ignoreNotFound(err)
	}
	return true, nil
}

func (c *adoption) adopt(ctx context.Context, o apiserver.Object) error {
	if !c.asked {
		c.asked, c.refused = true, c.mayAdopt(ctx)
	}
	if c.refused != nil {
		return fmt.Errorf("adopt %s: %w", o.GetName(), c.refused)
	}
	return c.patch(ctx, o, metav1.NewControllerRef(c.owner, c.kind))
}

// mayAdopt asks the API whether the owner still is there and stays: the cache may be
// late.
func (c *adoption) mayAdopt(ctx context.Context) error {
	now, err := c.m.get(ctx, c.resource, c.owner.GetNamespace(), c.owner.GetName())
	switch {
	case err != nil:
		return fmt.Errorf("look at the owner: %w", err)
	case now.GetUID() != c.owner.GetUID():
		return fmt.Errorf("another %s has the name %s now", c.kind.Kind, c.owner.GetName())
	case now.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s %s is being deleted", c.kind.Kind, c.owner.GetName())
	}
	return nil
}

// release removes the owner. If the object is gone or another one, there is nothing
// to remove.
func (c *adoption) release(ctx context.Context, o apiserver.Object) error {
	err := c.patch(ctx, o, map[string]any{"$patch": "delete", "uid": c.owner.GetUID()})
	if apierrors.IsInvalid(err) {
		return nil
	}
	return ignoreNotFound(err)
}

// patch changes the owner references, provided that the object still is the same.
func (c *adoption) patch(ctx context.Context, o apiserver.Object, reference any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.GetUID(), "ownerReferences": []any{reference}}})
	if err != nil {
		return err
	}
	return c.m.patch(ctx, c.claimed, o.GetNamespace(), o.GetName(), types.StrategicMergePatchType, body)
}
