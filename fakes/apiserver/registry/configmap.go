package registry

import (
	"bytes"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// dataLimit is the size of all values of a ConfigMap or Secret together.
const dataLimit = 1 << 20

const onceImmutable = "field is immutable when `immutable` is set"

var configMaps = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	Names:            Names{Plural: "configmaps", ShortNames: []string{"cm"}},
	Prototype:        &corev1.ConfigMap{},
	Settle:           func(obj Object) bool { return withoutNil(&obj.(*corev1.ConfigMap).BinaryData) },
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateConfigMap(obj.(*corev1.ConfigMap))
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		cm, was := obj.(*corev1.ConfigMap), old.(*corev1.ConfigMap)
		var errs field.ErrorList
		if isTrue(was.Immutable) {
			if !isTrue(cm.Immutable) {
				errs = append(errs, field.Forbidden(field.NewPath("immutable"), onceImmutable))
			}
			if !sameStrings(cm.Data, was.Data) {
				errs = append(errs, field.Forbidden(field.NewPath("data"), onceImmutable))
			}
			if !sameBytes(cm.BinaryData, was.BinaryData) {
				errs = append(errs, field.Forbidden(field.NewPath("binaryData"), onceImmutable))
			}
		}
		return append(errs, validateConfigMap(cm)...)
	},
}

func validateConfigMap(cm *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for key, value := range cm.Data {
		errs = append(errs, dataKey(field.NewPath("data"), key)...)
		if _, both := cm.BinaryData[key]; both {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(value)
	}
	for key, value := range cm.BinaryData {
		errs = append(errs, dataKey(field.NewPath("binaryData"), key)...)
		size += len(value)
	}
	errs = sorted(errs)
	if size > dataLimit {
		errs = append(errs, field.TooLong(field.NewPath(""), "", dataLimit))
	}
	return errs
}

// withoutNil makes data that was sent as null empty, as it is when it is read, and
// reports whether there was any.
func withoutNil(data *map[string][]byte) bool {
	if !slices.ContainsFunc(slices.Sorted(maps.Keys(*data)), func(k string) bool { return (*data)[k] == nil }) {
		return false
	}
	out := make(map[string][]byte, len(*data))
	for k, v := range *data {
		out[k] = append([]byte{}, v...)
	}
	*data = out
	return true
}

func isTrue(b *bool) bool { return b != nil && *b }

func sameBytes(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !bytes.Equal(v, w) {
			return false
		}
	}
	return true
}
