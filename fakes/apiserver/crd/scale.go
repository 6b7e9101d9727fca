package crd

import (
	"fmt"
	"math"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
)

func (v *version) scaleSpec() *apiextensions.CustomResourceSubresourceScale {
	if v.spec.Subresources == nil {
		return nil
	}
	return v.spec.Subresources.Scale
}

// scale is the scale subresource of the version, or nil.
func (v *version) scale() *registry.Scale {
	s := v.scaleSpec()
	if s == nil {
		return nil
	}
	selector := func(registry.Object) string { return "" }
	if s.LabelSelectorPath != nil && *s.LabelSelectorPath != "" {
		path := members(*s.LabelSelectorPath)
		selector = func(obj registry.Object) string {
			text, _, _ := unstructured.NestedString(contentOfObject(obj), path...)
			return text
		}
	}
	replicas, current := members(s.SpecReplicasPath), members(s.StatusReplicasPath)
	return &registry.Scale{
		Replicas: func(obj registry.Object) int32 { return count(obj, replicas) },
		Current:  func(obj registry.Object) int32 { return count(obj, current) },
		Selector: selector,
		Path:     fieldPath(replicas),
		SetReplicas: func(obj registry.Object, n int32) {
			// It fails only where a parent is no object, which validation has refused.
			_ = unstructured.SetNestedField(contentOfObject(obj), int64(n), replicas...)
		},
		Check: func(obj registry.Object) error {
			_, found, err := unstructured.NestedInt64(contentOfObject(obj), replicas...)
			if err == nil && !found {
				err = apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.SpecReplicasPath))
			}
			return err
		},
	}
}

func fieldPath(members []string) fieldpath.Path {
	path := make(fieldpath.Path, 0, len(members))
	for _, name := range members {
		path = append(path, fieldpath.PathElement{FieldName: &name})
	}
	return path
}

func contentOfObject(obj registry.Object) map[string]any {
	return obj.(*unstructured.Unstructured).Object
}

func count(obj registry.Object, path []string) int32 {
	n, _, _ := unstructured.NestedInt64(contentOfObject(obj), path...)
	return int32(n)
}

// members are the names in a simple path such as .spec.replicas.
func members(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// checkScale checks what the scale subresource shows; without spec, of the status
// alone.
func (v *version) checkScale(u *unstructured.Unstructured, spec bool) field.ErrorList {
	s := v.scaleSpec()
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	if spec {
		errs = append(errs, checkCount(u, s.SpecReplicasPath)...)
	}
	errs = append(errs, checkCount(u, s.StatusReplicasPath)...)
	if s.LabelSelectorPath != nil {
		if text, _, err := unstructured.NestedString(u.Object, members(*s.LabelSelectorPath)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*s.LabelSelectorPath), text, err.Error()))
		}
	}
	return errs
}

func checkCount(u *unstructured.Unstructured, path string) field.ErrorList {
	n, _, err := unstructured.NestedInt64(u.Object, members(path)...)
	switch at := field.NewPath(path); {
	case err != nil:
		return field.ErrorList{field.Invalid(at, n, err.Error())}
	case n < 0:
		return field.ErrorList{field.Invalid(at, n, "should be a non-negative integer")}
	case n > math.MaxInt32:
		return field.ErrorList{field.Invalid(at, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}
	}
	return nil
}
