package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
)

// maxOperations is the largest number of operations in a JSON patch.
const maxOperations = 10000

// Types of patches that are served.
var (
	builtinTypes = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	customTypes  = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType}
)

// CheckType refuses a type of patches that is not served. Custom says that it is a
// custom resource that is to be patched. The refusal is worded by the router of real
// servers for their own kinds, and by the handler of custom resources for those.
func CheckType(kind types.PatchType, custom bool) error {
	served := builtinTypes
	if custom {
		served = customTypes
	}
	if slices.Contains(served, kind) {
		return nil
	}
	err := apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", schema.GroupResource{}, "", "", 0, true)
	if !custom {
		err.ErrStatus.Message, err.ErrStatus.Details = "415: Unsupported Media Type", &metav1.StatusDetails{}
		return err
	}
	names := make([]string, len(served))
	for i, t := range served {
		names[i] = string(t)
	}
	err.ErrStatus.Message, err.ErrStatus.Details = "the body of the request was in an unknown format - accepted media types include: "+strings.Join(names, ", "), nil
	return err
}

// CheckBody refuses a patch, of a type that is served, that is not JSON at all.
func CheckBody(kind types.PatchType, data []byte) error {
	if json.Valid(data) {
		return nil
	}
	if kind != types.ApplyYAMLPatchType {
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	if _, err := utilyaml.ToJSON(data); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
	}
	return nil
}

// operation is one step of a JSON patch, as far as a strict reading goes.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// JSON applies a JSON patch to doc. With strict it also returns what is wrong
// with the patch without keeping it from being applied.
func JSON(doc, data []byte, strict bool) (out []byte, complaints []error, err error) {
	if strict {
		var ops []operation
		complaints, err = kjson.UnmarshalStrict(data, &ops)
		if err != nil {
			// The name of the type that real servers decode into is part of the text.
			return nil, nil, apierrors.NewBadRequest("error decoding patch: " + renamed(err))
		}
		for i, e := range complaints {
			complaints[i] = fmt.Errorf("json patch %w", e)
		}
	}
	p, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(p) > maxOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(p)))
	}
	out, err = p.Apply(doc)
	if err != nil {
		return nil, nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return out, complaints, nil
}

func renamed(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		list := ""
		if mismatch.Type != nil && mismatch.Type.Kind() == reflect.Slice {
			list = "[]"
		}
		return fmt.Sprintf("json: cannot unmarshal %s into Go value of type %shandlers.jsonPatchOp", mismatch.Value, list)
	}
	return err.Error()
}

// Merge applies a merge patch to doc.
func Merge(doc, data []byte, strict bool) (out []byte, complaints []error, err error) {
	if strict {
		complaints, err = kjson.UnmarshalStrict(data, &map[string]any{})
		if err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
	}
	out, err = jsonpatch.MergePatch(doc, data)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return out, complaints, err
}

// Strategic applies a strategic merge patch to content, which it changes. The
// schema is an object of the Go type whose tags say how lists merge. It returns
// the patch as well, for error messages.
func Strategic(content map[string]any, data []byte, goType any, strict bool) (out, patch map[string]any, complaints []error, err error) {
	patch = map[string]any{}
	if strict {
		complaints, err = kjson.UnmarshalStrict(data, &patch)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, &patch)
	}
	if err != nil {
		return nil, nil, nil, apierrors.NewBadRequest(err.Error())
	}
	out, err = strategicpatch.StrategicMergeMapPatch(content, patch, goType)
	if err != nil {
		return nil, nil, nil, interpret(err)
	}
	return out, patch, complaints, nil
}

// interpret gives the errors of strategic patches their codes. All others are
// 500 without a reason.
func interpret(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrBadJSONDoc), errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
		errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys), errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList),
		errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return apierrors.NewBadRequest(err.Error())
	case errors.Is(err, mergepatch.ErrNoListOfLists), errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	default:
		return err
	}
}
