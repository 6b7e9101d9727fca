package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/serve"
	"github.com/seedbed-sim/seedbed/sim/report"
)

func (a *app) replayCommand() *cobra.Command {
	var trace string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Repeat the run of a replay file and tell its whole story",
		Long: `Repeat the run of a replay file, step for step, and tell its whole story.
The file holds the scenario and every choice of the run; nothing else is needed.
The journal of a live run, which seedbed serve --journal has kept, is repeated in
the same way: with everything that clients did, at the time at which they did it.

Exit codes: 0 no property was violated; 1 a property was violated; 2 bad input;
3 the run did not repeat as recorded.`,
		Example: "  seedbed replay seedbed-replays/my-scenario-seed7.replay.json",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badInput("seedbed replay takes one replay file; %d were given", len(args))
			}
			if serve.IsJournal(args[0]) {
				return a.replayJournal(args[0], trace)
			}
			return a.replay(args[0], trace)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	cmd.Flags().StringVar(&trace, "trace", "", "write the trace of the run to this file, one line of JSON per event")
	return cmd
}

// replayJournal repeats a live run.
func (a *app) replayJournal(path, trace string) error {
	journal, err := os.Open(path)
	if err != nil {
		return badInput("%v", err)
	}
	defer journal.Close()
	got, err := serve.Replay(a.registry, journal)
	if got == nil {
		return badInput("%s: %v", path, err)
	}
	run := &report.Run{
		Title: "live run", Seed: got.World.Seed, Hash: got.End.Hash, Steps: got.End.Steps, Elapsed: got.End.At,
		Again: "seedbed replay " + path, Records: got.Records,
	}
	if err := writeTrace(trace, run); err != nil {
		return err
	}
	var b strings.Builder
	scenarios.WriteStory(&b, got.Records, 0)
	fmt.Fprintf(a.out, "%sthe live run of seed %d, %s of virtual time: %s, hash %s\n",
		b.String(), got.World.Seed, got.End.At.Round(time.Millisecond), scenarios.Count(got.End.Steps, "step"), got.End.Hash)
	if err != nil {
		return &exit{exitEngine, err.Error()}
	}
	return nil
}

// writeTrace writes a trace into a file, if one is named.
func writeTrace(path string, run *report.Run) error {
	if path == "" {
		return nil
	}
	out, err := os.Create(path)
	if err != nil {
		return badInput("--trace: %v", err)
	}
	if err := errors.Join(report.WriteTrace(out, run), out.Close()); err != nil {
		return badInput("--trace: %v", err)
	}
	return nil
}

func (a *app) replay(path, trace string) error {
	f, err := a.registry.Replay(path)
	if f == nil {
		return badInput("%v", err)
	}
	run := f.Report(f.Records)
	run.Again = "seedbed replay " + path
	if err := writeTrace(trace, run); err != nil {
		return err
	}
	fmt.Fprint(a.out, scenarios.Style{Colour: a.colour}.Replay(f))
	switch {
	case err != nil:
		return &exit{exitEngine, err.Error()}
	case f.Result == scenarios.Violated:
		return &exit{code: exitViolated}
	case f.Result == scenarios.BadInput:
		return badInput("%v", f.Err)
	case f.Err != nil:
		return &exit{exitEngine, strings.TrimSpace(f.Err.Error())}
	}
	return nil
}
