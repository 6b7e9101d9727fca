package provingground_test

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios/provingground"
)

// TestTables: what is measured is told, with what was not found.
func TestTables(t *testing.T) {
	bugs := slices.DeleteFunc(provingground.Bugs(), func(b provingground.Bug) bool { return b.ID != "kubernetes-72192" })
	m := provingground.Measurement{
		Bugs: bugs, Strategies: []string{"mix", "stale"}, Masters: 2, Runs: 4, Patience: time.Minute, Twins: 4, Shrink: time.Millisecond,
		Commit: "c0ffee", Log: io.Discard, CPU: func() time.Duration { return 0 },
	}
	rows, err := provingground.Measure(registry(t), m)
	if err != nil {
		t.Fatal(err)
	}
	rows[0].Figures[1].Found = 0
	var b strings.Builder
	if err := m.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 bugs, looked for by the default mix from 2 seeds each",
		"| [kubernetes-72192](https://github.com/kubernetes/kubernetes/issues/72192) | W | 2 of 2 |",
		"| 4 | c0ffee |",
		"- mix finds all.",
		"- In so many runs stale finds 0 of 1; not kubernetes-72192.",
		"### kubernetes-72192: One wrong owner reference",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
