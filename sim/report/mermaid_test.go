package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim/report"
)

func TestMermaid(t *testing.T) {
	var got strings.Builder
	if err := report.WriteMermaid(&got, report.Draw(lostUpdate()), 4); err != nil {
		t.Fatal(err)
	}
	want := `---
title: lost-update, seed 7: violates counts
---
sequenceDiagram
  participant p0 as story
  participant p2 as apiserver-0
  participant p5 as node-2/writer
  Note over p5: 8 events before this are left out
  Note over p5: 0:00.018 is paused
  Note over p5: 0:00.019 goes on
  p5-xp2: 0:00.025 update configmaps/default/counter -#gt; 409 Conflict
  Note over p0: 0:00.030 property broken: counts: two writes, and the counter is 1
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("diagram (-want +got):\n%s", diff)
	}
}
