package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// recordFlags are the flags of seedbed fidelity record.
type recordFlags struct {
	server serverFlags
	into   string
}

func (a *app) recordCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record DIR|FILE…",
		Short: "Ask a real API server, and write its answers down as case files",
		Long: `Send the steps of case files to a real API server, and write the cases with what
it answered as their expectations. The steps need no expect; one that they have
is replaced. A step with show records these paths of its answer, another the
whole of it; an events step without count records what comes within waitSeconds.

What is written is read by seedbed fidelity cases.

The real server is that at --url, or one that is started.

Exit codes: 0 all cases were recorded; 2 bad input; 3 the real server could not be
asked.`,
		Example: `  seedbed fidelity record questions.yaml --into cases/
  seedbed fidelity cases cases/`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := f.server.check(); err != nil {
				return err
			}
			return a.record(cmd.Context(), &f, paths)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	cmd.Flags().StringVar(&f.into, "into", "seedbed-fidelity", "folder for the recorded cases")
	f.server.register(cmd.Flags())
	return cmd
}

func (a *app) record(ctx context.Context, f *recordFlags, paths []string) error {
	cases, err := readFiles(paths, conformance.LoadQuestions)
	if err != nil {
		return err
	}
	reality := f.server.open()
	defer func() {
		if err := reality.close(); err != nil {
			fmt.Fprintf(a.err, "seedbed: %v\n", err)
		}
	}()
	for _, c := range cases {
		target, err := reality.target(ctx, c)
		if err == nil {
			err = conformance.Ask(ctx, target, c)
		}
		if err != nil {
			return &exit{exitEngine, fmt.Sprintf("case %s: %v", c.Name, err)}
		}
		file, err := writeCase(f.into, c)
		if err != nil {
			return badInput("write a case file: %v", err)
		}
		fmt.Fprintln(a.out, file)
	}
	return nil
}
