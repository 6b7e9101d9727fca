package sim

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/seedbed-sim/seedbed/sim/report"
)

// draw writes the page that shows the smallest failing run beside its replay file.
func (f *Failure) draw(o *Options) (path string, err error) {
	run := f.Small.report(o.Name)
	run.Again = EnvReplay + "=" + f.Replay + " go test"
	if o.Again != nil {
		run.Again = o.Again(f.Replay)
	}
	path = strings.TrimSuffix(f.Replay, replayEnding) + ".html"
	out, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("draw the run: %w", err)
	}
	if err := errors.Join(report.WriteHTML(out, report.Draw(run)), out.Close()); err != nil {
		return "", fmt.Errorf("draw the run into %s: %w", path, err)
	}
	return path, nil
}

// report is the run in the form that is drawn.
func (r *Result) report(title string) *report.Run {
	run := &report.Run{
		Title: title, Seed: r.Seed, Hash: hashText(r.Hash), Steps: r.Steps, Elapsed: r.Elapsed, Records: r.Records,
	}
	if v := r.Violation(); v != nil {
		run.Property, run.Meaning, run.Found, run.At = v.Property, v.Meaning, v.Err.Error(), v.At
	} else if r.Err != nil {
		run.Error = r.Err.Error()
	}
	return run
}
