package conformance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/fidelity"
)

const questions = `case: told-999-questions
set: told
subject: asking
about: What is asked.
profile: apiserver
steps:
  - {id: w, verb: watch, resource: v1/configmaps, namespace: "${ns}"}
  - {id: a, verb: create, resource: v1/configmaps, namespace: "${ns}", body: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}, show: [data, metadata.resourceVersion, metadata.uid]}
  - {id: again, verb: create, resource: v1/configmaps, namespace: "${ns}", body: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
  - {id: wait, verb: sleep, waitSeconds: 0.01}
  - {id: seen, verb: events, watch: w, waitSeconds: 0.3, show: [metadata.name, metadata.resourceVersion]}
  - {id: whole, verb: get, resource: v1/configmaps, namespace: "${ns}", name: a}
`

// TestAsking writes the answers of a server down, and finds another to give the same.
func TestAsking(t *testing.T) {
	file := filepath.Join(t.TempDir(), "questions.yaml")
	if err := os.WriteFile(file, []byte(questions), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := conformance.LoadFiles([]string{file}); err == nil || !strings.Contains(err.Error(), "steps[0].expect: the step has no expect") {
		t.Errorf("questions without answers are no case, but: %v", err)
	}
	cases, err := conformance.LoadQuestions([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	if err := conformance.Ask(t.Context(), fidelity.NewFake(), cases[0]); err != nil {
		t.Fatal(err)
	}
	text, err := conformance.Format(cases[0])
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := conformance.Parse("recorded.yaml", text)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, text)
	}
	steps := recorded.Steps
	if got := steps[1].Expect.Fields; len(got) != 3 || got["metadata.resourceVersion"] != "$rv1" || got["metadata.uid"] != "$uid1" {
		t.Errorf("create shows %v", got)
	}
	if got := steps[2].Expect; got.Code != 409 || got.Status["reason"] != "AlreadyExists" {
		t.Errorf("the second create is %+v", got)
	}
	if got := steps[4].Expect.Events; len(got) != 1 || steps[4].Count != 1 || got[0].Fields["metadata.resourceVersion"] != "$rv1" {
		t.Errorf("%d events: %+v", steps[4].Count, got)
	}
	result := conformance.RunCase(t.Context(), fidelity.NewFake(), recorded)
	if v := result.Verdict(nil); v != conformance.Agreed {
		step, d := result.First(nil)
		t.Errorf("another server: %v at %v: %v, %v", v, step, d, result.Err)
	}
}
