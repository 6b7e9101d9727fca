package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/scenarios"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program and of the scenario format",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return badInput("seedbed version takes no arguments; leave out %q", args[0])
			}
			fmt.Fprintf(a.out, "seedbed %s\nscenarios %s\n%s %s/%s\n", version(), scenarios.APIVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// version is the module's version, with the commit for builds from a work tree.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	text := info.Main.Version
	if text == "" {
		text = "(devel)"
	}
	return text
}
