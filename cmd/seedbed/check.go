package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/scenarios"
)

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [PATH|NAME]…",
		Short: "Validate scenario files without running them",
		Long: `Validate scenario files, or all *.yaml files below a folder, and run nothing.
Every mistake is told with its place, what is allowed there, and what was
probably meant. Without a path the built-in library is checked.
A built-in scenario may be named as seedbed list scenarios shows it.

Exit codes: 0 all files are valid; 2 some are not.`,
		Example: "  seedbed check scenarios/",
		RunE: func(_ *cobra.Command, paths []string) error {
			files, err := a.read(paths)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s valid\n", verb(len(files), "scenario"))
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
}

// verb is a number of things with the right form of "to be".
func verb(n int, noun string) string {
	if n == 1 {
		return scenarios.Count(n, noun) + " is"
	}
	return scenarios.Count(n, noun) + " are"
}
