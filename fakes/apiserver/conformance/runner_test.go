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
	c, err := Parse([]byte(text))
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

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"case: a\nsteps: [{id: x, verb: get, resource: v1/pods, nmae: a, expect: {code: 1}}]":       "nmae",
		"case: a\nsteps: [{id: x, verb: got}]":                                                      "unknown verb",
		"case: a\nsteps: [{id: x, verb: get, resource: pods, expect: {code: 1}}]":                   "[group/]version",
		"case: a\nsteps: [{id: x, verb: patch, patch: jsno, resource: v1/pods, expect: {code: 1}}]": "unknown patch type",
		"case: a\nsteps: [{id: x, verb: sleep}, {id: x, verb: sleep}]":                              "unique",
		"case: a\nsteps: [{id: x, verb: events, watch: w, expect: {}}]":                             "not an earlier step",
		"case: a\nsteps: [{id: x, verb: get, resource: v1/pods}]":                                   "no expect",
		"steps: []": "no name",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want one with %q", text, err, want)
		}
	}
}
