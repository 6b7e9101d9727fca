package scenarios

import (
	"errors"
	"fmt"
	"os"
	"strings"

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

// Draw writes a page of HTML that shows the smallest run beside its replay file, and
// returns its path. The command is what repeats the run.
func (f *Failure) Draw(command string) (path string, err error) {
	path = strings.TrimSuffix(f.Replay, ".replay.json") + ".html"
	out, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("draw the run: %w", err)
	}
	run := f.Report(f.Records)
	run.Again = command
	if err := errors.Join(report.WriteHTML(out, report.Draw(run)), out.Close()); err != nil {
		return "", fmt.Errorf("draw the run into %s: %w", path, err)
	}
	return path, nil
}
