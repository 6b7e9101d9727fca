package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/report"
)

// reportFlags are what seedbed report can be asked for.
type reportFlags struct {
	output string
	format string
	lines  int
}

// Forms of a report.
const (
	htmlReport    = "html"
	mermaidReport = "mermaid"
	textReport    = "text"
)

func (a *app) reportCommand() *cobra.Command {
	f := reportFlags{}
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Draw a run from its trace or replay file",
		Long: `Draw a run: a page of HTML that opens from disk and needs no network, with a lane
for each process, the requests and watch events between them, what went wrong, and
the objects as they were at each moment. Or a Mermaid diagram for a pull request,
or the whole story as text.

FILE is a trace, as --trace writes it, or a replay file, whose run is repeated.`,
		Example: `  seedbed report seedbed-replays/my-scenario-seed7.replay.json
  seedbed run my.yaml --seed 7 --trace run.jsonl && seedbed report run.jsonl
  seedbed report run.jsonl --format mermaid -o -`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badInput("seedbed report takes one trace or replay file; %d were given", len(args))
			}
			return a.report(args[0], f)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json", "jsonl"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "write to this file; - is standard output (default: FILE with another ending, and standard output for text)")
	flags.StringVar(&f.format, "format", htmlReport, "form of the report: html, mermaid or text")
	flags.IntVar(&f.lines, "lines", report.MermaidLines, "messages and notes in a Mermaid diagram at most, the last ones of the run")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{htmlReport, mermaidReport, textReport}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) report(path string, f reportFlags) error {
	var write func(io.Writer, *report.Run) error
	switch {
	case f.lines < 1:
		return badInput("--lines is %d; give 1 or more", f.lines)
	case f.format == htmlReport:
		write = func(out io.Writer, run *report.Run) error { return report.WriteHTML(out, report.Draw(run)) }
	case f.format == mermaidReport:
		write = func(out io.Writer, run *report.Run) error { return report.WriteMermaid(out, report.Draw(run), f.lines) }
	case f.format == textReport:
		write = func(out io.Writer, run *report.Run) error {
			var b strings.Builder
			scenarios.WriteStory(&b, run.Records, 0)
			_, err := io.WriteString(out, b.String())
			return err
		}
	default:
		return badInput("--format is %q; give html, mermaid or text", f.format)
	}
	run, err := a.readRun(path)
	if err != nil {
		return err
	}
	to := f.output
	if to == "" {
		to = reportPath(path, f.format)
	}
	if to == "-" {
		return write(a.out, run)
	}
	out, err := os.Create(to)
	if err != nil {
		return badInput("--output: %v", err)
	}
	if err := errors.Join(write(out, run), out.Close()); err != nil {
		return badInput("--output: %v", err)
	}
	fmt.Fprintln(a.out, to)
	return nil
}

// reportPath is where a report goes unless told otherwise.
func reportPath(path, format string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(path, filepath.Ext(path)), ".replay")
	switch format {
	case htmlReport:
		return base + ".html"
	case mermaidReport:
		return base + ".mmd"
	}
	return "-"
}

// readRun reads a trace, or repeats the run of a replay file.
func (a *app) readRun(path string) (*report.Run, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, badInput("%v", err)
	}
	defer in.Close()
	run, err := report.ReadTrace(in)
	if err == nil {
		if run.Title == "" {
			run.Title = filepath.Base(path)
		}
		return run, nil
	}
	failure, notReplay := a.registry.Replay(path)
	switch {
	case failure == nil:
		return nil, badInput("%s is neither a trace (%v) nor a replay file (%v)", path, err, notReplay)
	case notReplay != nil:
		return nil, &exit{exitEngine, notReplay.Error()}
	}
	run = failure.Report(failure.Records)
	run.Again = "seedbed replay " + path
	return run, nil
}
