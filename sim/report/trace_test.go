package report_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim/report"
)

func TestTraceIsReadAsItWasWritten(t *testing.T) {
	run := lostUpdate()
	var file bytes.Buffer
	if err := report.WriteTrace(&file, run); err != nil {
		t.Fatal(err)
	}
	got, err := report.ReadTrace(&file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(run, got); diff != "" {
		t.Errorf("the run (-written +read):\n%s", diff)
	}
}

func TestTraceThatWasCutShort(t *testing.T) {
	run := lostUpdate()
	var file bytes.Buffer
	if err := report.WriteRecords(&file, run.Records); err != nil {
		t.Fatal(err)
	}
	got, err := report.ReadTrace(&file)
	if err != nil {
		t.Fatal(err)
	}
	want := &report.Run{Steps: 11, Elapsed: 30 * ms, Records: run.Records}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the run (-want +got):\n%s", diff)
	}
}

func TestNotATrace(t *testing.T) {
	for name, text := range map[string]string{
		"empty":          "",
		"not JSON":       "once upon a time\n",
		"no kind":        `{"step":1,"at":0,"kind":"proc"}` + "\n" + `{"version":1}` + "\n",
		"cut in a line":  `{"step":1,"at":0,"kind":"pr`,
		"another thing":  `[1,2,3]`,
		"the run, alone": `{"step":1,"at":0,"kind":"run","run":{"title":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := report.ReadTrace(strings.NewReader(text)); !errors.Is(err, report.ErrNoTrace) {
				t.Errorf("error %v, want one that says that it is no trace", err)
			}
		})
	}
}
