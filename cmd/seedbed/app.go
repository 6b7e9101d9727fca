package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// Exit codes.
const (
	exitOK          = 0
	exitViolated    = 1
	exitBadInput    = 2
	exitEngine      = 3
	exitFailed      = 4 // of a Pod of cluster-explore: another may do better
	exitInterrupted = 130
)

// app is the command and everything it touches, so that tests can hand in their
// own.
type app struct {
	registry *scenarios.Registry
	library  func() ([]*scenarios.File, error) // the built-in scenario files
	out, err io.Writer
	terminal bool // err is a terminal: progress may be shown
	colour   bool
	up       func()                                              // called when a cluster is served; may be nil
	program  func(ctx context.Context, args ...string) *exec.Cmd // runs this program again; nil: the one that runs
	env      func(name string) string                            // reads the environment; nil: that of the process
}

// exit ends the command with a code. What there is to say has been said, unless
// there is a message.
type exit struct {
	code    int
	message string
}

func (e *exit) Error() string { return e.message }

// badInput ends the command with exit code 2 and one line that says what to
// write instead.
func badInput(format string, args ...any) error {
	return &exit{exitBadInput, fmt.Sprintf(format, args...)}
}

// recovered turns a panic into an error with exit code 3: Go's own code for a
// panic is 2, which here means bad input. It is deferred; what was being done is
// part of the message.
func recovered(what string, err *error) {
	if r := recover(); r != nil {
		*err = &exit{exitEngine, fmt.Sprintf("%s: the program has a mistake: panic: %v\n%s", what, r, debug.Stack())}
	}
}

// execute runs the command with its arguments.
func (a *app) execute(ctx context.Context, args []string) (err error) {
	defer recovered("seedbed "+strings.Join(args, " "), &err)
	root := a.command()
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// main runs the command with its arguments and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	err := a.execute(ctx, args)
	var e *exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		if e.message != "" {
			fmt.Fprintf(a.err, "seedbed: %s\n", e.message)
		}
		return e.code
	}
	fmt.Fprintf(a.err, "seedbed: %v\n", err)
	return exitBadInput
}

const about = `Seedbed grows a whole simulated Kubernetes cluster from one random seed and
checks that what runs on it keeps its promises while things go wrong.

A scenario file says what runs, what happens, and what must hold. Every seed is
one history; a history that breaks a promise is shrunk, told in plain words, and
kept in a replay file.`

// command builds the command tree.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "seedbed",
		Short: "Run scenarios in simulated clusters",
		Long:  about,
		Example: `  seedbed run                          the built-in scenarios
  seedbed run safe-rotation            one of them; seedbed list scenarios
  seedbed run my.yaml --seeds 1000     one of your own, 1,000 histories
  seedbed explore my.yaml --for 60s    search for a history that breaks it
  seedbed check scenarios/             only validate
  seedbed replay FILE                  repeat one history, step for step
  seedbed serve                        a simulated cluster for kubectl`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.AddCommand(a.runCommand(), a.exploreCommand(), a.clusterExploreCommand(), a.replayCommand(), a.reportCommand(), a.checkCommand(), a.listCommand(), a.fidelityCommand(), a.schemaCommand(), a.versionCommand(),
		a.serveCommand(), a.ctlCommand())
	root.SetHelpCommand(helpCommand(root))
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.InitDefaultCompletionCmd() // takes the output of root as it is now
	return root
}

// helpCommand is cobra's, but a name that is no command is a mistake.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			switch {
			case err != nil:
				return badInput("%v", err)
			case len(rest) > 0:
				return unknownCommand(cmd, rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	hint := ""
	if near := scenarios.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return badInput("%q is not a command of %s%s The commands are %s.", name, cmd.CommandPath(), orStop(hint), strings.Join(names, ", "))
}

// orStop ends a sentence that has no hint.
func orStop(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

// flagError says in one line what is wrong with a flag and what to write.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &missing):
		f := missing.GetFlag()
		return badInput("--%s needs a value: %s", f.Name, f.Usage)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return badInput("--%s does not take %q: %s", f.Name, invalid.GetValue(), f.Usage)
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		slices.Sort(names)
		wrong, hint := "--"+unknown.GetSpecifiedName(), ""
		if unknown.GetSpecifiedShortnames() != "" {
			wrong = wrong[1:] // one letter, or a number below zero
		}
		if near := scenarios.Nearest(wrong, names); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return badInput("%s has no flag %s%s The flags are %s.", cmd.CommandPath(), wrong, orStop(hint), strings.Join(names, ", "))
	}
	return badInput("%s: %v", cmd.CommandPath(), err)
}
