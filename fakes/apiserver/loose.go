package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// optionalMetadata are the members of metadata that vanish when they are empty.
// All else in an unstructured object stays as it was sent, but its metadata
// passes through a Go type.
var optionalMetadata = []string{"annotations", "finalizers", "labels", "managedFields", "ownerReferences"}

// dropEmptyMetadata does to an unstructured object what decoding its metadata
// does in a real server. It reports whether there was anything to drop.
func dropEmptyMetadata(obj Object) bool {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	dropped := false
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, name := range optionalMetadata {
		value, present := metadata[name]
		if !present {
			continue
		}
		list, isList := value.([]any)
		members, isMap := value.(map[string]any)
		if value == nil || isList && len(list) == 0 || isMap && len(members) == 0 {
			delete(metadata, name)
			dropped = true
		}
	}
	return dropped
}

// nameIn is the name in a body, or that in the path if nothing could be read.
func (c *call) nameIn(obj Object) string {
	if obj == nil {
		return c.req.Name
	}
	return obj.GetName()
}

// errKind refuses a custom resource of another kind, as its validation does.
func (c *call) errKind(gvk schema.GroupVersionKind, name string) error {
	return apierrors.NewInvalid(gvk.GroupKind(), name, field.ErrorList{
		field.Invalid(field.NewPath("kind"), gvk.Kind, "must be "+c.ep.Served.Kind),
	})
}

const (
	// storedLimit is the size of the largest request that etcd takes.
	storedLimit = 3 * 512 * 1024

	// sentLimit is the size of the largest message that is sent to etcd at all.
	sentLimit = 2 * 1024 * 1024

	// growingPatch is the size of a patch from which on the object is measured. An
	// object that grows by less at a time would take a hundred patches and more.
	growingPatch = 16 * 1024
)

// checkSize refuses an object that etcd would not take. Only bodies are looked
// at: to measure objects that are handed over as Go values would cost more than
// to store them.
func (c *call) checkSize(obj Object) error {
	if !c.mayBeLarge() {
		return nil
	}
	size := 0
	if wire, ok := obj.(interface{ Size() int }); ok {
		size = wire.Size()
	} else if data, err := json.Marshal(obj); err == nil {
		size = len(data)
	}
	switch {
	case size > sentLimit: // the number is that of the message around the object
		return errPlain(fmt.Sprintf("rpc error: code = ResourceExhausted desc = trying to send message larger than max (%d vs. %d)", size, sentLimit))
	case size > storedLimit:
		return errPlain("etcdserver: request is too large")
	}
	return nil
}

// mayBeLarge reports whether a request can make a large object: by its own size, or
// by what a patch adds to the object, or copies within it.
func (c *call) mayBeLarge() bool {
	if c.req.Verb != Patch {
		return len(c.req.Body) > storedLimit
	}
	return len(c.req.Body) > growingPatch || c.req.PatchType == types.JSONPatchType && bytes.Contains(c.req.Body, []byte(`"copy"`))
}
