package scenarios

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// create puts an object into the store that was not there.
func (w *World) create(m Manifest) error {
	object := m.Object.DeepCopyObject().(client.Object)
	if err := w.Admin().Create(w.ctx, object); err != nil {
		return fmt.Errorf("create %s: %w", m, err)
	}
	return nil
}

// String is kind and name, without content.
func (m Manifest) String() string {
	return describeObject(m.kind.GVK.Kind, m.Object.GetNamespace(), m.Object.GetName())
}

func applyStep(st *Story, args Manifests) error {
	for _, m := range args {
		st.Tell(m.String(), "applies %s", m)
		err := st.create(m)
		if apierrors.IsAlreadyExists(err) {
			err = st.merge(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// merge merges a manifest into the object that exists.
func (w *World) merge(m Manifest) error {
	body, err := json.Marshal(m.Content)
	if err != nil {
		return fmt.Errorf("apply %s: %w", m, err)
	}
	object := m.Object.DeepCopyObject().(client.Object)
	if err := w.Admin().Patch(w.ctx, object, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("apply %s: %w", m, err)
	}
	return nil
}

// object is the object that a step names, without content.
func (n ObjectName) target(kinds *kinds) (*unstructured.Unstructured, string) {
	kind, _ := kinds.lookup(string(n.Kind))
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK)
	u.SetNamespace(n.Namespace)
	u.SetName(n.Name)
	return u, describeObject(kind.GVK.Kind, n.Namespace, n.Name)
}

func patchStep(st *Story, args PatchArgs) error {
	object, what := args.target(st.objects.kinds)
	var body any = args.Merge
	patchType := types.MergePatchType
	if args.JSON != nil {
		body, patchType = args.JSON, types.JSONPatchType
	}
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("patch %s: %w", what, err)
	}
	st.Tell(what, "changes %s", what)
	if err := st.Admin().Patch(st.ctx, object, client.RawPatch(patchType, text)); err != nil {
		return fmt.Errorf("patch %s: %w", what, err)
	}
	return nil
}

func deleteStep(st *Story, args ObjectName) error {
	object, what := args.target(st.objects.kinds)
	st.Tell(what, "deletes %s", what)
	if err := st.Admin().Delete(st.ctx, object); err != nil {
		return fmt.Errorf("delete %s: %w", what, err)
	}
	return nil
}
