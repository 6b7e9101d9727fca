package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// check finds what is wrong with a case that has the right outline.
func (s *source) check(c *Case) {
	if c.Name == "" {
		s.add("case", "the case has no name")
	}
	if !slices.Contains([]string{"", "apiserver", fullProfile}, c.Profile) {
		s.add("profile", "unknown profile %q; write apiserver or %s", c.Profile, fullProfile)
	}
	if len(c.Steps) == 0 {
		s.add("steps", "the case has no steps")
	}
	seen := map[string]string{} // verbs by id
	for i := range c.Steps {
		s.step(&c.Steps[i], fmt.Sprintf("steps[%d]", i), seen)
		seen[c.Steps[i].ID] = c.Steps[i].Verb
	}
}

// fullProfile is that of cases that need kube-controller-manager.
const fullProfile = "full"

func (s *source) step(step *Step, at string, seen map[string]string) {
	if step.ID == "" {
		s.add(at+".id", "the step has no id")
	} else if _, again := seen[step.ID]; again {
		s.add(at+".id", "another step has the id %q", step.ID)
	}
	s.verb(step, at, seen)
	for i, path := range step.Show {
		s.path(fmt.Sprintf("%s.show[%d]", at, i), path)
	}
	if step.Until != nil && step.Until.Path != "" {
		s.path(at+".until.path", step.Until.Path)
	}
	if e := step.Expect; e != nil {
		s.paths(at+".expect.fields", e.Fields)
		for i, ev := range e.Events {
			s.paths(fmt.Sprintf("%s.expect.events[%d].fields", at, i), ev.Fields)
		}
	}
	s.substitutions(step, at, seen)
}

func (s *source) verb(step *Step, at string, seen map[string]string) {
	switch step.Verb {
	case "create", "get", "list", "update", "patch", "delete", "deletecollection", "watch":
		if _, err := parseResource(step.Resource); err != nil {
			s.add(at+".resource", "%v", err)
		}
		if step.Verb == "patch" && patchContentType(step.Patch) == "" {
			s.add(at+".patch", "unknown patch type %q; write json, merge, strategic or apply", step.Patch)
		}
	case "raw":
		if !strings.HasPrefix(step.Path, "/") {
			s.add(at+".path", "%q must start with /", step.Path)
		}
	case "events":
		if seen[step.Watch] != "watch" {
			s.add(at+".watch", "%q is no watch opened before", step.Watch)
		}
	case "sleep", "compact", "restart":
		return
	default:
		s.add(at+".verb", "unknown verb %q; the verbs are %s", step.Verb, strings.Join(verbs, ", "))
		return
	}
	if step.Expect == nil && !s.questions {
		s.add(at+".expect", "the step has no expect")
	}
}

var verbs = []string{"create", "get", "list", "update", "patch", "delete", "deletecollection", "raw", "watch", "events", "sleep", "compact", "restart"}

func (s *source) path(at, path string) {
	if _, err := splitPath(path); err != nil {
		s.add(at, "%v", err)
	}
}

func (s *source) paths(at string, fields map[string]any) {
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		s.path(at, path)
	}
}

// substitutions checks every ${…} of what a step sends and expects.
func (s *source) substitutions(step *Step, at string, seen map[string]string) {
	texts := map[string]any{
		"resource": step.Resource, "namespace": step.Namespace, "name": step.Name, "subresource": step.Subresource,
		"query": step.Query, "body": step.Body, "path": step.Path, "as": step.As,
	}
	if step.RawBody != nil {
		texts["rawBody"] = *step.RawBody
	}
	if e := step.Expect; e != nil {
		texts["expect.fields"], texts["expect.status"] = e.Fields, e.Status
		for i, ev := range e.Events {
			texts[fmt.Sprintf("expect.events[%d]", i)] = []any{ev.Fields, ev.Status}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(texts)) {
		eachText(texts[place], func(text string) {
			if err := checkSubstitutions(text, seen); err != nil {
				s.add(at+"."+place, "%v", err)
			}
		})
	}
}

// eachText calls do with every text in v, keys included.
func eachText(v any, do func(string)) {
	switch v := v.(type) {
	case string:
		do(v)
	case []any:
		for _, item := range v {
			eachText(item, do)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if base, ok := v[k].(string); ok && k == baseMember {
				do("${" + base + ":*}")
				continue
			}
			do(k)
			eachText(v[k], do)
		}
	}
}

func checkSubstitutions(text string, seen map[string]string) error {
	for {
		_, after, found := strings.Cut(text, "${")
		if !found {
			return nil
		}
		name, rest, found := strings.Cut(after, "}")
		if !found {
			return fmt.Errorf("no } after ${%.20s", after)
		}
		if err := checkVariable(name, seen); err != nil {
			return err
		}
		text = rest
	}
}

func checkVariable(name string, seen map[string]string) error {
	head, path, found := strings.Cut(name, ":")
	switch {
	case !found:
		if !slices.Contains(variables, name) {
			return fmt.Errorf("unknown substitution ${%s}; there are ${STEP:path}, ${repeat:text:count} and ${%s}", name, strings.Join(variables, "}, ${"))
		}
		return nil
	case head == "repeat":
		_, count, _ := strings.Cut(path, ":")
		if n, err := strconv.Atoi(count); err != nil || n < 0 {
			return fmt.Errorf("${%s}: %q is not a count", name, count)
		}
		return nil
	}
	if _, known := seen[head]; !known {
		return fmt.Errorf("${%s}: %q is not an earlier step", name, head)
	}
	_, err := splitPath(path)
	return err
}

var variables = []string{"ns", "ns2", "x", "webhookURL", "webhookCA"}

// baseMember is the key of a body that starts from an earlier answer.
const baseMember = "${base}"
