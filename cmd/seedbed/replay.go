package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/scenarios"
)

func (a *app) replayCommand() *cobra.Command {
	var trace string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Repeat the run of a replay file and tell its whole story",
		Long: `Repeat the run of a replay file, step for step, and tell its whole story.
The file holds the scenario and every choice of the run; nothing else is needed.

Exit codes: 0 no property was violated; 1 a property was violated; 2 bad input;
3 the run did not repeat as recorded.`,
		Example: "  seedbed replay seedbed-replays/my-scenario-seed7.replay.json",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badInput("seedbed replay takes one replay file; %d were given", len(args))
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

func (a *app) replay(path, trace string) error {
	f, err := a.registry.Replay(path)
	if f == nil {
		return badInput("%v", err)
	}
	if trace != "" {
		out, err := os.Create(trace)
		if err != nil {
			return badInput("--trace: %v", err)
		}
		if err := errors.Join(scenarios.WriteTrace(out, f.Records), out.Close()); err != nil {
			return badInput("--trace: %v", err)
		}
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
