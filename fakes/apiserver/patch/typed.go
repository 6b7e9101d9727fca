package patch

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	kjson "sigs.k8s.io/json"
)

// A merge patch of a Go value need not go through JSON: most patches set a few
// fields, and the rest of the object may stay as it is. MergeTyped and
// MergeContent do that. They say no to everything unusual, and then the caller
// takes the long way, which also finds the words for what is wrong.

// Parse reads a merge patch for MergeTyped or MergeContent. It says no if the
// patch is not an object, or if a strict reading would complain.
func Parse(data []byte) (map[string]any, bool) {
	patch := map[string]any{}
	complaints, err := kjson.UnmarshalStrict(data, &patch)
	return patch, err == nil && len(complaints) == 0 && patch != nil
}

// MergeTyped applies a merge patch to the struct that obj points to. Nothing that
// the struct refers to is written, so it may share with other objects; what the
// patch changes is made anew. If it says no, obj is spoilt.
func MergeTyped(obj any, patch map[string]any) bool {
	if _, ok := patch["kind"]; ok {
		return false
	}
	if _, ok := patch["apiVersion"]; ok {
		return false
	}
	return mergeStruct(reflect.ValueOf(obj).Elem(), patch)
}

func mergeStruct(v reflect.Value, patch map[string]any) bool {
	fields := fieldsOf(v.Type())
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		index, ok := fields[key]
		if !ok || !mergeValue(v.FieldByIndex(index), patch[key]) {
			return false
		}
	}
	return true
}

func mergeValue(v reflect.Value, value any) bool {
	if value == nil {
		v.SetZero()
		return true
	}
	obj, isObject := value.(map[string]any)
	if !isObject {
		return setLeaf(v, value)
	}
	t := v.Type()
	switch {
	case plainStruct(t):
		return mergeStruct(v, obj)
	case t.Kind() == reflect.Pointer && plainStruct(t.Elem()):
		fresh := reflect.New(t.Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		v.Set(fresh)
		return mergeStruct(fresh.Elem(), obj)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && !unmarshals(t):
		return mergeMap(v, obj)
	default:
		return false
	}
}

func mergeMap(v reflect.Value, patch map[string]any) bool {
	t := v.Type()
	fresh := reflect.MakeMapWithSize(t, v.Len()+len(patch))
	for it := v.MapRange(); it.Next(); {
		fresh.SetMapIndex(it.Key(), it.Value())
	}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		value := patch[key]
		k := reflect.ValueOf(key).Convert(t.Key())
		if value == nil {
			fresh.SetMapIndex(k, reflect.Value{})
			continue
		}
		elem := reflect.New(t.Elem()).Elem()
		if old := v.MapIndex(k); old.IsValid() {
			elem.Set(old)
		}
		if !mergeValue(elem, value) {
			return false
		}
		fresh.SetMapIndex(k, elem)
	}
	v.Set(fresh)
	return true
}

// setLeaf replaces v by a value that is no object.
func setLeaf(v reflect.Value, value any) bool {
	if !unmarshals(v.Type()) {
		switch s := value.(type) {
		case string:
			if v.Kind() == reflect.String {
				v.SetString(s)
				return true
			}
		case bool:
			if v.Kind() == reflect.Bool {
				v.SetBool(s)
				return true
			}
		case int64:
			if v.CanInt() && !v.OverflowInt(s) {
				v.SetInt(s)
				return true
			}
		}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return false
	}
	fresh := reflect.New(v.Type())
	if complaints, err := kjson.UnmarshalStrict(data, fresh.Interface()); err != nil || len(complaints) > 0 {
		return false
	}
	v.Set(fresh.Elem())
	return true
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// unmarshals reports whether the type reads its JSON itself.
func unmarshals(t reflect.Type) bool {
	return t.Implements(unmarshaler) || reflect.PointerTo(t).Implements(unmarshaler)
}

func plainStruct(t reflect.Type) bool { return t.Kind() == reflect.Struct && !unmarshals(t) }

// fieldCache holds the fields of struct types by their names in JSON.
var fieldCache sync.Map // reflect.Type → map[string][]int

func fieldsOf(t reflect.Type) map[string][]int {
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string][]int)
	}
	m := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" && direct(t, f.Index) {
			m[name] = f.Index
		}
	}
	fieldCache.Store(t, m)
	return m
}

// direct reports whether a field is t's own or that of structs inlined in t.
func direct(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type.Kind() != reflect.Struct || name != "" {
			return false
		}
		t = f.Type
	}
	return true
}

// MergeContent returns content with a merge patch applied. Maps that change are
// made anew; everything else is shared with content, or with the patch.
func MergeContent(content, patch map[string]any) map[string]any {
	out := make(map[string]any, len(content)+len(patch))
	for k, v := range content {
		out[k] = v
	}
	for _, k := range slices.Sorted(maps.Keys(patch)) {
		v := patch[k]
		obj, isObject := v.(map[string]any)
		switch {
		case v == nil:
			delete(out, k)
		case isObject:
			below, _ := out[k].(map[string]any)
			out[k] = MergeContent(below, obj)
		default:
			out[k] = v
		}
	}
	return out
}
