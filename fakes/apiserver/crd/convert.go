package crd

import (
	"fmt"
	"maps"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Converter does the work of a conversion webhook: it returns obj, which is the
// converter's own, in another version. Its result must depend on nothing but obj.
type Converter func(obj *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error)

// convertBy has obj converted and checks what comes back: nothing of the metadata
// but labels and annotations may change.
func convertBy(convert Converter, obj *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
	gvk := obj.GroupVersionKind()
	if gvk.GroupVersion() == to {
		return obj, nil
	}
	out, err := convert(obj.DeepCopy(), to)
	if err != nil {
		return nil, fmt.Errorf("conversion webhook for %v failed: %w", gvk, err)
	}
	if out == nil || out.Object == nil {
		return nil, fmt.Errorf("conversion webhook for %v failed, no objects returned", gvk)
	}
	if got := out.GroupVersionKind(); got.GroupVersion() != to {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object at index 0: invalid groupVersion (expected %v, received %v)", gvk, to, got.GroupVersion())
	} else if got.Kind != gvk.Kind {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object at index 0: invalid kind (expected %v, received %v)", gvk, gvk.Kind, got.Kind)
	}
	if err := sameIdentity(obj, out); err != nil {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object: %w", gvk, err)
	}
	if err := restoreMetadata(obj, out); err != nil {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid metadata: %w", gvk, err)
	}
	return out, nil
}

func sameIdentity(in, out *unstructured.Unstructured) error {
	switch {
	case in.GetName() != out.GetName():
		return fmt.Errorf("must have the same name: %v != %v", in.GetName(), out.GetName())
	case in.GetNamespace() != out.GetNamespace():
		return fmt.Errorf("must have the same namespace: %v != %v", in.GetNamespace(), out.GetNamespace())
	case in.GetUID() != out.GetUID():
		return fmt.Errorf("must have the same UID: %v != %v", in.GetUID(), out.GetUID())
	}
	return nil
}

// restoreMetadata gives converted the metadata of original, with its own labels and
// annotations.
func restoreMetadata(original, converted *unstructured.Unstructured) error {
	value, found := converted.Object["metadata"]
	if !found {
		return fmt.Errorf("missing metadata in converted object")
	}
	answered, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata of type %T in converted object", value)
	}
	metadata, ok := runtime.DeepCopyJSONValue(original.Object["metadata"]).(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	for _, name := range []string{"labels", "annotations"} {
		delete(metadata, name)
		value := answered[name]
		if value == nil {
			continue
		}
		texts, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("invalid metadata.%s of type %T in converted object", name, value)
		}
		if err := checkTexts(name, texts); err != nil {
			return err
		}
		metadata[name] = texts
	}
	converted.Object["metadata"] = metadata
	return nil
}

func checkTexts(name string, texts map[string]any) error {
	content, err := textMap(texts)
	if err != nil {
		return fmt.Errorf("metadata.%s%w", name, err)
	}
	var errs field.ErrorList
	if name == "labels" {
		errs = metavalidation.ValidateLabels(content, field.NewPath("metadata", "labels"))
	} else {
		errs = apivalidation.ValidateAnnotations(content, field.NewPath("metadata", "annotation"))
	}
	return inOrder(errs).ToAggregate()
}

func textMap(m map[string]any) (map[string]string, error) {
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		s, ok := m[k].(string)
		if !ok {
			return nil, fmt.Errorf("[%s] must be a string, but is %T in converted object", k, m[k])
		}
		out[k] = s
	}
	return out, nil
}
