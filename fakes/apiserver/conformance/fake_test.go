package conformance_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/fidelity"
)

var reportFile = flag.String("report", "", "write every difference, excused or not, to this file")

// TestFake runs every recorded case against a fresh fake server, in virtual
// time. A case that is not in scope runs as well, so that the score counts it.
func TestFake(t *testing.T) {
	report := conformance.Run(t, "testdata/cases", conformance.OutOfScope, open, synctest.Test)
	if filter := flag.Lookup("test.run").Value.String(); !strings.Contains(filter, "/") { // all cases have run
		for _, e := range report.Needless() {
			t.Errorf("scope.go excuses what is right: %+v", e)
		}
	}
	if *reportFile == "" {
		return
	}
	file, err := os.Create(*reportFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	report.Write(file, true)
}

// TestFakeAsTold does the same with the cases that nobody recorded.
func TestFakeAsTold(t *testing.T) {
	conformance.Run(t, "testdata/told", nil, open, synctest.Test)
}

// TestFakeWorkloads does the same with the cases that were recorded with controllers at
// work on workloads.
func TestFakeWorkloads(t *testing.T) {
	conformance.Run(t, "testdata/workloads", nil, open, synctest.Test)
}

func open(t *testing.T, c *conformance.Case) (conformance.Target, string) {
	if !c.Full() {
		return fidelity.NewFake(), ""
	}
	target, err := fidelity.NewFullFake()
	if err != nil {
		t.Fatal(err)
	}
	return target, ""
}
