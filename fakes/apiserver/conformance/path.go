package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Absent stands in results for a value that is not there. It is the very text
// the cases use, and differs from null, {}, [] and "".
const Absent = "(absent)"

// Lookup evaluates a path of the case format on a decoded JSON value:
//
//   - the whole value
//     a.b  a["x.y"]  members
//     a[0]           element by index
//     a[*].b         b of every element, as a list
//     a[name=c].b    b of the first element whose name is c
//     a.#keys        sorted member names
//     a.#len         length of a list or map; of a string, its characters
//
// What is not there gives [Absent], also as an element of the list that [*]
// makes.
func Lookup(value any, path string) (any, error) {
	if path == "*" {
		return value, nil
	}
	parts, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	return walk(value, parts), nil
}

// segment is one part of a path. Exactly one of its fields says what it does.
type segment struct {
	member   string // .member, also #keys and #len
	index    int    // [3], used when kind is indexed
	key, val string // [key=val]
	kind     segmentKind
}

type segmentKind int

const (
	byMember segmentKind = iota
	byIndex
	byKey
	each
)

func splitPath(path string) ([]segment, error) {
	var parts []segment
	rest := path
	for rest != "" {
		if rest[0] == '[' {
			seg, after, err := bracket(rest)
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", path, err)
			}
			parts, rest = append(parts, seg), after
		} else {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, fmt.Errorf("path %q: empty member name", path)
			}
			parts = append(parts, segment{member: rest[:end]})
			rest = rest[end:]
		}
		rest = strings.TrimPrefix(rest, ".")
	}
	return parts, nil
}

// bracket parses "[...]" at the start of s.
func bracket(s string) (segment, string, error) {
	if strings.HasPrefix(s, `["`) {
		end := strings.Index(s, `"]`)
		if end < 0 {
			return segment{}, "", fmt.Errorf("no closing \"]")
		}
		return segment{member: s[2:end]}, s[end+2:], nil
	}
	end := strings.IndexByte(s, ']')
	if end < 0 {
		return segment{}, "", fmt.Errorf("no closing ]")
	}
	inner, after := s[1:end], s[end+1:]
	if inner == "*" {
		return segment{kind: each}, after, nil
	}
	if key, val, found := strings.Cut(inner, "="); found {
		return segment{kind: byKey, key: key, val: val}, after, nil
	}
	i, err := strconv.Atoi(inner)
	if err != nil {
		return segment{}, "", fmt.Errorf("[%s] is neither an index, * nor key=value", inner)
	}
	return segment{kind: byIndex, index: i}, after, nil
}

func walk(value any, parts []segment) any {
	for i, seg := range parts {
		if seg.kind == each {
			list, ok := value.([]any)
			if !ok {
				return Absent
			}
			out := make([]any, len(list))
			for j, item := range list {
				out[j] = walk(item, parts[i+1:])
			}
			return out
		}
		next, ok := seg.step(value)
		if !ok {
			return Absent
		}
		value = next
	}
	return value
}

func (seg segment) step(value any) (any, bool) {
	switch seg.kind {
	case byIndex:
		list, _ := value.([]any)
		if seg.index < 0 || seg.index >= len(list) {
			return nil, false
		}
		return list[seg.index], true
	case byKey:
		list, _ := value.([]any)
		for _, item := range list {
			if m, ok := item.(map[string]any); ok && fmt.Sprint(m[seg.key]) == seg.val {
				return item, true
			}
		}
		return nil, false
	}
	switch seg.member {
	case "#keys":
		m, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		keys := []any{}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			keys = append(keys, k)
		}
		return keys, true
	case "#len":
		return length(value)
	}
	m, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	v, ok := m[seg.member]
	return v, ok
}

func length(value any) (any, bool) {
	var n int
	switch v := value.(type) {
	case []any:
		n = len(v)
	case map[string]any:
		n = len(v)
	case string:
		n = utf8.RuneCountInString(v)
	default:
		return nil, false
	}
	return json.Number(strconv.Itoa(n)), true
}

// assign sets the member at a dotted path, making maps on the way; Deleted
// removes it. Only members can be named: it serves "${base}" bodies.
func assign(object map[string]any, path string, value any) error {
	parts, err := splitPath(path)
	if err != nil {
		return err
	}
	at := object
	for i, seg := range parts {
		if seg.kind != byMember {
			return fmt.Errorf("path %q: only members can be set", path)
		}
		if i == len(parts)-1 {
			if value == deleteMarker {
				delete(at, seg.member)
			} else {
				at[seg.member] = value
			}
			return nil
		}
		next, ok := at[seg.member].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[seg.member] = next
		}
		at = next
	}
	return nil
}

// deleteMarker as a value in a "${base}" body removes the path.
const deleteMarker = "(delete)"
