package cloak_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// specified is how many scenarios the specification has.
const specified = 36

// reports are those of section 7 of the specification, of others' projects.
var reports = strings.Fields(`
	kloak/issues/136 kloak/pull/140 kloak/pull/145 kloak/issues/175 kloak/issues/275 kloak/pull/276 kloak/pull/187
	kloak/pull/188 kloak/pull/83 kloak/issues/43 kloak/issues/44 kloak/issues/45 kloak/pull/286 kloak/issues/186
	kloak/pull/152 kloak/pull/105 kloak/issues/78 kloak/pull/79 kloak/pull/287 kloak/issues/142 kloak/pull/261
	kloak/issues/177 kloak/issues/193 kloak/pull/185 kloak/pull/157 kloak/pull/24 kloak/pull/65 kloak/pull/68
	kloak/pull/11 kloak/issues/107 kloak/issues/102 kloak/issues/97 kloak/issues/104 TestEBPFHttp2HpackOverPadding
	containerd/nri/issues/114 containerd/nri/issues/63 containerd/nri/issues/316
	containerd/containerd/issues/13901 containerd/containerd/issues/8426`)

// tellers returns the files whose descriptions tell each thing that a pattern finds.
func tellers(t *testing.T, pattern string) map[string][]string {
	t.Helper()
	files, err := registry(t).Read(".")
	if err != nil {
		t.Fatal(err)
	}
	re, by := regexp.MustCompile(pattern), map[string][]string{}
	for _, file := range files {
		for _, what := range re.FindAllString(file.Metadata.Description, -1) {
			by[what] = append(by[what], strings.TrimSuffix(filepath.Base(file.Path), ".yaml"))
		}
	}
	return by
}

// TestEveryScenarioOfTheSpecificationIsTold: S7 is told by a file whose description says so.
func TestEveryScenarioOfTheSpecificationIsTold(t *testing.T) {
	by := tellers(t, `\bS\d+\b`)
	for n := 1; n <= specified; n++ {
		name := fmt.Sprintf("S%d", n)
		if len(by[name]) == 0 {
			t.Errorf("no file tells scenario %s: write one, and name it in the description", name)
		}
		t.Logf("%-4s %s", name, strings.Join(by[name], ", "))
	}
}

// TestEveryReportIsDesignedOut: each report has a file that shows it cannot happen here.
func TestEveryReportIsDesignedOut(t *testing.T) {
	by := tellers(t, `(kloak|containerd/nri|containerd/containerd)/(issues|pull)/\d+|TestEBPF\w+`)
	for _, report := range reports {
		if len(by[report]) == 0 {
			t.Errorf("no file shows that %s cannot happen: write one, and name the report in the description", report)
		}
		t.Logf("%-36s %s", report, strings.Join(by[report], ", "))
	}
	for report := range by {
		if !slices.Contains(reports, report) {
			t.Errorf("%s is no report of the specification", report)
		}
	}
}

// TestScenariosCheckEverything: leaving a property out needs a reason, which no story has.
func TestScenariosCheckEverything(t *testing.T) {
	files, err := registry(t).Read(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.ContainsFunc(file.Properties, func(p scenarios.PropertyUse) bool { return p.Library == "cloak.*" && len(p.Except) == 0 }) {
			t.Errorf("%s does not check every property", file.Path)
		}
	}
}
