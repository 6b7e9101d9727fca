package shape

import (
	"maps"
	"reflect"
	"slices"
)

// identityJSON are the names of identity in JSON.
var identityJSON = map[string]bool{
	"name": true, "namespace": true, "selfLink": true, "uid": true, "resourceVersion": true,
	"generation": true, "creationTimestamp": true, "managedFields": true,
}

// content is Onward for unstructured objects.
func (w *way) content(a, b, c map[string]any) bool {
	for _, key := range union(a, b, c) {
		switch {
		case key == "kind" || key == "apiVersion":
		case a == nil:
			w.first = w.first || key != "status" && filledJSON(b[key], key)
			w.second = w.second || grewJSON(b[key], c[key], key)
		case !w.member(a, b, c, key):
			return false
		}
	}
	return w.first && w.second
}

// member looks at what is under one key of three maps.
func (w *way) member(a, b, c map[string]any, key string) bool {
	va, vb, vc := a[key], b[key], c[key]
	before, moved := !reflect.DeepEqual(va, vb), !reflect.DeepEqual(vb, vc)
	w.first = w.first || before && grewJSON(va, vb, key)
	w.second = w.second || moved && grewJSON(vb, vc, key)
	if !before || !moved {
		return true
	}
	if reflect.DeepEqual(va, vc) {
		return false
	}
	ma, isA := va.(map[string]any)
	mb, isB := vb.(map[string]any)
	mc, isC := vc.(map[string]any)
	if !isA && !isB && !isC {
		return !isList(va) && !isList(vb) && !isList(vc)
	}
	if len(ma) == 0 || len(mb) == 0 || len(mc) == 0 {
		return false
	}
	for _, inner := range union(ma, mb, mc) {
		if !(key == "metadata" && identityJSON[inner]) && !w.member(ma, mb, mc, inner) {
			return false
		}
	}
	return true
}

func isList(v any) bool { _, ok := v.([]any); return ok }

// union returns the keys of three maps, sorted.
func union(a, b, c map[string]any) []string {
	keys := slices.Concat(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)), slices.Sorted(maps.Keys(c)))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// filledJSON reports whether v, under key, holds anything that somebody can own.
func filledJSON(v any, key string) bool {
	switch v := v.(type) {
	case nil:
		return false
	case []any:
		return len(v) > 0
	case map[string]any:
		for inner, value := range v {
			if !(key == "metadata" && identityJSON[inner]) && filledJSON(value, inner) {
				return true
			}
		}
		return false
	default:
		return true
	}
}

// grewJSON reports whether going from a to b sets something to a value.
func grewJSON(a, b any, key string) bool {
	switch b := b.(type) {
	case []any:
		old, _ := a.([]any)
		return len(b) > len(old)
	case map[string]any:
		old, _ := a.(map[string]any)
		for inner, value := range b {
			if !(key == "metadata" && identityJSON[inner]) && grewJSON(old[inner], value, inner) {
				return true
			}
		}
		return false
	default:
		return b != nil && !reflect.DeepEqual(a, b)
	}
}
