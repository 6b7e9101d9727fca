package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// scripted answers requests, written as "METHOD path?query body", with canned
// JSON; a code other than 200 stands before it. Watches get one event per line.
type scripted map[string]string

func (s scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	key := r.Method + " " + r.URL.RequestURI()
	if who := r.Header.Get("Impersonate-User"); who != "" {
		key += " as " + who
	}
	text, ok := s[key]
	rec := httptest.NewRecorder()
	code := 200
	switch {
	case !ok && r.Method == http.MethodPost:
		code, text = 201, `{}`
	case !ok:
		code, text = 404, fmt.Sprintf(`{"message": "no script for %s"}`, key)
	case strings.IndexByte(text, ' ') == 3:
		_, _ = fmt.Sscan(text[:3], &code)
		text = text[4:]
	}
	rec.Header().Set("Content-Type", "application/json")
	rec.WriteHeader(code)
	_, _ = rec.WriteString(text)
	return rec.Result(), nil
}

// play runs a case written in YAML against a script, in virtual time.
func play(t *testing.T, target Target, text string) *Result {
	t.Helper()
	c, err := Parse("case.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var result *Result
	synctest.Test(t, func(t *testing.T) {
		target.Unique = "u"
		result = RunCase(context.Background(), target, c)
	})
	return result
}

// summary prints the differing places, one line per step.
func summary(r *Result) string {
	var out strings.Builder
	for _, o := range r.Outcomes {
		fmt.Fprintf(&out, "%s: %s\n", o.Step.ID, places(o.Differences))
	}
	if r.Err != nil {
		fmt.Fprintf(&out, "error: %v\n", r.Err)
	}
	return out.String()
}

const story = `
case: dev-999-story
subject: test
about: one of each
profile: apiserver
steps:
  - {id: get, verb: get, resource: v1/configmaps, namespace: "${ns}", name: a, show: [metadata.resourceVersion],
     expect: {code: 200, fields: {metadata.resourceVersion: $rv1}}}
  - {id: alice, verb: list, resource: apps/v1/deployments, namespace: "${ns}", as: alice,
     expect: {code: 403, status: {code: 403, status: Failure, reason: Forbidden, message: "no, ${ns}"}}}
  - {id: watch, verb: watch, resource: v1/configmaps, namespace: "${ns}", query: {resourceVersion: "${get:metadata.resourceVersion}"},
     expect: {code: 200}}
  - {id: events, verb: events, watch: watch, count: 2, show: [metadata.name],
     expect: {ended: true, events: [{type: ADDED, fields: {metadata.name: b}}, {type: ERROR, status: {code: 410, status: Failure}}]}}
`

func TestStory(t *testing.T) {
	result := play(t, Target{Transport: scripted{
		"GET /api/v1/namespaces/c999u/configmaps/a":               `{"metadata": {"resourceVersion": "7"}}`,
		"GET /apis/apps/v1/namespaces/c999u/deployments as alice": `403 {"status": "Failure", "code": 403, "reason": "Forbidden", "message": "no, c999u"}`,
		"GET /api/v1/namespaces/c999u/configmaps?resourceVersion=7&watch=true": `{"type": "ADDED", "object": {"metadata": {"name": "b"}}}
			{"type": "BOOKMARK", "object": {"metadata": {}}}
			{"type": "ERROR", "object": {"code": 410, "status": "Failure"}}`,
	}}, story)
	want := "get: \nalice: \nwatch: \nevents: \n"
	if diff := cmp.Diff(want, summary(result)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if v := result.Verdict(nil); v != Agreed {
		t.Errorf("verdict is %v", v)
	}
}

func TestEveryKindOfDifferenceIsFound(t *testing.T) {
	result := play(t, Target{Transport: scripted{
		"GET /api/v1/namespaces/c999u/configmaps/a":                                `{"metadata": {"resourceVersion": "seven"}}`,
		"GET /apis/apps/v1/namespaces/c999u/deployments as alice":                  `{"items": []}`,
		"GET /api/v1/namespaces/c999u/configmaps?resourceVersion=seven&watch=true": `{"type": "MODIFIED", "object": {"metadata": {"name": "b"}}}`,
	}}, story)
	want := `get: fields["metadata.resourceVersion"]
alice: code
watch: 
events: events[0].type events[1]
`
	if diff := cmp.Diff(want, summary(result)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if v := result.Verdict(nil); v != Differed {
		t.Errorf("verdict is %v", v)
	}
	excluded := []Exclusion{
		{Case: "999", Step: "get", Field: "fields"}, {Case: "999", Step: "alice", Reason: "no permissions"}, {Case: "999", Step: "events"},
	}
	if v := result.Verdict(excluded); v != Excused {
		t.Errorf("with exclusions the verdict is %v", v)
	}
}

func TestUntilRepeatsTheCall(t *testing.T) {
	calls := 0
	result := play(t, Target{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost {
			return scripted{}.RoundTrip(r)
		}
		calls++
		return scripted{r.Method + " " + r.URL.RequestURI(): fmt.Sprintf(`{"status": {"calls": %d}}`, calls)}.RoundTrip(r)
	})}, `
case: dev-999-until
steps:
  - {id: get, verb: get, resource: v1/nodes, name: node, until: {code: 200, path: status, value: '"calls":3'}, show: [status],
     expect: {code: 200, fields: {status: {calls: 3}}}}
`)
	if diff := cmp.Diff("get: \n", summary(result)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestHooksAreRequired(t *testing.T) {
	const text = `
case: dev-999-hooks
steps:
  - {id: gone, verb: compact}
  - {id: new, verb: restart}
`
	result := play(t, Target{Transport: scripted{}}, text)
	if result.Err == nil || !strings.Contains(result.Err.Error(), "cannot compact") {
		t.Errorf("error is %v", result.Err)
	}
	var called []string
	hook := func(name string) func(context.Context) error {
		return func(context.Context) error { called = append(called, name); return nil }
	}
	result = play(t, Target{Transport: scripted{}, Compact: hook("compact"), Restart: hook("restart")}, text)
	if diff := cmp.Diff([]string{"compact", "restart"}, called); diff != "" || result.Err != nil {
		t.Errorf("error %v; hooks (-want +got):\n%s", result.Err, diff)
	}
}

func TestParseNamesThePlaceOfEveryMistake(t *testing.T) {
	for text, want := range map[string]string{
		"case: a\nsteps:\n- {id: x, verb: get, resource: v1/pods, nmae: a, expect: {code: 1}}": `case.yaml:3: steps[0].nmae: unknown field "nmae"; the fields here are accept, allNamespaces, as, body, ` +
			`contentType, count, expect, id, method, name, namespace, note, patch, path, query, rawBody, resource, show, subresource, until, userAgent, verb, waitSeconds, watch`,
		"case: a\nsteps:\n- id: x\n  verb: got":                                                          `case.yaml:4: steps[0].verb: unknown verb "got"; the verbs are create, get, list, update, patch, delete, deletecollection, raw, watch, events, sleep, compact, restart`,
		"case: a\nsteps:\n- id: x\n  verb: get\n  resource: pods\n  expect: {code: 1}":                   `case.yaml:5: steps[0].resource: resource "pods" is not [group/]version/plural`,
		"case: a\nsteps:\n- {id: x, verb: patch, resource: v1/pods, expect: {code: 1},\n   patch: jsno}": `case.yaml:4: steps[0].patch: unknown patch type "jsno"; write json, merge, strategic or apply`,
		"case: a\nsteps:\n- {id: x, verb: sleep}\n- {id: x, verb: sleep}":                                `case.yaml:4: steps[1].id: another step has the id "x"`,
		"case: a\nsteps:\n- {id: x, verb: events, watch: w, expect: {}}":                                 `case.yaml:3: steps[0].watch: "w" is no watch opened before`,
		"case: a\nsteps:\n- {id: x, verb: get, resource: v1/pods}":                                       `case.yaml:3: steps[0].expect: the step has no expect`,
		"case: a\nsteps: []":                `case.yaml:2: steps: the case has no steps`,
		"profile: half\nsteps: []\ncase: a": "case.yaml:1: profile: unknown profile \"half\"; write apiserver or full\ncase.yaml:2: steps: the case has no steps",
		"steps:\n- {id: x, verb: sleep}":    `case.yaml:1: case: the case has no name`,
		"":                                  `case.yaml: the file is empty`,
		"case: a\nsteps: {}":                `case.yaml:2: steps: must be a list, is a map`,
		"case: [a]\nsteps: [7]":             "case.yaml:1: case: must be a text, is a list\ncase.yaml:2: steps[0]: must be a map, is \"7\"",
		"case: a\n\tsteps:":                 `case.yaml:2: is no YAML: found a tab character that violates indentation`,
		"case: a\ncase: b\nsteps: []":       `case.yaml:2: is no YAML: key "case" already set in map`,
		"case: a\nsteps:\n- {id: x, verb: sleep, waitSeconds: soon}": `case.yaml:3: steps[0].waitSeconds: must be a number, is "soon"`,
		"case: a\nsteps:\n- id: x\n  verb: get\n  resource: v1/pods\n  name: ${y:metadata.name}\n  expect: {code: 200, fields: {'a[': 1}}": "case.yaml:7: steps[0].expect.fields: path \"a[\": no closing ]\n" +
			`case.yaml:6: steps[0].name: ${y:metadata.name}: "y" is not an earlier step`,
		"case: a\nsteps:\n- {id: x, verb: create, resource: v1/pods, body: {a: [{b: '${nss}'}]}, expect: {code: 201}}": "case.yaml:3: steps[0].body: unknown substitution ${nss}; " +
			"there are ${STEP:path}, ${repeat:text:count} and ${ns}, ${ns2}, ${x}, ${webhookURL}, ${webhookCA}",
		"case: a\nsteps:\n- {id: x, verb: update, resource: v1/pods, body: {'${base}': s}, expect: {code: 200}}": `case.yaml:3: steps[0].body: ${s:*}: "s" is not an earlier step`,
	} {
		_, err := Parse("case.yaml", []byte(text))
		if err == nil {
			t.Errorf("%s: no mistake is found", text)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
