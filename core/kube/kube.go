package kube

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reader reads objects. Whether a read is live or served by a cache is a
// property of the value, not of the call: see the constructor that takes it.
//
// Objects passed in are filled by the call and belong to the caller.
type Reader interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
}

// Kube reads and writes objects. Errors are those of k8s.io/apimachinery's
// api/errors: test them with apierrors.IsNotFound and its siblings. Any error
// that carries no API status leaves it open whether a write was applied.
type Kube interface {
	Reader

	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
	Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error

	// Status writes the status subresource.
	Status() client.SubResourceWriter
}
