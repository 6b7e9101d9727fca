package told

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/report"
)

// Told is what was told, by what it is.
type Told map[string][]byte

// doomed is a property that no run keeps for long.
const doomed = "  - {name: doomed, why: To see what a failure tells., never: 'elapsed > duration(\"75s\")'}\n"

// Of runs a file on one seed and collects what is told of it: while it holds, and once
// more with a property that no run keeps, so that there is a failure to report, to
// shrink and to replay.
func Of(t *testing.T, r *scenarios.Registry, file *scenarios.File, seed uint64) Told {
	t.Helper()
	o, records := r.TraceSeed(file, seed)
	var trace, line bytes.Buffer
	var story strings.Builder
	scenarios.WriteStory(&story, records, 0)
	if err := errors.Join(report.WriteRecords(&trace, records), o.WriteJSON(&line)); err != nil {
		t.Fatal(err)
	}
	all := Told{"trace": trace.Bytes(), "story": []byte(story.String()), "line": line.Bytes()}

	failing, err := r.Parse(file.Path, bytes.Replace(file.Text, []byte("\nproperties:\n"), []byte("\nproperties:\n"+doomed), 1))
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := r.Run(t.Context(), scenarios.Plan{Files: []*scenarios.File{failing}, First: seed, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	bad := verdicts[0].Bad
	if bad == nil {
		bad = verdicts[0].First // the violation that the scenario is written to show comes first
	}
	if bad == nil || bad.Result != scenarios.Violated {
		t.Fatalf("%s fails without a violation: %v", file.Path, verdicts[0].Err)
	}
	failure, err := r.Investigate(bad, sim.Budget{Runs: 3}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if all["replay file"], err = os.ReadFile(failure.Replay); err != nil {
		t.Fatal(err)
	}
	style := scenarios.Style{}
	all["report"] = []byte(style.Failure(failure, "seedbed replay "+failure.Replay) + style.Verdict(&verdicts[0]) + style.Summary(scenarios.Summarise(verdicts)))
	all["replayed story"] = []byte(style.Replay(failure))
	var junit bytes.Buffer
	if err := scenarios.WriteJUnit(&junit, verdicts, map[string]string{file.Metadata.Name: string(all["report"])}); err != nil {
		t.Fatal(err)
	}
	all["junit"] = junit.Bytes()
	return all
}

// Hides fails the test if any of it gives something away, which find says in words.
func (a Told) Hides(t *testing.T, find func(text []byte) string) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(a)) {
		if len(a[what]) < 100 {
			t.Errorf("the %s tells nothing: %q", what, a[what])
		}
		if piece := find(a[what]); piece != "" {
			t.Errorf("the %s shows a piece of the %s", what, piece)
		}
	}
}

// Shows fails the test unless all of it gives something away: what a test of hiding
// relies on.
func (a Told) Shows(t *testing.T, find func(text []byte) string) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(a)) {
		if find(a[what]) == "" {
			t.Errorf("nothing is found in the %s:\n%s", what, a[what])
		}
	}
}
