package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
)

// coerceMetadata makes the metadata of an object what it is after a round trip
// through its Go type, and returns the paths of what does not come back. The round
// trip is left out where it changes nothing.
func coerceMetadata(content map[string]any, wanted bool) ([]string, error) {
	if m, ok := content["metadata"].(map[string]any); ok && plainMetadata(m) {
		return nil, nil
	}
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(content, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: wanted})
	if err != nil || !found {
		return nil, err
	}
	slices.Sort(unknown)
	return unknown, objectmeta.SetObjectMeta(content, meta)
}

// plainMetadata reports whether every member is known, of its type, and not empty.
func plainMetadata(m map[string]any) bool {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if check := plainMembers[name]; check == nil || !check(m[name]) {
			return false
		}
	}
	return true
}

var plainMembers = map[string]func(any) bool{
	"name": isText, "generateName": isText, "namespace": isText, "selfLink": isText, "uid": isText, "resourceVersion": isText,
	"generation": isInteger, "deletionGracePeriodSeconds": isInteger,
	"creationTimestamp": isTime, "deletionTimestamp": isTime,
	"labels": isTextMap, "annotations": isTextMap,
	"finalizers":      func(v any) bool { return isList(v, isText) },
	"ownerReferences": func(v any) bool { return isList(v, isOwner) },
	"managedFields":   func(v any) bool { return isList(v, isManager) },
}

func isText(v any) bool { s, ok := v.(string); return ok && s != "" }

func isFlag(v any) bool { _, ok := v.(bool); return ok }

func isInteger(v any) bool { _, ok := v.(int64); return ok }

func isTime(v any) bool {
	s, ok := v.(string)
	if !ok || !strings.HasSuffix(s, "Z") {
		return false
	}
	_, err := time.Parse("2006-01-02T15:04:05Z", s)
	return err == nil && !strings.Contains(s, ".")
}

func isTextMap(v any) bool {
	m, ok := v.(map[string]any)
	for _, value := range m {
		if _, isString := value.(string); !isString {
			return false
		}
	}
	return ok && len(m) > 0
}

func isList(v any, element func(any) bool) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool { return !element(e) })
}

func isOwner(v any) bool {
	return hasMembers(v, map[string]func(any) bool{
		"apiVersion": isText, "kind": isText, "name": isText, "uid": isText, "controller": isFlag, "blockOwnerDeletion": isFlag,
	}, "apiVersion", "kind", "name", "uid")
}

func isManager(v any) bool {
	return hasMembers(v, map[string]func(any) bool{
		"manager": isText, "operation": isText, "apiVersion": isText, "time": isTime, "fieldsType": isText, "subresource": isText,
		"fieldsV1": func(v any) bool { m, ok := v.(map[string]any); return ok && len(m) > 0 },
	})
}

func hasMembers(v any, known map[string]func(any) bool, required ...string) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if check := known[name]; check == nil || !check(m[name]) {
			return false
		}
	}
	return !slices.ContainsFunc(required, func(name string) bool { _, there := m[name]; return !there })
}

// warnOfFinalizers returns warnings about finalizers that obj has and old has not.
func warnOfFinalizers(obj, old registry.Object) []string {
	added := map[string]bool{}
	for _, f := range obj.GetFinalizers() {
		added[f] = true
	}
	if old != nil {
		for _, f := range old.GetFinalizers() {
			delete(added, f)
		}
	}
	var out []string
	for _, f := range slices.Sorted(maps.Keys(added)) {
		for _, problem := range validation.IsQualifiedName(f) {
			out = append(out, fmt.Sprintf("metadata.finalizers: %q: %s", f, problem))
		}
		switch {
		case strings.Contains(f, "/") || f == "orphan" || f == "foregroundDeletion" || f == "kubernetes":
		case strings.Contains(f, "."):
			out = append(out, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers", f))
		default:
			out = append(out, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", f))
		}
	}
	return out
}
