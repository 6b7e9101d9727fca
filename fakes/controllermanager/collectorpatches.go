package controllermanager

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The collector changes metadata only, by patches. It tries a strategic one first;
// custom resources refuse that.

// metadataPatch is the body of a patch of metadata.
type metadataPatch struct {
	Metadata map[string]any `json:"metadata"`
}

func (c *collector) patch(ctx context.Context, id identity, how types.PatchType, metadata map[string]any) error {
	r, err := c.resource(&id)
	if err != nil {
		return err
	}
	body, err := json.Marshal(metadataPatch{metadata})
	if err != nil {
		return fmt.Errorf("patch of %s %s: %w", id.kind, id.name, err)
	}
	return c.m.patch(ctx, r.gvr, id.namespace, id.name, how, body)
}

// dropOwners removes the references to owners from an object.
func (c *collector) dropOwners(ctx context.Context, id identity, gone []types.UID) error {
	refs := make([]map[string]any, len(gone))
	for i, uid := range gone {
		refs[i] = map[string]any{"$patch": "delete", "uid": uid}
	}
	err := c.patch(ctx, id, types.StrategicMergePatchType, map[string]any{"uid": id.uid, "ownerReferences": refs})
	if !apierrors.IsUnsupportedMediaType(err) {
		return err
	}
	return c.replaceOwners(ctx, id, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
		return slices.DeleteFunc(refs, func(ref metav1.OwnerReference) bool { return slices.Contains(gone, ref.UID) })
	})
}

// replaceOwners does what a strategic patch would have done.
func (c *collector) replaceOwners(ctx context.Context, id identity, change func([]metav1.OwnerReference) []metav1.OwnerReference) error {
	r, err := c.resource(&id)
	if err != nil {
		return err
	}
	o := c.m.opts.Cache.Get(r.gvr, id.namespace, id.name)
	if o == nil {
		if o, err = c.m.get(ctx, r.gvr, id.namespace, id.name); err != nil {
			return err
		}
	}
	return c.patch(ctx, id, types.MergePatchType, map[string]any{
		"resourceVersion": o.GetResourceVersion(), "ownerReferences": change(slices.Clone(o.GetOwnerReferences())),
	})
}

// breakCycle keeps n from blocking its owners if one of its dependents waits for
// dependents itself: they might wait for each other.
func (c *collector) breakCycle(ctx context.Context, n *node) error {
	if !slices.ContainsFunc(n.sorted(), func(d *node) bool { return d.deletingDependents }) {
		return nil
	}
	unblocked := func(refs []metav1.OwnerReference) []metav1.OwnerReference {
		no := false
		for i := range refs {
			refs[i].BlockOwnerDeletion = &no
		}
		return refs
	}
	refs := slices.DeleteFunc(slices.Clone(n.owners), func(ref metav1.OwnerReference) bool { return !blocks(&ref) })
	id := n.identity
	err := c.patch(ctx, id, types.StrategicMergePatchType, map[string]any{"uid": id.uid, "ownerReferences": unblocked(refs)})
	if !apierrors.IsUnsupportedMediaType(err) {
		return err
	}
	return c.replaceOwners(ctx, id, unblocked)
}

// finalizerTries is how often a finalizer is taken off when other writes come
// between, before the queue's back-off takes over.
const finalizerTries = 4

// dropFinalizer takes a finalizer off an object, if it is there. As the real one, it
// goes by the name.
func (c *collector) dropFinalizer(ctx context.Context, id identity, finalizer string) error {
	r, err := c.resource(&id)
	if err != nil {
		return err
	}
	for range finalizerTries {
		o, e := c.m.get(ctx, r.gvr, id.namespace, id.name)
		if e != nil {
			return ignoreNotFound(e)
		}
		if !slices.Contains(o.GetFinalizers(), finalizer) {
			return nil
		}
		err = c.patch(ctx, id, types.MergePatchType, map[string]any{
			"resourceVersion": o.GetResourceVersion(),
			"finalizers":      slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer }),
		})
		if !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("take finalizer %s off %s %s/%s: %w", finalizer, id.kind, id.namespace, id.name, err)
	}
	return nil
}
