package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// References are the ids of the steps whose answers, or watches, a step needs.
func (s *Step) References() []string {
	seen := map[string]bool{}
	if s.Watch != "" {
		seen[s.Watch] = true
	}
	texts := []any{s.Resource, s.Namespace, s.Name, s.Subresource, s.Query, s.Body, s.Path, s.As}
	if s.RawBody != nil {
		texts = append(texts, *s.RawBody)
	}
	for _, v := range texts {
		eachText(v, func(text string) {
			for _, part := range strings.Split(text, "${")[1:] {
				name, _, _ := strings.Cut(part, "}")
				if id, _, found := strings.Cut(name, ":"); found && id != "repeat" {
					seen[id] = true
				}
			}
		})
	}
	return slices.Sorted(maps.Keys(seen))
}

// MissingAnswer is the error of a step that refers to an answer that is not
// there, or is no object.
type MissingAnswer struct{ Step string }

// Error implements error.
func (m *MissingAnswer) Error() string { return fmt.Sprintf("step %q has no object as answer", m.Step) }
