package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCasesGetALineEach(t *testing.T) {
	seedbed(t, "fidelity", "cases", "testdata/cases/one.yaml").wants(t, exitOK,
		"dev-901-agrees", " agreed\n", "1 case: 1 agreed, 0 differed, 0 could not be run to the end; 2 of 2 recorded steps right")
	r := seedbed(t, "fidelity", "cases", "testdata/cases")
	r.wants(t, exitViolated, "dev-902-differs", `differed at step gone, status.reason: want "Gone", got "NotFound"`, "2 cases: 1 agreed, 1 differed")
	if n := strings.Count(r.out, "\n"); n != 3 {
		t.Errorf("%d lines, want one per case and a summary:\n%s", n, r.out)
	}
	seedbed(t, "fidelity", "cases", "testdata/cases/two.yaml", "--all").wants(t, exitViolated, "step gone, status.message: want secrets is not there")
}

func TestCasesAsJSON(t *testing.T) {
	r := seedbed(t, "fidelity", "cases", "testdata/cases", "-o", "json")
	var lines []caseLine
	for d := json.NewDecoder(strings.NewReader(r.out)); d.More(); {
		var line caseLine
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	want := []caseLine{
		{Case: "dev-901-agrees", Verdict: "agreed", Right: 2, Steps: 2},
		{Case: "dev-902-differs", Verdict: "differed", Step: "gone", Field: "status.reason", Want: `"Gone"`, Got: `"NotFound"`, Steps: 1},
	}
	if diff := cmp.Diff(want, lines); diff != "" || r.code != exitViolated {
		t.Errorf("exit code %d; lines (-want +got):\n%s", r.code, diff)
	}
}

func TestACaseThatCannotBeRunIsNotAgreement(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gone.yaml")
	text := "case: dev-903-gone\nsteps:\n- {id: a, verb: get, resource: v1/pods, expect: {code: 200}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	seedbed(t, "fidelity", "cases", file, "--against", "real", "--url", "http://127.0.0.1:1").wants(t, exitViolated,
		"dev-903-gone", " broken: ", "connection refused", "0 differed, 1 could not be run")
}

func TestMistakesInCasesAreBadInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(file, []byte("case: a\nsteps:\n- id: x\n  verb: got\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seedbed(t, "fidelity", "cases", "testdata/cases", file).wants(t, exitBadInput, file+`:4: steps[0].verb: unknown verb "got"`, "1 mistake; nothing was run")
	seedbed(t, "fidelity", "cases", "nowhere").wants(t, exitBadInput, "nowhere does not exist")
	seedbed(t, "fidelity", "cases", t.TempDir()).wants(t, exitBadInput, "has no *.yaml files")
	seedbed(t, "fidelity", "cases").wants(t, exitBadInput, "which cases?")
	seedbed(t, "fidelity", "cases", "testdata/cases", "--against", "nothing").wants(t, exitBadInput, "write fake or real")
	seedbed(t, "fidelity", "cases", "testdata/cases", "-o", "xml").wants(t, exitBadInput, "write text or json")
	seedbed(t, "fidelity", "cases", "testdata/cases", "--against", "real", "--assets", t.TempDir()).wants(t, exitBadInput, " is not there")
	seedbed(t, "fidelity", "cases", "testdata/cases", "--against", "real", "--assets", "x", "--token", "t").wants(t, exitBadInput, "write that as well")
	seedbed(t, "fidelity", "case").wants(t, exitBadInput, `did you mean "cases"`)
}

func TestMistakesInRandomCallsAreBadInput(t *testing.T) {
	seedbed(t, "fidelity", "random", "--sequences", "0").wants(t, exitBadInput, "1 or more")
	seedbed(t, "fidelity", "random", "--calls", "0").wants(t, exitBadInput, "1 or more")
	seedbed(t, "fidelity", "random", "--workers", "0").wants(t, exitBadInput, "1 or more")
	seedbed(t, "fidelity", "random", "--resources", "v1/pod").wants(t, exitBadInput, "no calls about that are known", "v1/pods")
	seedbed(t, "fidelity", "random", "--url", "http://127.0.0.1:1", "--full").wants(t, exitBadInput, "kube-controller-manager")
	seedbed(t, "fidelity", "random", "--url", "http://127.0.0.1:1", "--sequences", "1").wants(t, exitEngine, "real server", "connection refused")
}
