package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// scope resolves the ${…} of one running case.
type scope struct {
	vars    map[string]string // ns, ns2, x, webhookURL, webhookCA
	answers map[string]any    // decoded bodies by step id
}

// text replaces every ${…} in s.
func (sc *scope) text(s string) (string, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, rest, found := strings.Cut(after, "}")
		if !found {
			return "", fmt.Errorf("no } after ${%.20s", after)
		}
		value, err := sc.variable(name)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		s = rest
	}
}

func (sc *scope) variable(name string) (string, error) {
	if value, ok := sc.vars[name]; ok {
		return value, nil
	}
	head, path, found := strings.Cut(name, ":")
	if !found {
		return "", fmt.Errorf("unknown substitution ${%s}", name)
	}
	if head == "repeat" {
		piece, count, _ := strings.Cut(path, ":")
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 {
			return "", fmt.Errorf("${%s}: %q is not a count", name, count)
		}
		return strings.Repeat(piece, n), nil
	}
	answer, ok := sc.answers[head]
	if !ok {
		return "", fmt.Errorf("${%s}: %w", name, &MissingAnswer{head})
	}
	value, err := Lookup(answer, path)
	if err != nil {
		return "", err
	}
	// An absent value is sent as its marker: the server will refuse it and the
	// step is compared as usual, rather than the whole case breaking off.
	return fmt.Sprint(value), nil
}

// value replaces ${…} in every string of a decoded YAML value, keys included,
// and expands a "${base}" body. The input is not changed.
func (sc *scope) value(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return sc.text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			item, err := sc.value(v[i])
			if err != nil {
				return nil, err
			}
			out[i] = item
		}
		return out, nil
	case map[string]any:
		if base, ok := v[baseMember].(string); ok {
			return sc.based(base, v)
		}
		out := make(map[string]any, len(v))
		for k, item := range v {
			key, err := sc.text(k)
			if err != nil {
				return nil, err
			}
			if out[key], err = sc.value(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// based is the whole answer of a step with the given paths set.
func (sc *scope) based(step string, changes map[string]any) (any, error) {
	object, ok := deepCopy(sc.answers[step]).(map[string]any)
	if !ok || object["kind"] == "Status" {
		return nil, fmt.Errorf("${base}: %w", &MissingAnswer{step})
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		if path == baseMember {
			continue
		}
		value, err := sc.value(changes[path])
		if err != nil {
			return nil, err
		}
		if err := assign(object, path, value); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = deepCopy(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = deepCopy(v[i])
		}
		return out
	}
	return v
}
