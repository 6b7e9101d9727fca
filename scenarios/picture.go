package scenarios

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/report"
)

// Report is the run in the form that is written as a trace and drawn.
func (o *Outcome) Report(records []engine.Record) *report.Run {
	run := &report.Run{
		Title: o.File.Metadata.Name, Seed: o.Seed, Hash: fmt.Sprintf("%016x", o.Hash), Steps: o.Steps,
		Property: o.Property, Meaning: o.Meaning, Found: o.Found, At: o.At, Elapsed: o.Simulated, Records: records,
	}
	if o.Err != nil {
		run.Error = o.Err.Error()
	}
	return run
}
